"""Verbs that plan and measure: `xlabench plan`, `run`, `calibrate`, and `carry-out`, which a worker calls for a job."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner import flags
from runner.flags import command_line, spaced
from runner.jobs.request import ConfirmRequest, words
from runner.plan import LocalRequest
from runner.plan.local_request import agreeing
from runner.plan.protocol import payoff_settings, settings
from store.errors import UsageError
from xlabench import compare, own
from xlabench.api import RUN
from xlabench.command import (
    EXIT_USAGE,
    Verbs,
    add_database,
    add_format,
    home_of,
    index_of,
    report_with_places,
    say,
    store_of,
    verb,
)
from xlabench.measuring import USUAL, Place, Planned, add_run_flags, measure, planned, print_plan, stops_before
from xlabench.own import TypedModels, add_own_flags, read

if TYPE_CHECKING:
    from runner.jobs.executor import JobWork
    from runner.plan.request import RunRequest
    from runner.settings import Settings

_QUICK_REPEAT = 10
"""Number of steady blocks of a first look: its interval leaves out the fastest and the slowest of them."""
_FIRST_LOOK = "This is a first look: its results are not verified"


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "run",
        _run,
        "Measure a plan and add its records to the store.",
        "Without filters, everything is planned. To resume an interrupted run, repeat the command or name the run's "
        "folder: finished experiments are listed and skipped. If there is no unfinished run, a new one starts. Ctrl-C "
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
        _refuse_with_quick(request, parsed)
        request = request.changed(
            processes=request.protocol.processes or 1,
            repeat=request.protocol.repeat or _QUICK_REPEAT,
            twins=0,
            no_wait_quiet=True,
        )
    prepared = planned(request, home_of(parsed), typed)
    place = Place.of(parsed, prepared.request.own)
    settings = settings_of(prepared, place)  # a dry run refuses what contradicts itself, too
    code = stops_before(prepared, settings, place.store, dry_run=parsed.dry_run)
    if code is not None:
        return code
    tell = partial(_print_results, parsed.pickled, place)
    return _quick(parsed, prepared, place, tell) if parsed.quick else measure(prepared, settings, place, tell)


def carry_out(request: RunRequest, place: Place) -> int:
    """Measure the run that a job requests."""
    prepared = planned(LocalRequest.of_job(request), place.home, own.TypedModels())
    run_settings = settings_of(prepared, place)
    code = stops_before(prepared, run_settings, place.store, dry_run=False)
    return measure(prepared, run_settings, place, partial(_print_results, None, place)) if code is None else code


def settings_of(prepared: Planned, place: Place) -> Settings:
    """Return the settings of a run."""
    run_settings = settings(prepared.request)
    if run_settings.until_verdict and not place.ingest:
        raise UsageError("--until-verdict reads verdicts from the store; remove --no-ingest.")
    return payoff_settings(run_settings, prepared.plan.entries)


def _quick(parsed: argparse.Namespace, prepared: Planned, place: Place, tell: Callable[[str], None]) -> int:
    """Print the first table as soon as possible, then verify the results against eager's and report the outcome."""
    looked: list[str] = []

    def look(run_id: str) -> None:
        looked.append(run_id)
        tell(run_id)
        rest = "." if parsed.no_verify else " yet. Each is now compared with eager's."
        print(f"\n{_FIRST_LOOK}{rest}", flush=True)

    code = measure(prepared, settings_of(prepared, place), place, look)
    if not looked or parsed.no_verify:
        return code
    verify = replace(prepared, request=prepared.request.changed(verify_only=True))
    second = replace(
        place,
        retry_failed=False,
        output=place.output and place.output.with_name(f"{place.output.name}-verify"),
    )
    return max(code, measure(verify, settings_of(verify, second), second, partial(_print_verified, place.store)))


def _refuse_with_quick(request: LocalRequest, parsed: argparse.Namespace) -> None:
    typed = request.given | ({"no_ingest"} if parsed.no_ingest else set())
    for name in ("verify", "verify_only", "until_verdict", "until_stable", "plan", "no_ingest", "prove"):
        if name in typed:
            raise UsageError(f"--quick prints a first table and then verifies it; remove --{name.replace('_', '-')}.")


def _print_results(pickled: Path | None, place: Place, run_id: str) -> None:
    """Print the speedups of the run, and who is fastest; a run without results, as one for payoffs, has none.

    The id of the run is written for `xlabench.measure` if it started the command.
    """
    from store.paired import baseline_of, paired_report
    from store.query import Filters
    from store.report import render

    with index_of(place.store) as con:
        baseline = baseline_of(con, run_id)
        if baseline is not None:
            report = paired_report(con, Filters(run=(run_id,)), baseline_backend=baseline)
            print()
            print(render(report_with_places(report, "text", place.home, place.store), "text"), end="")
    if pickled is not None:
        (pickled / RUN).write_text(run_id, encoding="utf-8")


