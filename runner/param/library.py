"""Operators in a program's own process: measure a case, and collect the times as PARAM writes them.

torch is imported when something is measured.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import msgspec

from runner.backends import BACKENDS, backend_of, thread_variables
from runner.messages import Load, ProcessReport
from runner.process.measure import ExperimentMeasurement
from runner.settings import Settings
from runner.suites.operators.expand import Case
from store.identity import backend_name
from store.operators import operator_dtype
from store.record import Accelerator, Environment, ExperimentConfig, Test


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """What one case took in one backend."""

    case: Case
    backend: str
    test: Test
    warmup: int
    accelerator: Accelerator
    report: ProcessReport
    """All that was measured, times in seconds."""


def run(
    case: Case,
    *,
    backend: str = "eager",
    backward: bool = False,
    warmup: int = 1,
    iteration: int = 1,
    accelerator: Accelerator = "cpu",
    threads: int = 1,
    seed: int = 0,
) -> CaseResult:
    """Measure one case in this process.

    Variables that the backend needs are set in this process's environment; a runtime that has begun keeps its own.

    Args:
        case: a case that `expand` yields.
        backend: `eager`, `inductor`, `openxla+lazytensor`, `openxla+dynamo`.
        backward: also measure the backward.
        warmup: blocks before those that count; one shorter than a millisecond repeats its calls.
        iteration: blocks that count.
        accelerator: the device.
        threads: number of CPU threads; PARAM uses one.
        seed: random seed of data and values.
    """
    xla, dynamo = pair_of(backend)
    test: Test = "train" if backward else "eval"
    config = ExperimentConfig(
        suite_name="operators",
        model_name=case.name,
        test=test,
        accelerator=accelerator,
        xla=xla,
        dynamo=dynamo,
        operator=case.operator,
        dtype=operator_dtype(msgspec.to_builtins(case.operator)) or "float32",
    )
    settings = Settings(preset="peer", repeat=warmup + iteration, processes=1, threads=threads, seed=seed)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(backend_of(xla, dynamo, None).variables(config, Path(scratch)))
        os.environ.update(thread_variables(config, threads))
        measurement = ExperimentMeasurement(
            Load(config=config, settings=settings, batch_size=None, torchbench_dir=None, requested_at=time.monotonic())
        )
        measurement.load()
        measurement.first()
        measurement.exactly(warmup + iteration)
        report = measurement.examine(measurement.report(finished=True))
    return CaseResult(case=case, backend=backend, test=test, warmup=warmup, accelerator=accelerator, report=report)


def collect(results: Sequence[CaseResult]) -> list[dict[str, Any]]:
    """Return one line of PARAM's output per result, times in milliseconds: JSON in memory."""
    return [
        param_line(result.case, result.report.metrics, result.test, result.warmup, result.accelerator)
        for result in results
    ]


def pair_of(backend: str) -> tuple[str | None, str | None]:
    """Return (xla, dynamo) of a backend's name.

    Raises:
        ValueError: there is no such backend.
    """
    pairs = {backend_name(xla, dynamo): (xla, dynamo) for xla, dynamo in BACKENDS}
    if backend not in pairs:
        raise ValueError(f"there is no backend {backend!r}; choose one of {', '.join(pairs)}")
    return pairs[backend]


_MIB = 1 << 20


def param_line(
    case: Case, metrics: Mapping[str, Any], test: Test, warmup: int, accelerator: str = "cpu"
) -> dict[str, Any]:
    """Return the line of one case.

    Args:
        case: what was called.
        metrics: those of a record, in seconds, with one entry per block.
        test: `train` has a backward in addition to its forward.
        warmup: blocks before those that count.
        accelerator: that of the run; PARAM reports the memory of devices only, 0 on the CPU.
    """
    memory = metrics.get("peak_memory_bytes") if accelerator != "cpu" else None
    peak = memory[0] / _MIB if memory else 0
    passes = {"forward": metrics["forward_time" if test == "train" else "total_time"]}
    if test == "train":
        passes["backward"] = metrics["backward_time"]
    metric = {name: _pass(times, warmup, peak) for name, times in passes.items()}
    config = {"build": case.operator.build, "input": case.operator.input}
    return {"op_name": case.operator.name, "id": case.run_id, "metric": metric, "config": config}


def write_param_output(
    stream: TextIO, options: Mapping[str, Any], environment: Environment, began: datetime, lines: Sequence[Any]
) -> None:
    """Write a whole file."""
    system = {
        "hostname": environment.host,
        "python_version": environment.python,
        "pytorch_version": environment.torch,
        "torch_xla_version": environment.torch_xla,
        **({"cuda_device_name": environment.accelerator} if environment.accelerator else {}),
    }
    setup = {"run_options": options, "sys_info": system, "start_time": began.isoformat(timespec="seconds")}
    end = {"finish_time": began.now(began.tzinfo).isoformat(timespec="seconds")}
    stream.writelines(json.dumps(line) + "\n" for line in (setup, *lines, end))


def _pass(times: Sequence[float], warmup: int, peak_mib: float) -> dict[str, list[float]]:
    milliseconds = [seconds * 1e3 for seconds in times]
    counted = milliseconds[warmup:]
    return {
        "warmup.time": milliseconds[:warmup],
        "warmup.gpu.memory": [peak_mib] * warmup,
        "measure.time": counted,
        "measure.gpu.memory": [peak_mib] * len(counted),
    }
