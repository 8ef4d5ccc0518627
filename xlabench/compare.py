"""`xlabench compare`: judge the experiments that two sides share, and measure suspected ones again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner import flag
from runner.flags import command_line
from runner.jobs.request import ConfirmRequest
from runner.plan import values
from store.errors import UsageError
from xlabench import command
from xlabench.command import Verbs
from xlabench.measuring import Place, add_no_wait
from xlabench.own import without_folders

if TYPE_CHECKING:
    from store.compare import Comparison
    from store.query import Connection
    from store.stats.verdicts import Verdict
    from xlabench.confirm import Confirming

OF_CONFIRM = ("env", "experiment", "processes", "torchbench_dir", "model", "no_wait")
"""Flags that configure the confirmation."""


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "compare",
        _compare,
        "Compare two runs, environments or backends: a verdict and its evidence for each shared experiment.",
        "Verdicts are faster, slower, same, ambiguous and not comparable. A difference is confirmed only if at least 3 "
        "processes of each side took turns in one run; a difference between separate runs is at most suspected.",
    )
    parser.add_argument(
        "old",
        metavar="A",
        help="a run (latest, previous, an id or its beginning, or a label, whose newest run is taken), an environment "
        "or a backend",
    )
    parser.add_argument("new", metavar="B", help="the side to compare with A")
    parser.add_argument(
        "--run", metavar="RUN", help="run that contains the environments or backends A and B (default: the newest)"
    )
    command.add_format(parser, "csv", "json", "markdown")
    parser.add_argument(
        "--fail-on",
        choices=["regression", "suspected"],
        help="exit with 1 if an experiment is slower, confirmed (regression) or also suspected, or if it passed in A "
        "and failed in B; with 2 if that cannot be decided",
    )
    command.add_database(parser)
    _add_confirm_flags(parser)


def _add_confirm_flags(parser: command.Parser) -> None:
    """Add the flags that belong to `--confirm`."""
    group = parser.add_argument_group("confirmation")
    group.add_argument(
        "--confirm",
        nargs="?",
        const="suspected",
        choices=["suspected", "all"],
        help="measure the suspected experiments of both sides again, interleaved; `all` includes the ambiguous ones",
    )
    command.add_many(
        group,
        "--env",
        type=values.environment,
        metavar="NAME=PYTHON",
        help="interpreter of A (`old=PYTHON`) or B (`new=PYTHON`), if its run does not name one or it has moved",
    )
    command.add_many(
        group,
        "--experiment",
        metavar="ID",
        help="confirm only this experiment of B, by its `experiment_id` in view results; may be repeated",
    )
    group.add_argument(
        "--processes",
        type=flag.positive,
        metavar="K",
        help="processes per side and experiment (default: as in run B, at least 3)",
    )
    group.add_argument(
        "--torchbench-dir", type=Path, metavar="DIR", help="checkout of github.com/pytorch/benchmark ($TORCHBENCH_DIR)"
    )
    command.add_many(
        group,
        "--model",
        metavar="MODEL",
        help="a model of your own, named as for `xlabench run` (default: its unchanged file in this folder)",
    )
    add_no_wait(group)


def _compare(parsed: argparse.Namespace) -> int:
    from store.compare import comparison_report
    from store.report import render

    if parsed.confirm is not None:
        return _confirm(_request(parsed), _confirming(parsed), parsed.format, parsed.fail_on)
    if typed := [f"--{name.replace('_', '-')}" for name in OF_CONFIRM if getattr(parsed, name)]:
        return command.say(f"{typed[0]} requires --confirm, which measures again; pass both.", command.EXIT_USAGE)
    with command.index_of(command.store_of(parsed)) as con:
        comparison = _compared(con, parsed.old, parsed.new, parsed.run)
    report = comparison_report(comparison)
    sys.stdout.write(
        render(command.report_with_places(report, parsed.format, *command.places_of(parsed)), parsed.format)
    )
    return _exit_code(comparison, [cell.verdict for cell in comparison.of("slower")], parsed.fail_on)


def _exit_code(comparison: Comparison, slower: Sequence[Verdict], fail_on: str | None) -> int:
    """Return the exit code that `--fail-on` asks for; what could not be judged gives no all-clear."""
    if fail_on is None:
        return command.EXIT_DONE
    from store.errors import counted

    found = [verdict for verdict in slower if verdict.confirmed or fail_on == "suspected"]
    failing = [cell for cell in comparison.cells if cell.fails_in_new_only]
    if found or failing:
        parts = [f"{counted(len(found), 'experiment is', 'experiments are')} slower"] if found else []
        parts += [f"{counted(len(failing), 'experiment')} passed in A and failed in B"] if failing else []
        return command.say(f"--fail-on {fail_on}: {', '.join(parts)}.", command.EXIT_FINDINGS)
    if not comparison.has_comparable:
        text = "--fail-on cannot decide: no experiment of A and B can be compared. The report says why."
        return command.say(text, command.EXIT_USAGE)
    if slower:
        text = (
            f"--fail-on regression cannot decide: {counted(len(slower), 'experiment is', 'experiments are')} "
            "slower, but only suspected. "
            "--confirm measures again; --fail-on suspected exits with 1."
        )
        return command.say(text, command.EXIT_USAGE)
    return command.EXIT_DONE


def carry_out(request: ConfirmRequest, place: Place) -> int:
    """Run the confirmation that a job requests."""
    from xlabench.confirm import Confirming

    return _confirm(request, Confirming(place=place), "text", None)


def _request(parsed: argparse.Namespace) -> ConfirmRequest:
    return ConfirmRequest(
        old=parsed.old,
        new=parsed.new,
        run=parsed.run,
        cells=parsed.confirm,
        experiments=tuple(parsed.experiment),
        processes=parsed.processes,
    )


def _confirming(parsed: argparse.Namespace) -> Confirming:
    from xlabench.confirm import Confirming

    typed = command_line(without_folders(parsed))
    place = Place(home=command.home_of(parsed), store=command.store_of(parsed), command=typed, wait=not parsed.no_wait)
    return Confirming(
        place=place,
        interpreters=dict(parsed.env),
        torchbench_dir=parsed.torchbench_dir,
        models=tuple(parsed.model),
    )


def _compared(con: Connection, old: str, new: str, run: str | None) -> Comparison:
    from store.choose import run_named
    from store.compare import compare, resolve

    run_id = run_named(con, run) if run is not None else None
    before, after = resolve(con, old, run_id), resolve(con, new, run_id)
    if run is not None and all(side.environment is None and side.variant is None for side in (before, after)):
        raise UsageError("--run names the run of environments or backends, but A and B are runs; remove --run.")
    if before.is_same(after):
        raise UsageError(f"{old!r} and {new!r} are the same. Name two different runs, environments or backends.")
    return compare(con, before, after)


def _confirm(request: ConfirmRequest, how: Confirming, form: str, fail_on: str | None) -> int:
    """Print the outcome of the confirmation; for the exit code, the other experiments count as before."""
    from store.compare import confirmation_report, still_slower, to_confirm
    from store.report import render
    from xlabench.confirm import chosen, confirm, files_of

    with command.index_of(how.place.store) as con:
        comparison = _compared(con, request.old, request.new, request.run)
        cells = chosen(to_confirm(comparison, request.cells), request.experiments)
        files = files_of(con, comparison) if cells else None
    results, remeasured = confirm(how, comparison, files, cells, request.processes) if files else ([], None)
    sys.stdout.write(render(confirmation_report(comparison, results, remeasured), form))
    return _exit_code(comparison, still_slower(comparison, results), fail_on)
