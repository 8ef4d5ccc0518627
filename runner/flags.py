"""The planning and measuring flags, spelled as PyTorch/XLA's `experiment_runner.py` spells them."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from runner import presets
from runner.errors import UsageError
from runner.messages import Settings
from runner.plan import PlanRequest
from runner.steps import DTYPES
from runner.suites import suite_names
from runner.suites.base import SuiteContext

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

_TESTS = {"eval": "eval", "train": "train", "inference": "eval", "training": "train"}

SMOKE = (
    "timm_models/test_vit2",
    "huggingface/BertTiny",
    "dummy/dummy_nonzero",
    "torchbench/lennard_jones",
    "torchbench/soft_actor_critic",
    "torchbench/dcgan",
)
"""The smoke plan: real models with random weights, small enough for two cores, one with a true fallback op."""


def _none_or(text: str) -> str | None:
    return None if text.lower() == "none" else text


def _xla(text: str) -> str | None:
    value = _none_or(text)
    if value == "XRT":
        raise argparse.ArgumentTypeError("XRT is gone from PyTorch/XLA; use PJRT")
    if value not in (None, "PJRT"):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of None, PJRT")
    return value


def _dynamo(text: str) -> str | None:
    value = _none_or(text)
    if value not in (None, "inductor", "openxla"):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of None, inductor, openxla")
    return value


def _test(text: str) -> str:
    if text not in _TESTS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(_TESTS)}")
    return _TESTS[text]


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return value


def add_plan_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that select experiments; given none, all that exist are planned."""
    group = parser.add_argument_group("selection (each may be repeated; given none: all that exist)")
    group.add_argument(
        "--suite-name", action="append", default=[], choices=suite_names(), help="where models come from"
    )
    group.add_argument("--accelerator", action="append", default=[], choices=["cpu", "cuda", "tpu"], help="device kind")
    group.add_argument("--xla", action="append", default=[], type=_xla, metavar="None|PJRT", help="run on PyTorch/XLA")
    group.add_argument(
        "--dynamo",
        action="append",
        default=[],
        type=_dynamo,
        metavar="None|inductor|openxla",
        help="compile with torch.compile and this backend",
    )
    group.add_argument(
        "--test", action="append", default=[], type=_test, metavar="eval|train", help="also: inference, training"
    )
    group.add_argument(
        "--filter", "-k", action="append", default=[], type=_regex, metavar="REGEX", help="models to take"
    )
    group.add_argument(
        "--exclude", "-x", action="append", default=[], type=_regex, metavar="REGEX", help="models to leave"
    )
    group.add_argument(
        "--total-partitions", type=_positive, default=1, metavar="N", help="cut the selected models into N parts"
    )
    group.add_argument("--partition-id", type=int, default=0, metavar="K", help="the part to take, from 0")
    group.add_argument(
        "--smoke", action="store_true", help="the smoke plan: a few small real models, all backends, cpu"
    )
    configuration = parser.add_argument_group("configuration")
    configuration.add_argument("--batch-size", type=_positive, metavar="N", help="default: the suite's own per model")
    configuration.add_argument(
        "--preset", choices=presets.PRESETS, default="xlabench", help="dtype, optimizer, repeats …"
    )
    configuration.add_argument("--dtype", choices=DTYPES, help="default: the preset's")
    configuration.add_argument("--matmul-precision", choices=["highest", "high", "medium"], help="of float32 products")
    configuration.add_argument(
        "--enable-functionalization",
        action="store_const",
        const=True,
        help="of XLA tensors, where a preset has it off",
    )
    configuration.add_argument("--compile-mode", choices=COMPILE_MODES, help="mode of torch.compile")
    configuration.add_argument("--dynamic-shapes", action="store_const", const=True, help="torch.compile(dynamic=True)")
    configuration.add_argument(
        "--fullgraph",
        "--filter-by-single-graph",
        action="store_const",
        const=True,
        help="fail where dynamo would break the graph",
    )
    configuration.add_argument(
        "--torchbench-dir", type=Path, metavar="DIR", help="checkout of github.com/pytorch/benchmark ($TORCHBENCH_DIR)"
    )


def add_measure_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how a run measures."""
    group = parser.add_argument_group("measurement")
    group.add_argument("--repeat", type=_positive, metavar="N", help="timed blocks in the steady state (default 10)")
    group.add_argument(
        "--iterations-per-run", type=_positive, default=1, metavar="N", help="iterations of one timed block"
    )
    group.add_argument(
        "--warmup-max", type=_positive, default=50, metavar="N", help="blocks after which never_steady is said"
    )
    group.add_argument(
        "--threads", type=_positive, metavar="N", help="CPU threads of every backend (default: torch's own)"
    )
    group.add_argument("--seed", type=int, default=1337, metavar="N", help="seed of weights, inputs and random streams")
    group.add_argument(
        "--subprocess-timeout", type=_positive, default=1800, metavar="S", help="running seconds of one experiment"
    )
    group.add_argument(
        "--start",
        choices=["fork", "interpreter"],
        default="fork",
        help="fork from a warm server, or start anew each time",
    )


def plan_request(arguments: argparse.Namespace) -> PlanRequest:
    """Turn parsed flags into a request."""
    directory: Path | None = arguments.torchbench_dir
    if directory is not None and not directory.is_dir():
        raise UsageError(
            f"--torchbench-dir {directory}: no such folder; pass a checkout of github.com/pytorch/benchmark"
        )
    if not 0 <= arguments.partition_id < arguments.total_partitions:
        raise UsageError(
            f"--partition-id {arguments.partition_id}: with --total-partitions {arguments.total_partitions} it is "
            f"at least 0 and below {arguments.total_partitions}"
        )
    suites = tuple(dict.fromkeys(arguments.suite_name))
    accelerators = tuple(dict.fromkeys(arguments.accelerator))
    if arguments.smoke:
        suites = suites or ("timm_models", "huggingface", "dummy", "torchbench")
        accelerators = accelerators or ("cpu",)
    return PlanRequest(
        suites=suites,
        accelerators=accelerators,
        xla=tuple(dict.fromkeys(arguments.xla)),
        dynamo=tuple(dict.fromkeys(arguments.dynamo)),
        tests=tuple(dict.fromkeys(arguments.test)),
        filters=tuple(arguments.filter),
        excludes=tuple(arguments.exclude),
        models=SMOKE if arguments.smoke else (),
        batch_size=arguments.batch_size,
        preset=arguments.preset,
        requested={name: value for name in presets.CONFIGURABLE if (value := getattr(arguments, name)) is not None},
        total_partitions=arguments.total_partitions,
        partition_id=arguments.partition_id,
        context=SuiteContext(torchbench_dir=directory),
    )


def settings(arguments: argparse.Namespace) -> Settings:
    """Turn parsed flags into protocol settings."""
    minimum = Settings().warmup_min
    if arguments.warmup_max < minimum:
        raise UsageError(f"--warmup-max {arguments.warmup_max}: a steady state needs at least {minimum} blocks")
    return Settings(
        preset=arguments.preset,
        repeat=arguments.repeat or presets.REPEATS[arguments.preset],
        iterations_per_run=arguments.iterations_per_run,
        warmup_max=arguments.warmup_max,
        timeout_s=float(arguments.subprocess_timeout),
        threads=arguments.threads,
        seed=arguments.seed,
        start=arguments.start,
    )


def command_line(arguments: Sequence[str]) -> str:
    """Return the command as one types it."""
    return shlex.join(["xlabench", *arguments])
