"""`python -m runner.suites.operators.batch -f FILE`: call the cases of a batch, for a profiler to look at.

Nothing is timed; the calls that are looked at stand in the NVTX range `param_bench:measure`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.suites.base import BuildRequest
from runner.suites.operators import Case, expand
from runner.suites.operators.nsight import RANGE

_SEED = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Call the cases of a file."""
    parser = argparse.ArgumentParser(prog="python -m runner.suites.operators.batch")
    parser.add_argument("-f", "--file", type=Path, required=True, help="what the benchmark has written for it")
    content = json.loads(parser.parse_args(arguments).file.read_text(encoding="utf-8"))
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
    step = workload.own_step(workload, "train" if train else "eval", runtime, lambda function: function)
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
