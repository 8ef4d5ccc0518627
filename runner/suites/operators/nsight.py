"""Cases once more under NVIDIA's profilers: a start of `ncu` or `nsys` per batch, as PARAM has it."""

from __future__ import annotations

import argparse
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
from runner.suites.operators import document
from runner.suites.operators.expand import Case
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
