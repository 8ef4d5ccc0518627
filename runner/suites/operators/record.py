"""`python -m runner.suites.operators.record …`: run one iteration of a model and write which ops of aten it calls.

A process of its own, because it imports torch; `xlabench run --ops-of` starts it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Any, get_args

import torch
from torch.utils import _pytree as pytree

from runner.backends import steps
from runner.suites import get_suite
from runner.suites.base import BuildRequest, SuiteContext
from runner.suites.operators.document import Dtype
from runner.suites.operators.registry import SCHEMA
from runner.suites.operators.traces import VIEW, Recording
from store.record import ExperimentConfig, Test

_PLAIN = frozenset({"layout", "memory_format", "pin_memory", "generator"})
"""Arguments that a configuration does not hold; without them torch takes its default."""
_NAMES = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}
NO_TENSOR = "no tensor is returned"


class Unwritable(ValueError):
    """An argument that a configuration cannot hold."""


def main() -> int:
    """Record and write `content` and `left_out` as JSON."""
    parser = argparse.ArgumentParser(prog="python -m runner.suites.operators.record")
    add = parser.add_argument
    add("--suite", required=True)
    add("--model", required=True)
    add("--test", default="eval", choices=["eval", "train"])
    add("--batch-size", type=int)
    add("--dtype", default="float32")
    add("--seed", type=int, default=1337)
    add("--torchbench-dir", type=Path)
    add("--output", type=Path, required=True)
    parsed = parser.parse_args()
    request = BuildRequest(
        model_name=parsed.model,
        test=parsed.test,
        accelerator="cpu",
        batch_size=parsed.batch_size,
        seed=parsed.seed,
        context=SuiteContext(torchbench_dir=parsed.torchbench_dir),
    )
    recording = record(parsed.suite, request, parsed.dtype)
    content = recording.content(f"{parsed.suite}/{parsed.model}", parsed.test)
    parsed.output.write_text(json.dumps({"content": content, "left_out": recording.left_out}), encoding="utf-8")
    return 0


def record(suite: str, request: BuildRequest, dtype: str = "float32") -> Recording:
    """Return what one iteration of a model calls; the one before it may make what later ones find."""
    test: Test = request.test
    config = ExperimentConfig(
        suite_name=suite, model_name=request.model_name, test=test, accelerator="cpu", dtype=dtype
    )
    workload = get_suite(suite).build(request)
    steps.cast(workload, config)
    step = steps.make_step(workload, config, torch.device("cpu"))
    first, second = steps.fresh_inputs(workload, 2)
    recording = Recording()
    with torch.set_grad_enabled(test == "train"):
        step(*first)
        with _recorder(recording):
            step(*second)
    return recording


def _recorder(recording: Recording) -> Any:
    """Return a mode that counts what reaches the backends, below autograd and decompositions."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            # Arguments are read before the call: an op in place changes them.
            written = _written(func, args, kwargs or {})
            result = func(*args, **(kwargs or {}))
            _count(recording, func, written, result)
            return result

    return Recorder()


def _written(func: Any, args: Any, kwargs: Any) -> Any:
    """Return the call as a configuration has it, or why it has none."""
    try:
        named = {name: argument(value) for name, value in kwargs.items() if name not in _PLAIN}
        return [argument(value) for value in args], named
    except Unwritable as error:
        return f"{func}: {error}"


def _count(recording: Recording, func: Any, written: Any, result: Any) -> None:
    schema = func._schema  # noqa: SLF001 - torch shows schemas nowhere else
    text, infos = str(schema), [returned.alias_info for returned in schema.returns]
    if infos and all(info is not None and not info.is_write for info in infos):
        recording.left_out[VIEW] += 1
    elif not any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(result)):
        recording.left_out[NO_TENSOR] += 1
    elif not text.startswith(SCHEMA):
        recording.left_out[f"{schema.name}: not of aten"] += 1
    elif isinstance(written, str):
        recording.left_out[written] += 1
    else:
        recording.add(text, *written)


def argument(value: Any) -> dict[str, Any]:
    """Return a value of a call as a configuration has it.

    Raises:
        Unwritable: there is no word for it.
    """
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if value is None:
        return {"type": "none"}
    if isinstance(value, torch.dtype):
        return {"type": "dtype", "value": _dtype(value)}
    if isinstance(value, torch.device):
        return {"type": "device", "value": value.type}
    if isinstance(value, list | tuple):
        return {"type": "genericlist", "value": [argument(item) for item in value]}
    return _plain(value)


def _plain(value: Any) -> dict[str, Any]:
    for kind, name in ((bool, "bool"), (int, "int"), (str, "str")):
        if isinstance(value, kind):
            return {"type": name, "value": value}
    if not isinstance(value, float) or math.isnan(value):
        raise Unwritable(f"a configuration cannot express {type(value).__name__}")
    # JSON has no infinity.
    return {"type": "float", "value": max(min(value, sys.float_info.max), -sys.float_info.max)}


def _bounds(value: Any) -> list[int]:
    """Return the least and the largest index; one negative word among indices, as -100 for `ignore`, is none."""
    least, largest = int(value.min()), int(value.max())
    if least < 0 <= largest and bool(((value == least) | (value >= 0)).all()):
        least = int(value[value >= 0].min())
    return [least, largest]


def _tensor(value: Any) -> dict[str, Any]:
    described = {"type": "tensor", "dtype": _dtype(value.dtype), "shape": list(value.shape), "requires_grad": False}
    if value.numel() and not value.is_floating_point() and described["dtype"] != "bool":
        # Integers are indices of something: their bounds matter.
        with contextlib.suppress(RuntimeError):
            described["value_range"] = _bounds(value)
    return described


def _dtype(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    name = _NAMES.get(name, name)
    if name not in get_args(Dtype):
        raise Unwritable(f"a configuration cannot express {dtype}")
    return name


if __name__ == "__main__":
    sys.exit(main())
