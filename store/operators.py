"""The name and data type of an operator's workload, and constants about its time."""

from __future__ import annotations

from typing import Any

from store.identity import digest

FLOOR = "empty_sync_s"
"""Metric of the time of an empty sync, seconds per iteration."""
NEAR_FLOOR = 3.0
"""A time below this multiple of an empty sync is mostly synchronisation, and gets no verdict."""


INPUT_BYTES = "input_bytes"
"""Metric of the size of a call's inputs, bytes."""
TORCH_NAMES = {"int": "int32", "long": "int64", "float": "float32", "double": "float64"}
"""Name of a data type in PARAM's files → its name in torch, where they differ."""
FLOATING = frozenset({"float", "double", "float16", "bfloat16"})
_NAME_CHARS = 120
_SCHEMA = "aten::"


def operator_name(op: str, config: dict[str, Any]) -> str:
    """Name a workload by its operator and inputs, as `aten::mm(float[128,64], float[64,8])`.

    PARAM's own ids count the inputs of one configuration file; a name made of the inputs is the same in every file.

    Args:
        op: the operator as PARAM names it.
        config: its `build` and `input`, each with `args` and `kwargs`.
    """
    arguments = [argument for part in ("build", "input") for argument in _arguments(config.get(part))]
    if arguments and (overload := _overload(op, arguments[0])):
        op, arguments = overload, arguments[1:]
    words = [_argument(argument) for argument in arguments]
    name = f"{op}({', '.join(words)})"
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}… {digest(words)[:8]}"


def operator_dtype(config: dict[str, Any]) -> str | None:
    """Return the data type of a call in torch's words, as `bfloat16`; of several, as `float32+bfloat16`.

    It is the type of its floating tensors, as for a model; without them, of its other tensors, else the type that it
    is asked to create. None: the call has neither, and torch's default applies.

    Args:
        config: as for `operator_name`.
    """
    arguments = [argument for part in ("build", "input") for argument in _flat(_arguments(config.get(part)))]
    tensors = [str(argument.get("dtype", "float")) for argument in arguments if argument.get("type") == "tensor"]
    requested = [str(argument.get("value")) for argument in arguments if argument.get("type") == "dtype"]
    dtypes = [dtype for dtype in tensors if dtype in FLOATING] or tensors or requested
    return "+".join(dict.fromkeys(TORCH_NAMES.get(dtype, dtype) for dtype in dtypes)) or None


def _flat(arguments: list[Any]) -> list[dict[str, Any]]:
    """Return the arguments, including elements of lists; named arguments lose their name."""
    flat = []
    for entry in arguments:
        argument = entry["of"] if isinstance(entry, dict) and "of" in entry else entry
        if isinstance(argument, dict):
            value = argument.get("value")
            flat += [argument, *(_flat(value) if isinstance(value, list) else [])]
    return flat


def _overload(op: str, argument: Any) -> str | None:
    """Return `aten::add.Tensor` of an `aten::add` that is built from its schema."""
    schema = argument.get("value") if isinstance(argument, dict) and argument.get("type") == "str" else None
    if not (op.startswith(_SCHEMA) and isinstance(schema, str)):
        return None
    name = schema.partition("(")[0].strip()
    return name if name.partition(".")[0] == op else None


def _arguments(config: Any) -> list[Any]:
    """Return positional arguments, then those by name; a list of configurations is taken one after the other."""
    if isinstance(config, list):
        return [argument for item in config for argument in _arguments(item)]
    if not isinstance(config, dict):
        return []
    by_name = config.get("kwargs")
    keyword = [{"name": name, "of": of} for name, of in by_name.items()] if isinstance(by_name, dict) else []
    positional = config.get("args")
    return [*(positional if isinstance(positional, list) else []), *keyword]


def _argument(argument: Any) -> str:
    if not isinstance(argument, dict):
        return str(argument)
    if "of" in argument:
        return f"{argument['name']}={_argument(argument['of'])}"
    if argument.get("type") == "tensor":
        shape = ",".join(str(size) for size in argument.get("shape") or [])
        constant = " constant" if argument.get("requires_grad") is False else ""
        return f"{argument.get('dtype', 'float')}[{shape}]{constant}{_range(argument)}"
    value = argument.get("value")
    if isinstance(value, list):
        begin, end = "()" if argument.get("type") == "tuple" else "[]"
        return begin + ", ".join(_argument(item) for item in value) + end
    if value is None and "value_range" in argument:
        return f"{argument.get('type')}{_range(argument)}"
    return repr(value) if argument.get("type") == "str" else str(value)


def _range(argument: dict[str, Any]) -> str:
    """Return the bounds of random values, if the argument has them."""
    bounds = argument.get("value_range")
    return f" in {'..'.join(map(str, bounds))}" if isinstance(bounds, list | tuple) else ""
