"""How a model calls an op, found by running one iteration in a process of its own, and that call as text."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runner.backends import backend_of
from runner.plan.interpreters import variables
from runner.settings import OwnModel
from store.errors import Signal
from store.record import ExperimentConfig

if TYPE_CHECKING:
    from runner.repro.subject import FaultyExperiment


_LAST = 300


class CaptureRequest(msgspec.Struct, frozen=True):
    """What the process is told."""

    config: ExperimentConfig
    batch_size: int | None
    seed: int
    op: str
    """Name of the op without `aten::` and overload."""
    own: OwnModel | None = None


class Call(msgspec.Struct, frozen=True):
    """One call, as text of a script."""

    target: str
    """The op, such as `torch.ops.aten.nonzero.default`."""
    arguments: str
    """Arguments as text, with `values[0]`, … for tensors."""
    tensors: list[str]
    """Calls of `tensor` that make those."""

    def text(self) -> str:
        """Return the functions `inputs` and `call` of a script."""
        made = "".join(f"        {each},\n" for each in self.tensors)
        return (
            "import torch\n\nfrom runner.repro.parts.tensors import tensor\n\n\n"
            f"def inputs():\n    return [\n{made}    ]\n\n\n"
            f"def call(*values):\n    return {self.target}({self.arguments})\n"
        )


class NotFound(Signal):
    """The op was not seen; the message says why."""


def call_of(subject: FaultyExperiment, op: str, python: str = sys.executable, limit_s: float = 300.0) -> Call:
    """Run one iteration of the subject's model and return its first call of an op, named without `aten::`.

    Raises:
        NotFound: the model could not be run, or did not call the op.
    """
    config = subject.config
    asked = CaptureRequest(config, subject.batch_size, subject.settings.seed, op.split(".", maxsplit=1)[0], subject.own)
    backend = backend_of(config.xla, None)
    with tempfile.TemporaryDirectory(prefix="xlabench-repro-") as scratch:
        told = Path(scratch) / "call.json"
        environment = {**os.environ, **variables(python), **backend.variables(config, Path(scratch))}
        command = [python, "-m", "runner.repro.capture", str(told)]
        try:
            done = subprocess.run(
                command,
                input=msgspec.json.encode(asked),
                capture_output=True,
                env=environment,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotFound(f"the model did not end within {limit_s:g} s") from None
        if not told.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise NotFound((lines[-1] if lines else f"exit code {done.returncode}")[:_LAST])
        return msgspec.json.decode(told.read_bytes(), type=Call)


_FEW = 16
"""Elements up to which integers are written down one by one."""


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
        return "[" + ", ".join(_text(each, tensors) for each in value) + "]"
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