def _print_verified(store: Path, run_id: str) -> None:
    """Print which results of a first look agree with eager's."""
    from store.identity import model_names
    from store.query import Filters, fetch, named
    from store.report.findings import wrong_answers

    with index_of(store) as con:
        rows = fetch(con, named("results"), Filters(run=(run_id,)).parameters())
    wrong = wrong_answers(rows)
    names = model_names((row["suite"], row["model"]) for row in rows)
    others = [
        f"{names[row['suite'], row['model']]} {row['test']} {row['variant']} ({row['verification_code']})"
        for row in rows
        if row["verification_code"] not in ("PASS", "FAIL")
    ]
    passed = sum(row["verification_code"] == "PASS" for row in rows)
    print("\n".join(["", *wrong, f"Verified: {passed} of {len(rows)} results agree with eager's."]))
    if others:
        print(f"Not verified: {', '.join(others)}.")


def add_plan(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "plan",
        _plan,
        "Print which experiments would run and which are skipped, with the reasons.",
        "Without filters, everything is planned. Planning does not import torch.",
    )
    add_own_flags(parser)
    flags.add_plan_flags(parser)
    add_format(parser, "json", "yaml")
    parser.show_first(
        (*flags.USUAL_OF_PLAN, "--format", "--home"),
        (
            "plan --smoke",
            "plan --suite-name timm_models --filter resnet --backend eager --backend inductor",
            "plan --suite-name huggingface --format yaml > plan.yaml",
        ),
    )


def _plan(parsed: argparse.Namespace) -> int:
    from runner.plan import plan_view

    request, typed = read(parsed)
    prepared = planned(request, home_of(parsed), typed)
    plan = prepared.plan
    if prepared.code == EXIT_USAGE:
        return prepared.code
    if parsed.format == "json":
        sys.stdout.write(plan_view.as_json(plan).decode() + "\n")
    elif parsed.format == "yaml":
        sys.stdout.write(
            plan_view.as_yaml(
                plan, prepared.request, {interpreter.name: interpreter.machine for interpreter in prepared.interpreters}
            )
        )
    else:
        print_plan(prepared)
    return prepared.code


_PROCESSES = 6
"""Default number of processes, three pairs per experiment; those of two calibrations outweigh the default floor."""
_NOT_OF_CALIBRATION = ("--until-verdict", "--verify-only", "--without-fallback", "--twins")
"""Flags of a run that a calibration refuses or ignores, so its help does not show them."""


def add_calibrate(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "calibrate",
        _calibrate,
        "Measure experiments against themselves, in pairs of processes, and print their noise floors.",
        "It accepts most flags of `xlabench run`. Its records never appear as results.",
    )
    add_run_flags(parser)
    parser.describe(
        "--processes", f"number of benchmark processes per experiment; an even number (default: {_PROCESSES})"
    )
    parser.show_first(
        USUAL,
        ("calibrate --smoke", "calibrate --suite-name timm_models --filter resnet --backend inductor --processes 8"),
    )
    for flag in _NOT_OF_CALIBRATION:
        parser.describe(flag, argparse.SUPPRESS)
    parser.set_defaults(processes=_PROCESSES, label="calibration")


def _calibrate(parsed: argparse.Namespace) -> int:
    request = flags.read(parsed)
    if parsed.processes % 2:
        return say(
            f"--processes {parsed.processes}: a calibration measures pairs of processes, so the number must be even.",
            EXIT_USAGE,
        )
    if request.protocol.verify_only:
        return say("--verify-only skips timing, which a calibration needs; remove it.", EXIT_USAGE)
    prepared = planned(request, home_of(parsed), TypedModels())
    calibration = msgspec.structs.replace(
        settings(prepared.request), purpose="calibration", processes=parsed.processes, twins=0
    )
    calibration = payoff_settings(agreeing(calibration), prepared.plan.entries)
    place = Place.of(parsed)
    code = stops_before(prepared, calibration, place.store, dry_run=parsed.dry_run)
    if code is not None:
        return code
    return measure(prepared, calibration, place, partial(_print_floors, place.store))


def _print_floors(store: Path, run_id: str) -> None:
    from store.report import floors_report, render

    with index_of(store) as con:
        sys.stdout.write(render(floors_report(con, run_id), "text"))


def add_carry_out(verbs: Verbs) -> None:
    """Add the verb, which `--help` does not list, and its flags."""
    parser = verb(verbs, "carry-out", _carry_out, "", "Carry out the work of a job; the worker calls it.")
    parser.add_argument("work", type=Path, metavar="FILE", help="the work, as the worker wrote it")
    parser.add_argument("--output-dirname", type=Path, metavar="DIR", help="folder of the run")
    parser.add_argument("--no-ingest", action="store_true", help="do not add the records to the store")
    add_database(parser)


def _carry_out(parsed: argparse.Namespace) -> int:

    from runner.jobs.executor import JobWork

    work = msgspec.json.decode(parsed.work.read_bytes(), type=JobWork)
    place = _place(parsed, work)
    if isinstance(work.request, ConfirmRequest):
        return compare.carry_out(work.request, place)
    return carry_out(work.request, place)


def _place(parsed: argparse.Namespace, work: JobWork) -> Place:
    typed = [*spaced(words(work.request)), *(["--label", work.label] if work.run else [])]
    exact = getattr(work.request, "plan", None) is not None
    return Place(
        home=home_of(parsed),
        store=store_of(parsed),
        # No flags describe exactly these experiments, so the command names the file.
        command=command_line(parsed.words if exact else typed),
        ingest=not parsed.no_ingest,
        output=parsed.output_dirname,
        label=work.label or None,
        retry_failed=work.retry_failed,
    )
