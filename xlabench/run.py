"""`xlabench run`: measure a plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from xlabench import own
from xlabench.command import home_of, verb
from xlabench.measuring import USUAL, Place, add_run_flags, measure, stops_before
from xlabench.requested import planned

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from runner.plan import LocalRequest
    from runner.plan.request import RunRequest
    from runner.settings import Settings
    from xlabench.command import Verbs
    from xlabench.requested import Planned


_QUICK_REPEAT = 10
"""Steady blocks of a first look: as many as an interval needs."""
_FIRST_LOOK = "First look, not yet verified"


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "run",
        _run,
        "Measure a plan and add its records to the store.",
        "Without filters, everything is planned. To resume an interrupted run, repeat the command or name the run's "
        "folder: finished experiments are listed and skipped. Without an unfinished run, a new one starts. Ctrl-C "
        "loses no finished experiment.",
    )
    own.add_own_flags(parser)
    add_run_flags(parser)
    parser.show_first(
        USUAL,
        (
            "run --smoke",
            "run mymodel.py --backend eager --backend inductor",
            "run --suite-name timm_models --filter resnet --backend eager --backend inductor",
            "run --only huggingface/DistilBertForMaskedLM --test train --processes 5",
        ),
    )


def _run(parsed: argparse.Namespace) -> int:
    request, typed = own.read(parsed)
    if parsed.quick:
        _refuse_beside_quick(request, parsed)
        request = request.changed(
            processes=request.protocol.processes or 1,
            repeat=request.protocol.repeat or _QUICK_REPEAT,
            twins=0,
            no_wait_quiet=True,
        )
    found = planned(request, home_of(parsed), typed)
    code = stops_before(found, dry_run=parsed.dry_run)
    if code is not None:
        return code
    place = Place.of(parsed, found.request.own)
    tell = partial(_tell, parsed.pickled, place.store)
    return (
        _quick(parsed, found, place, tell) if parsed.quick else measure(found, settings_of(found, place), place, tell)
    )


def carry_out(request: RunRequest, place: Place) -> int:
    """Measure what a job asks for."""
    from runner.plan import LocalRequest

    found = planned(LocalRequest.of_job(request), place.home, own.Typed())
    code = stops_before(found, dry_run=False)
    return measure(found, settings_of(found, place), place, partial(_tell, None, place.store)) if code is None else code


def settings_of(found: Planned, place: Place) -> Settings:
    """Return the settings of a run."""
    from runner.errors import UsageError
    from runner.plan.protocol import settings

    made = settings(found.request)
    if made.until_verdict and not place.ingest:
        raise UsageError("--until-verdict reads verdicts from the store; remove --no-ingest")
    return made


def _quick(parsed: argparse.Namespace, found: Planned, place: Place, tell: Callable[[str], None]) -> int:
    """Print a table as soon as there is one, then compare the results with eager's and say whether they agree."""
    looked: list[str] = []

    def look(run_id: str) -> None:
        looked.append(run_id)
        tell(run_id)
        print(f"\n{_FIRST_LOOK}" + ("" if parsed.no_verify else "; the results are compared now."), flush=True)

    code = measure(found, settings_of(found, place), place, look)
    if not looked or parsed.no_verify:
        return code
    verify = replace(found, request=found.request.changed(verify_only=True))
    again = replace(
        place,
        retry_failed=False,
        output=place.output and place.output.with_name(f"{place.output.name}-verify"),
    )
    return max(code, measure(verify, settings_of(verify, again), again, partial(_say_checked, place.store)))


def _refuse_beside_quick(request: LocalRequest, parsed: argparse.Namespace) -> None:
    from runner.errors import UsageError

    given = request.given | ({"no_ingest"} if parsed.no_ingest else set())
    for name in ("verify", "verify_only", "until_verdict", "until_stable", "plan", "no_ingest", "prove"):
        if name in given:
            raise UsageError(f"--quick is a first look, verified after its table; leave out --{name.replace('_', '-')}")


def _tell(pickled: Path | None, store: Path, run_id: str) -> None:
    """Print the answer; tell `xlabench.measure`, where it asked, which run it is."""
    from xlabench.api import RUN

    _print_answer(store, run_id)
    if pickled is not None:
        (pickled / RUN).write_text(run_id, encoding="utf-8")


def _print_answer(store: Path, run_id: str) -> None:
    """Print the speedups of the run, and who is fastest; a run without results, as one for payoffs, has none."""
    from store.choose import newest_snapshot
    from store.filters import Filters
    from store.paired import baseline_of, paired_report
    from store.query import connect
    from store.report import render

    with connect(newest_snapshot(store)) as con:
        baseline = baseline_of(con, run_id)
        if baseline is not None:
            print()
            print(render(paired_report(con, Filters(run=(run_id,)), baseline_backend=baseline), "text"), end="")


def _say_checked(store: Path, run_id: str) -> None:
    """Say which results of a first look agree with eager's."""
    from store.choose import newest_snapshot
    from store.filters import Filters
    from store.query import connect, fetch, named
    from store.report.findings import wrong_answers

    with connect(newest_snapshot(store)) as con:
        rows = fetch(con, named("results"), Filters(run=(run_id,)).parameters())
    wrong = wrong_answers(rows)
    codes = {f"{row['model']} {row['test']} {row['variant']}": row["verification_code"] for row in rows}
    others = [f"{name} ({code})" for name, code in codes.items() if code not in ("PASS", "FAIL")]
    passed = sum(code == "PASS" for code in codes.values())
    print("\n".join(["", *wrong, f"Verified: {passed} of {len(codes)} results agree with eager's."]))
    if others:
        print(f"Not verified: {', '.join(others)}.")
