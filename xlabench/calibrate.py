"""`xlabench calibrate`: measure experiments against themselves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xlabench.command import EXIT_USAGE, say, store_of, verb
from xlabench.measuring import USUAL, add_run_flags, measure, settings_of

if TYPE_CHECKING:
    import argparse

    from runner.messages import Settings
    from xlabench.command import Verbs


_PROCESSES = 6
"""Three pairs for each experiment: with those of another calibration they outweigh the default floor."""


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "calibrate",
        _calibrate,
        "Measure experiments against themselves, in pairs of processes, and print their noise floors.",
        "It accepts the flags of `xlabench run`. Its records never appear as results.",
    )
    add_run_flags(parser)
    parser.show_first(
        USUAL,
        ("calibrate --smoke", "calibrate --suite-name timm_models --filter resnet --backend inductor --processes 8"),
    )
    parser.set_defaults(processes=_PROCESSES, label="calibration")


def _calibrate(parsed: argparse.Namespace) -> int:
    if parsed.processes % 2:
        return say(
            f"--processes {parsed.processes}: a calibration measures pairs of processes, so the number must be even.",
            EXIT_USAGE,
        )
    if parsed.verify_only:
        return say("--verify-only skips timing, which a calibration needs; remove it.", EXIT_USAGE)
    return measure(parsed, _calibration_settings, _print_floors)


def _calibration_settings(parsed: argparse.Namespace) -> Settings:
    import msgspec

    from runner import flags

    found = msgspec.structs.replace(settings_of(parsed), purpose="calibration", processes=parsed.processes, twins=0)
    return flags.agreeing(found)


def _print_floors(parsed: argparse.Namespace, run_id: str) -> None:
    from store.choose import newest_snapshot
    from store.query import connect
    from store.report import floors_report, render

    with connect(newest_snapshot(store_of(parsed))) as con:
        sys.stdout.write(render(floors_report(con, run_id), "text"))
