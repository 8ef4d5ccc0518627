"""`python -m runner.suites.operators.batch -f FILE`: call the cases of a batch, for a profiler to look at.

Nothing is timed; the NVTX range `param_bench:measure` contains the calls to look at.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner.environments import machine
from runner.suites.base import BuildRequest
from runner.suites.operators import Case, document, expand
from store.errors import UsageError

RANGE = "param_bench:measure"
"""The NVTX range around the calls that are looked at, in PARAM's name."""


@dataclass(frozen=True, kw_only=True)
class NsightTool:
    """One profiler, found on this machine."""

    name: Literal["ncu", "nsys"]
    program: str
    options: tuple[str, ...]
    """Options that the user gave."""
    warmup: int
    iteration: int

    def run(self, cases: Sequence[Case], parsed: argparse.Namespace, log: logging.Logger) -> None:
        """Run all cases, so many at a time; what the profiler prints goes to stdout."""
        size = max(1, parsed.run_batch_size)
        for number, begin in enumerate(range(0, len(cases), size)):
            out = Path(f"{parsed.output_prefix}_{os.getpid()}_{self.name}_{number}")
            file = out.with_suffix(".batch.json")
            batch = batch_of(cases[begin : begin + size], parsed, self.warmup, self.iteration)
            file.write_text(json.dumps(batch), encoding="utf-8")
            words = self.command(out, file, parsed.batch_cmd)
            log.info("running: %s", shlex.join(words))
            environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(parsed.batch_cuda_device)}
            code = subprocess.run(words, env=environment, check=False).returncode
            log.log(20 if code == 0 else 40, "%s result: %s (exit code %d)", self.name, out, code)

    def command(self, out: Path, file: Path, batch_command: str | None) -> list[str]:
        """Return the words of one start."""
        usual = [sys.executable, "-m", "runner.suites.operators.batch"]
        inner = [*(shlex.split(batch_command) if batch_command else usual), "-f", str(file)]
        if self.name == "nsys":
            return [self.program, "profile", "-t", "cuda,nvtx", "-o", f"{out}.nsys-rep", *self.options, *inner]
        replay = ["--csv", "--app-replay-buffer", "file", "--nvtx", "--nvtx-include", RANGE]
        log = ["--log-file", f"{out}.log"]
        return [self.program, *log, *replay, "--target-processes", "all", *self.options, *inner]


def wanted(parsed: argparse.Namespace) -> list[NsightTool]:
    """Return the profilers that are asked for.

    Raises:
        UsageError: this machine has no CUDA device, or not the program.
    """
    return [_tool(name, parsed) for name in ("ncu", "nsys") if getattr(parsed, name)]


def _tool(name: Any, parsed: argparse.Namespace) -> NsightTool:
    if not parsed.device.startswith("cuda") or "cuda" not in machine.detect().accelerators:
        raise UsageError(f"--{name}: it profiles CUDA devices, but -d {parsed.device} is not one of this machine.")
    program = shutil.which(getattr(parsed, f"{name}_bin"))
    if program is None:
        raise UsageError(
            f"--{name}: there is no {getattr(parsed, f'{name}_bin')}; install it, or pass its path with --{name}-bin."
        )
    file = getattr(parsed, f"{name}_args_file")
    return NsightTool(
        name=name,
        program=program,
        options=tuple(shlex.split(Path(file).read_text(encoding="utf-8"), comments=True)) if file else (),
        warmup=getattr(parsed, f"{name}_warmup"),
        iteration=getattr(parsed, f"{name}_iteration"),
    )


def batch_of(cases: Sequence[Case], parsed: argparse.Namespace, warmup: int, iteration: int) -> dict[str, Any]:
    """Return what a batch's process reads: a configuration, and how often each case is called."""
    return {
        "config": document.configuration_content(case.operator for case in cases),
        "backward": parsed.backward,
        "warmup": warmup,
        "iteration": iteration,
    }


_SEED = 0


def main() -> int:
    """Call the cases of a file."""
    parser = argparse.ArgumentParser(prog="python -m runner.suites.operators.batch")
    parser.add_argument("-f", "--file", type=Path, required=True, help="what the benchmark has written for it")
    content = json.loads(parser.parse_args().file.read_text(encoding="utf-8"))
    for case in expand(content["config"]):
        call(case, warmup=content["warmup"], iteration=content["iteration"], backward=content["backward"])
    return 0


def call(case: Case, *, warmup: int, iteration: int, backward: bool, accelerator: str = "cuda") -> None:
    """Call a case `warmup` times, then `iteration` times inside of the range."""
    import torch

    from runner.backends import steps
    from runner.backends.host import HostRuntime
    from runner.suites.operators.build import build

    train = backward and not case.no_backward
    request: dict[str, Any] = {"model_name": case.name, "accelerator": accelerator, "batch_size": None, "seed": _SEED}
    workload = build(BuildRequest(test="train" if train else "eval", operator=case.operator, **request))
    runtime = HostRuntime(accelerator)  # type: ignore[arg-type]
    runtime.place(workload)
    assert workload.own_step is not None  # noqa: S101 - every operator has one
    step = workload.own_step(workload, "train" if train else "eval", runtime, lambda function: function, None)
    (inputs,) = steps.fresh_inputs(workload, 1)
    with torch.set_grad_enabled(train):
        for _ in range(warmup):
            step(*inputs)
        runtime.after_block()
        with torch.cuda.nvtx.range(RANGE) if accelerator == "cuda" else contextlib.nullcontext():
            for _ in range(iteration):
                step(*inputs)
            runtime.after_block()


if __name__ == "__main__":
    sys.exit(main())
