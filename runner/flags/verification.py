"""Flags that have results compared with eager's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.flags import types

if TYPE_CHECKING:
    import argparse


def add_verification_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of verification, which happens in a process of its own."""
    group = parser.add_argument_group("verification")
    add = group.add_argument
    add("--verify", action="store_true", help="time, and compare the results with eager's in a process of its own")
    add("--verify-only", action="store_true", help="compare, and do not time")
    add(
        "--prove",
        action="store_true",
        help="take the timing proof of each backend again (default: once per backend, environment and machine, "
        "where the preset is xlabench)",
    )
    add("--verify-iterations", type=types.positive, default=3, metavar="N", help="each is compared (default 3)")
    add("--tolerance", type=types.above_zero, metavar="X", help="in place of the tables' (docs/runner.md)")
    add("--cosine", action="store_true", help="judge by cosine similarity for every model")
