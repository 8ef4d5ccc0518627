"""Flags that compare results with those of eager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.flags import types

if TYPE_CHECKING:
    import argparse


def add_verification_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of verification, which happens in a process of its own."""
    group = parser.add_argument_group("verification")
    add = group.add_argument
    add(
        "--verify",
        action="store_true",
        help="measure, and compare the results with those of eager in a separate process",
    )
    add("--verify-only", action="store_true", help="compare the results with those of eager without measuring time")
    add(
        "--prove",
        action="store_true",
        help="repeat the timing proof of each backend (default: with preset xlabench, once per backend, environment "
        "and machine)",
    )
    add(
        "--verify-iterations",
        type=types.positive,
        default=3,
        metavar="N",
        help="number of iterations to compare (default: 3)",
    )
    add(
        "--tolerance",
        type=types.above_zero,
        metavar="X",
        help="tolerance, instead of the suite's own (see docs/runner.md)",
    )
    add("--cosine", action="store_true", help="compare all models by cosine similarity")
