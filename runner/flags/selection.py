"""Flags that select experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.flags import types
from runner.suites import suite_names

if TYPE_CHECKING:
    import argparse

ACCELERATORS = ("cpu", "cuda", "tpu", "xpu")
TIERS = (1, 2, 3)
SMOKE = ("timm_models/resnet18", "huggingface/DistilBertForMaskedLM")
"""The smoke plan: models that everybody knows, with random weights, in eval: it takes minutes on two cores."""


def add_selection_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that select experiments; given none, all that exist are planned."""
    group = parser.add_argument_group("selection (each may be repeated; given none: all that exist)")
    add = group.add_argument
    add("--suite-name", action="append", default=[], choices=suite_names(), help="where models come from")
    add(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="measure the operators of a PARAM configuration: a file, or its JSON itself (suite operators)",
    )
    add(
        "--ops-of",
        metavar="SUITE/NAME|TRACE",
        help="measure the operators that a model calls, and the model; or those of an execution trace",
    )
    add("--accelerator", action="append", default=[], choices=ACCELERATORS, help="device kind")
    add("--xla", action="append", default=[], type=types.xla, metavar="None|PJRT", help="run on PyTorch/XLA")
    add(
        "--dynamo",
        action="append",
        default=[],
        type=types.dynamo,
        metavar="None|NAME",
        help="compile with torch.compile and this backend (inductor, openxla, or any that dynamo lists)",
    )
    add(
        "--torch-xla2",
        action="append",
        default=[],
        type=types.torch_xla2,
        metavar="None|WAY",
        help="through torchax: extract_jax or torch_export",
    )
    add("--test", action="append", default=[], type=types.test, metavar="eval|train", help="also: inference, training")
    add("--filter", "-k", action="append", default=[], type=types.regex, metavar="REGEX", help="models to take")
    add("--exclude", "-x", action="append", default=[], type=types.regex, metavar="REGEX", help="models to leave")
    add("--only", action="append", default=[], metavar="NAME", help="exact name of a model, or SUITE/NAME")
    add("--models-file", type=Path, metavar="FILE", help="take the models of a list, one per line, in its order")
    add("--filter-by-tier", action="append", default=[], type=int, choices=TIERS, help="PyTorch/XLA's tiers to take")
    add("--exclude-by-tier", action="append", default=[], type=int, choices=TIERS, help="tiers to leave")
    add("--fast", action="store_true", help="leave out the models that the suite's table calls slow")
    add("--no-skip", action="store_true", help="measure what the tables would skip, too")
    add("--total-partitions", type=types.positive, default=1, metavar="N", help="cut the selected models into N parts")
    add("--partition-id", type=int, default=0, metavar="K", help="the part to take, from 0")
    add("--smoke", action="store_true", help="the smoke plan: well-known models, all backends, cpu, verified")
    add("--plan", type=Path, metavar="FILE", help="repeat the plan of a file that `plan --format yaml` printed")
    add(
        "--env",
        action="append",
        default=[],
        type=types.environment,
        metavar="NAME=PYTHON",
        help="measure in this interpreter's packages; with several, in each (default: the current one). "
        "NAME alone: from xlabench.toml of the home, or `default`",
    )
