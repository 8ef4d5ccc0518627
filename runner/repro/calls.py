"""How a model calls an op, found by running one iteration in a process of its own, and that call as text.

`call_of` starts the process, `main` is what it runs; only that imports torch.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from runner.backends import backend_of, steps
from runner.plan.interpreters import variables
from runner.repro.subject import FaultyExperiment
from runner.suites import get_suite
from store.errors import Signal

_LAST = 300


class CaptureRequest(msgspec.Struct, frozen=True):
    """What the process must find."""

    subject: FaultyExperiment
    op: str
    """Name of the op without `aten::` and overload."""


class Call(msgspec.Struct, frozen=True):
    """One call, as text of a script."""

    target: str
    """The op, such as `torch.ops.aten.nonzero.default`."""
    arguments: str
    """Arguments as text, with `values[0]`, … for tensors."""
    tensors: list[str]
    """Calls of `tensor` that make these values."""

    def text(self) -> str:
        """Return the functions `inputs` and `call` of a script."""
        lines = "".join(f"        {tensor},\n" for tensor in self.tensors)
        return (
            "import torch\n\nfrom runner.repro.parts.step import tensor\n\n\n"
            f"def inputs():\n    return [\n{lines}    ]\n\n\n"
            f"def call(*values):\n    return {self.target}({self.arguments})\n"
        )


class NotFound(Signal):
    """The op was not called; the message says why."""


def call_of(subject: FaultyExperiment, op: str, python: str, limit_s: float) -> Call:
    """Run one iteration of the subject's model and return its first call of an op, named without `aten::`.

    Raises:
        NotFound: the model could not be run, or did not call the op.
    """
    config = subject.config
    request = CaptureRequest(subject, op.split(".", maxsplit=1)[0])
    backend = backend_of(config.xla, None)
    with tempfile.TemporaryDirectory(prefix="xlabench-repro-") as scratch:
        answer = Path(scratch) / "call.json"
        environment = {**os.environ, **variables(python), **backend.variables(config, Path(scratch))}
        command = [python, "-m", "runner.repro.calls", str(answer)]
        try:
            done = subprocess.run(
                command,
                input=msgspec.json.encode(request),
                capture_output=True,
                env=environment,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotFound(f"the model did not end within {limit_s:g} s") from None
        if not answer.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise NotFound((lines[-1] if lines else f"exit code {done.returncode}")[:_LAST])
        return msgspec.json.decode(answer.read_bytes(), type=Call)


_FEW = 16
"""Maximum number of elements of an integer tensor whose values are written out."""


def call_text(func: Any, args: Any, kwargs: Any) -> Call:
    """Write a call down; arguments are values, or the nodes of a graph that stand for them."""
    tensors: list[str] = []
    words = [_text(value, tensors) for value in args]
    words += [f"{name}={_text(value, tensors)}" for name, value in kwargs.items()]
    return Call(f"torch.ops.{func}", ", ".join(words), tensors)


def _text(value: Any, tensors: list[str]) -> str:
    """Return an argument as text of a script; a tensor becomes one of `values`."""
    import torch

    if isinstance(value, torch.fx.Node):
        return _of_node(value.meta["val"], tensors)
    if isinstance(value, torch.Tensor):
        tensors.append(_tensor(value))
        return f"values[{len(tensors) - 1}]"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_text(item, tensors) for item in value) + "]"
    return _constant(value)


def _constant(value: Any) -> str:
    import torch

    if isinstance(value, torch.device):
        return f"torch.device({value.type!r})"
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _of_node(value: Any, tensors: list[str]) -> str:
    """Return what stands for a node's value, of which shape and type are known alone."""
    import torch

    if not isinstance(value, torch.Tensor):
        return repr(int(value) if isinstance(value, torch.SymInt) else value)
    tensors.append(f"tensor({tuple(int(size) for size in value.shape)!r}, {value.dtype}, 0, 1)")
    return f"values[{len(tensors) - 1}]"


def _tensor(value: Any) -> str:
    """Return how to make a tensor of the same shape, type and range."""
    import torch

    there = value.detach().to("cpu")
    floating = there.is_floating_point() or there.is_complex()
    if 0 < there.numel() <= _FEW and not floating:
        return f"torch.tensor({there.tolist()!r}, dtype={there.dtype})"
    known = there[torch.isfinite(there)] if there.is_floating_point() else there.flatten()[:0]
    known = known if floating else there.long()
    low, high = (known.min().item(), known.max().item()) if known.numel() else (0, 1)
    bounds = f"{low:.6g}, {high:.6g}" if floating else f"{low}, {high}"
    return f"tensor({tuple(there.shape)!r}, {there.dtype}, {bounds})"


def main() -> None:
    """Read the request from standard input, run the model, write the call to the file of the command line."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=CaptureRequest)
    call = _dispatched(request) or (_in_graphs(request) if request.subject.config.dynamo else None)
    if call is None:
        sys.exit(f"the model does not call {request.op} in one iteration")
    Path(sys.argv[1]).write_bytes(msgspec.json.encode(call))


def _is(func: Any, op: str) -> bool:
    from runner.graphs import collect

    return collect.op_name(func).split(".", maxsplit=1)[0] == op


def _dispatched(request: CaptureRequest) -> Call | None:
    """Run one iteration without dynamo under a mode that sees every op; return the first call of the one."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: list[Call] = []

    class Mode(TorchDispatchMode):  # type: ignore[misc] # mypy does not follow torch
        """Sees every op below autograd."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not calls and _is(func, request.op):
                calls.append(call_text(func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    step, inputs, runtime = _prepared(request.subject)
    # Otherwise the backward pass runs in other threads, which the mode does not reach.
    try:
        with _gradients(request), torch.autograd.set_multithreading_enabled(False), Mode():
            output = step(*inputs)
            runtime.after_iteration()
            runtime.after_block()
            del output
    except Exception:
        # An error after the call does not matter, and a model written for dynamo may fail without it.
        if not calls and not request.subject.config.dynamo:
            raise
    return calls[0] if calls else None


def _in_graphs(request: CaptureRequest) -> Call | None:
    """Compile one iteration through AOTAutograd; return the op as the graphs of forward and backward have it."""
    import torch
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    calls: list[Call] = []

    def look(module: Any, inputs: Any) -> Any:
        del inputs
        ops = [node for node in module.graph.nodes if hasattr(node.target, "overloadpacket")]
        calls.extend(call_text(node.target, node.args, node.kwargs) for node in ops if _is(node.target, request.op))
        return make_boxed_func(module.forward)

    step, inputs, runtime = _prepared(request.subject)
    with _gradients(request):
        torch.compile(step, backend=aot_autograd(fw_compiler=look, bw_compiler=look))(*inputs)
        runtime.after_iteration()
        runtime.after_block()
    return calls[0] if calls else None


def _gradients(request: CaptureRequest) -> Any:
    import torch

    return torch.set_grad_enabled(request.subject.config.test == "train")


def _prepared(subject: FaultyExperiment) -> tuple[Any, Any, Any]:
    """Build the model as its suite does and bring it to its device; return step, inputs and runtime."""
    config = subject.config
    workload = get_suite(config.suite_name).build(subject.request())
    runtime = backend_of(config.xla, None).open(config)
    steps.cast(workload, config)
    runtime.place(workload)
    step = steps.make_step(workload, config, runtime.device)
    runtime.after_block()
    return step, steps.fresh_inputs(workload, 1)[0], runtime


if __name__ == "__main__":
    main()
