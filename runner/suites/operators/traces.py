"""The operators of a PyTorch execution trace (`ExecutionTraceObserver`), plain or gzipped. Imports no torch."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.suites.operators.document import DEFAULT_GENERATOR
from runner.suites.operators.registry import SCHEMA
from store.errors import UsageError


@dataclass
class Recording:
    """Calls in the order in which each came first, with their counts."""

    calls: dict[str, int] = field(default_factory=dict)
    """A call as JSON → how often it was made."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Reason → number of calls that are not measured for it."""

    def add(self, schema: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Count a call; its arguments stand as a configuration has them."""
        key = json.dumps([schema, list(args), dict(kwargs)], sort_keys=True)
        self.calls[key] = self.calls.get(key, 0) + 1

    def content(self, model: str, test: str) -> dict[str, Any]:
        """Return a configuration in PARAM's form.

        Args:
            model: as `SUITE/NAME`, or the name of a trace; `used_by` of each input contains it, with the calls.
            test: of the model.
        """
        content: dict[str, Any] = {}
        for key, count in self.calls.items():
            schema, args, kwargs = json.loads(key)
            name = schema.partition("(")[0].partition(".")[0]
            info = {"build_data_generator": DEFAULT_GENERATOR, "input_data_generator": DEFAULT_GENERATOR, "config": []}
            used_by = {"model": model, "test": test, "calls": count}
            call = {"args": args, "kwargs": kwargs, "used_by": used_by}
            build = [{"args": [{"type": "str", "value": schema}], "kwargs": {}}]
            configs: Any = content.setdefault(name, info)["config"]
            configs.append({"build": build, "input": [call]})
        return content


_GZIP = b"\x1f\x8b"
_DTYPES = {
    "float": "float",
    "double": "double",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "long int": "long",
    "long": "long",
    "int": "int",
    "short": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
}
"""C++ names of element types → PARAM's."""
_NUMBERS = {"Int": "int", "Double": "float", "Bool": "bool", "String": "str"}
_LIST = re.compile(r"GenericList\[(.*)\]$")
_VIEW = re.compile(r"-> \(?Tensor\(\w+\)(\[\])?\)?$")
VIEW = "views: no time of their own"


class Unreadable(ValueError):
    """An input of a node that a configuration cannot hold."""


def read(path: Path) -> Recording:
    """Return the outermost calls of aten in a trace: what they call themselves is part of them.

    The values of integer tensors are not in most traces: they are 0, a valid index of everything.

    Raises:
        UsageError: it is no execution trace.
    """
    nodes = {node["id"]: node for node in _nodes(path) if isinstance(node, dict) and "id" in node}
    recording = Recording()
    for node in nodes.values():
        schema = _schema(node)
        if not schema or _inside(node, nodes):
            continue
        if not schema.startswith(SCHEMA):
            recording.left_out[f"{node.get('name')}: not of aten"] += 1
        elif _VIEW.search(schema):
            recording.left_out[VIEW] += 1
        else:
            _add(recording, node, schema)
    return recording


def _nodes(path: Path) -> list[Any]:
    try:
        packed = path.read_bytes()
        text = gzip.decompress(packed) if packed.startswith(_GZIP) else packed
        content = json.loads(text)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UsageError(
            f"--ops-of {path}: this is not an execution trace ({type(error).__name__}: {error})."
        ) from None
    nodes = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(nodes, list):
        raise UsageError(f"--ops-of {path}: this is not an execution trace, because it has no list `nodes`.")
    return nodes


def _schema(node: Mapping[str, Any]) -> str:
    """Return the schema of a node that is an op, of either form of the file."""
    if "attrs" not in node:
        return str(node.get("op_schema") or "")
    attributes = [attribute for attribute in node["attrs"] if isinstance(attribute, dict)]
    return next(
        (str(attribute.get("value") or "") for attribute in attributes if attribute.get("name") == "op_schema"), ""
    )


def _parent(node: Mapping[str, Any]) -> Any:
    parent = node.get("ctrl_deps", node.get("parent"))
    return parent[0] if isinstance(parent, list) and parent else parent


def _inside(node: Mapping[str, Any], nodes: Mapping[Any, Any]) -> bool:
    """Say whether another op has called it."""
    seen = {node["id"]}
    parent = nodes.get(_parent(node))
    while parent is not None and parent["id"] not in seen:
        if _schema(parent):
            return True
        seen.add(parent["id"])
        parent = nodes.get(_parent(parent))
    return False


def _add(recording: Recording, node: Mapping[str, Any], schema: str) -> None:
    inputs, ranges = node.get("inputs"), _ranges(node)
    if isinstance(inputs, dict):
        values, shapes, types = (inputs.get(name, []) for name in ("values", "shapes", "types"))
    else:
        values, shapes, types = inputs or [], node.get("input_shapes", []), node.get("input_types", [])
    try:
        triples = enumerate(zip(types, values, shapes, strict=True))
        arguments = [_argument(kind, value, shape, ranges.get(number)) for number, (kind, value, shape) in triples]
    except (Unreadable, ValueError, TypeError) as error:
        recording.left_out[f"{node.get('name')}: {error}"] += 1
        return
    recording.add(schema, arguments, {})


def _ranges(node: Mapping[str, Any]) -> dict[int, list[int]]:
    """Return the bounds of integer tensors by the place of the input, where the trace has them."""
    for attribute in node.get("attrs", ()):
        if isinstance(attribute, dict) and attribute.get("name") == "tensor_range" and attribute.get("value"):
            return {int(place): list(bounds) for place, bounds in json.loads(attribute["value"]).items()}
    return {}


def _argument(kind: str, value: Any, shape: Any, bounds: list[int] | None) -> dict[str, Any]:
    if kind.startswith("Tensor("):
        return _tensor(kind[len("Tensor(") : -1], shape, bounds)
    if kind == "None" or (kind.startswith("Tensor") and not shape):
        return {"type": "none"}
    if kind == "Device":
        return {"type": "device", "value": str(value).partition(":")[0]}
    if kind in _NUMBERS:
        return {"type": _NUMBERS[kind], "value": value}
    if list_type := _LIST.match(kind):
        kinds = _split(list_type[1])
        shapes = shape if isinstance(shape, list) and len(shape) == len(kinds) else [[]] * len(kinds)
        items = zip(kinds, value, shapes, strict=True)
        return {"type": "genericlist", "value": [_argument(*item, None) for item in items]}
    raise Unreadable(f"a configuration cannot express {kind}")


def _tensor(kind: str, shape: Any, bounds: list[int] | None) -> dict[str, Any]:
    if kind not in _DTYPES:
        raise Unreadable(f"a configuration cannot express tensors of {kind}")
    dtype = _DTYPES[kind]
    described = {"type": "tensor", "dtype": dtype, "shape": shape, "requires_grad": False}
    if dtype in ("int", "long", "int16", "int8", "uint8"):
        described["value_range"] = bounds or [0, 0]
    return described


def _split(kinds: str) -> list[str]:
    """Return the element types of a list; a comma inside of brackets is part of one."""
    elements, depth, word = [], 0, ""
    for letter in kinds:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            elements.append(word)
            word = ""
        else:
            word += letter
    return [*elements, word] if word else elements
