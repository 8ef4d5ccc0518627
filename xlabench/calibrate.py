"""`xlabench calibrate`: measure experiments against themselves."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from xlabench.command import EXIT_USAGE, home_of, say, verb
from xlabench.measuring import USUAL, Place, add_run_flags, measure, stops_before
from xlabench.own import Typed
from xlabench.requested import planned

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

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
    import msgspec

    from runner import flags
    from runner.plan.agreement import agreeing
    from runner.plan.protocol import settings

    request = flags.read(parsed)
    if parsed.processes % 2:
        return say(
            f"--processes {parsed.processes}: a calibration measures pairs of processes, so the number must be even.",
            EXIT_USAGE,
        )
    if request.protocol.verify_only:
        return say("--verify-only skips timing, which a calibration needs; remove it.", EXIT_USAGE)
    found = planned(request, home_of(parsed), Typed())
    code = stops_before(found, dry_run=parsed.dry_run)
    if code is not None:
        return code
    place = Place.of(parsed)
    made = msgspec.structs.replace(settings(found.request), purpose="calibration", processes=parsed.processes, twins=0)
    return measure(found, agreeing(made), place, partial(_print_floors, place.store))


def _print_floors(store: Path, run_id: str) -> None:
    from store.choose import newest_snapshot
    from store.query import connect
    from store.report import floors_report, render

    with connect(newest_snapshot(store)) as con:
        sys.stdout.write(render(floors_report(con, run_id), "text"))
