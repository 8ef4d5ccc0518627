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
    """Add the flags that select experiments; without filters, everything is planned."""
    group = parser.add_argument_group("selection (without filters, everything is planned; filters may be repeated)")
    add = group.add_argument
    add("--suite-name", action="append", default=[], choices=suite_names(), help="suite of models or operators")
    add(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="measure the operators of a PARAM configuration, given as a file or as JSON (suite operators)",
    )
    add(
        "--ops-of",
        metavar="SUITE/NAME|TRACE",
        help="measure a model and the operators that it calls, or the operators of an execution trace",
    )
    add("--accelerator", action="append", default=[], choices=ACCELERATORS, help="device kind")
    add(
        "--backend",
        action="append",
        default=[],
        type=types.backend,
        metavar="NAME",
        help="backend by its name in reports: eager, inductor, openxla+lazytensor, openxla+dynamo, or any that dynamo "
        "lists; replaces --xla, --dynamo and --torch-xla2",
    )
    add(
        "--xla",
        action="append",
        default=[],
        type=types.xla,
        metavar="None|PJRT",
        help="run on PyTorch/XLA (PJRT) or without it (None)",
    )
    add(
        "--dynamo",
        action="append",
        default=[],
        type=types.dynamo,
        metavar="None|NAME",
        help="torch.compile backend: inductor, openxla, or any that dynamo lists; None does not compile",
    )
    add(
        "--torch-xla2",
        action="append",
        default=[],
        type=types.torch_xla2,
        metavar="None|WAY",
        help="run through torchax: extract_jax or torch_export",
    )
    add(
        "--test",
        action="append",
        default=[],
        type=types.test,
        metavar="eval|train",
        help="test to run; inference and training are synonyms",
    )
    add(
        "--filter",
        "-k",
        action="append",
        default=[],
        type=types.regex,
        metavar="REGEX",
        help="include models whose name matches",
    )
    add(
        "--exclude",
        "-x",
        action="append",
        default=[],
        type=types.regex,
        metavar="REGEX",
        help="exclude models whose name matches",
    )
    add(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="include the model with exactly this name, or SUITE/NAME",
    )
    add(
        "--models-file",
        type=Path,
        metavar="FILE",
        help="measure the models listed in FILE, one per line, in this order",
    )
    add(
        "--filter-by-tier",
        action="append",
        default=[],
        type=int,
        choices=TIERS,
        help="include models of this PyTorch/XLA tier",
    )
    add("--exclude-by-tier", action="append", default=[], type=int, choices=TIERS, help="exclude models of this tier")
    add("--fast", action="store_true", help="exclude models that the suite marks as slow")
    add("--no-skip", action="store_true", help="also measure experiments that the suites' tables skip")
    add(
        "--total-partitions", type=types.positive, default=1, metavar="N", help="split the selected models into N parts"
    )
    add("--partition-id", type=int, default=0, metavar="K", help="measure part K, counted from 0")
    add(
        "--smoke",
        action="store_true",
        help="measure two well-known models on the CPU with all backends, and verify them",
    )
    add("--plan", type=Path, metavar="FILE", help="repeat a plan that `plan --format yaml` printed")
    add(
        "--env",
        action="append",
        default=[],
        type=types.environment,
        metavar="NAME=PYTHON",
        help="measure with this Python interpreter and its packages; repeat to compare environments (default: the "
        "current one). NAME alone refers to xlabench.toml in the home, or is `default`",
    )
