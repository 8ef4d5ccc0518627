"""PARAM's output: a line with the set-up, a line per case with its times in milliseconds, a line at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from runner.suites.operators.expand import Case
    from store.record import Environment, Test

_MIB = 1 << 20


def line(case: Case, metrics: Mapping[str, Any], test: Test, warmup: int, accelerator: str = "cpu") -> dict[str, Any]:
    """Return the line of one case.

    Args:
        case: what was called.
        metrics: as a record has them, one entry per block, seconds.
        test: `train` has a backward beside its forward.
        warmup: blocks before those that count.
        accelerator: that of the run; PARAM tells the memory of devices only, 0 on the CPU.
    """
    memory = metrics.get("peak_memory_bytes") if accelerator != "cpu" else None
    peak = memory[0] / _MIB if memory else 0
    passes = {"forward": metrics["forward_time" if test == "train" else "total_time"]}
    if test == "train":
        passes["backward"] = metrics["backward_time"]
    metric = {name: _pass(times, warmup, peak) for name, times in passes.items()}
    config = {"build": case.operator.build, "input": case.operator.input}
    return {"op_name": case.operator.name, "id": case.run_id, "metric": metric, "config": config}


def write(
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
    stream.writelines(json.dumps(each) + "\n" for each in (setup, *lines, end))


def _pass(times: Sequence[float], warmup: int, peak_mib: float) -> dict[str, list[float]]:
    milliseconds = [seconds * 1e3 for seconds in times]
    counted = milliseconds[warmup:]
    return {
        "warmup.time": milliseconds[:warmup],
        "warmup.gpu.memory": [peak_mib] * warmup,
        "measure.time": counted,
        "measure.gpu.memory": [peak_mib] * len(counted),
    }
