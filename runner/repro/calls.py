"""How a model calls an op: found by running one iteration in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.backends import backend_of
from runner.plan.interpreters import variables
from runner.settings import OwnModel
from store.record import ExperimentConfig

if TYPE_CHECKING:
    from runner.repro.subject import Subject

_LAST = 300


class Asked(msgspec.Struct, frozen=True):
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


class NotFound(Exception):
    """The op was not seen; the message says why."""


def call_of(subject: Subject, op: str, python: str = sys.executable, limit_s: float = 300.0) -> Call:
    """Run one iteration of the subject's model and return its first call of an op, named without `aten::`.

    Raises:
        NotFound: the model could not be run, or did not call the op.
    """
    config = subject.config
    asked = Asked(config, subject.batch_size, subject.settings.seed, op.split(".", maxsplit=1)[0], subject.own)
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
