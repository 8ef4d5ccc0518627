"""`xlabench prune`: the samples of old runs leave the index, and their files are packed."""

from __future__ import annotations

import argparse
import getpass
import re
import shlex
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import LIST_RUNS, PackFailed, UsageError, WriterBusy, counted, did_you_mean
from store.state import database, jobs
from xlabench import command
from xlabench.command import Verbs

if TYPE_CHECKING:
    from store.report.table import Table
    from store.retention import RetentionChoice, RunToPrune

_AGE = re.compile(r"(\d{1,5})([dwy])")
_DAYS = {"d": 1, "w": 7, "y": 365}
_MOST_DAYS = 36_500
_MB = 1e6
_WIDTH = 140
"""Width of the list in characters, so that no id of a run is wrapped."""


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "prune",
        lambda parsed: command.run_until_signal(lambda: _prune(parsed)),
        "Remove the samples of old runs from the index, and compress their files.",
        "Without --yes, the command only lists what it would do. Results, verdicts, speedups and findings stay as they "
        "are. The lines of a pruned run stay complete in its folder, compressed as results.jsonl.zst, and pruned.json "
        "there records the decision, which `xlabench ingest --rebuild` follows. Runs that are being measured, and "
        "runs outside of the home, are never touched.",
    )
    parser.add_argument(
        "--keep-within",
        type=_age,
        required=True,
        metavar="AGE",
        help="keep the samples of runs that finished within this time: days (90d), weeks (12w) or years (1y)",
    )
    command.add_many(parser, "--keep-label", metavar="LABEL", help="keep runs with this label; may be repeated")
    command.add_many(
        parser,
        "--keep-purpose",
        choices=["benchmark", "calibration", "confirmation", "payoff"],
        help="keep runs with records of this purpose; may be repeated (payoffs are always kept)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="prune the listed runs; without this flag, nothing is changed"
    )
    command.add_database(parser)


def _age(text: str) -> timedelta:
    age = _AGE.fullmatch(text)
    days = int(age[1]) * _DAYS[age[2]] if age else _MOST_DAYS + 1
    if days > _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days, weeks or years, such as 90d, 12w or 1y")
    return timedelta(days=days)


def _prune(parsed: argparse.Namespace) -> int:
    choice = _choice(parsed)
    print(_listing(choice), end="")
    if not choice.to_prune:
        print("There is nothing to prune.")
        return command.EXIT_DONE
    if not parsed.yes:
        print("Nothing was changed. Add --yes to prune these runs.")
        return command.EXIT_DONE
    return _carried_out(choice.to_prune, parsed)


def _choice(parsed: argparse.Namespace) -> RetentionChoice:
    from store.retention import RetentionRule, choose, runs

    since = datetime.now(UTC).replace(tzinfo=None) - parsed.keep_within
    rule = RetentionRule(since=since, labels=tuple(parsed.keep_label), purposes=tuple(parsed.keep_purpose))
    with command.index_of(command.store_of(parsed)) as con:
        indexed = runs(con)
    _require_labels(rule.labels, {run.label for run in indexed})
    return choose(indexed, rule, command.home_of(parsed) / "runs", _busy(parsed))


def _require_labels(labels: Sequence[str], known: Collection[str]) -> None:
    """Refuse a label that no run has: mistyped, it would not keep the runs that it is to keep."""
    for label in labels:
        if label not in known:
            raise UsageError(f"--keep-label: no run has the label {label!r}.{did_you_mean(label, known)} {LIST_RUNS}")


def _busy(parsed: argparse.Namespace) -> set[Path]:
    """Return the run folders of jobs that are not over."""
    if not command.state_of(parsed).exists():
        return set()
    with database.opened(command.state_of(parsed)) as con:
        unfinished = jobs.in_states(con, ("queued", "starting", "running", "lost"))
    return {Path(job.folder).resolve() for job in unfinished if job.folder}


def _carried_out(to_prune: list[RunToPrune], parsed: argparse.Namespace) -> int:
    """Prune the runs one by one, then bring the index up to date; a run that cannot be packed stays as it is."""
    from store import changepoints, query
    from store.ingest import ingest
    from store.retention import prune_run
    from store.run_file import Pruned

    before, after, done = 0, 0, []
    index_before = query.current_snapshot(command.store_of(parsed))
    size_before = index_before.stat().st_size if index_before else 0
    for run_to_prune in to_prune:
        decision = Pruned(
            run_id=run_to_prune.run.run_id,
            pruned_at=time.time(),
            who=getpass.getuser(),
            rule=shlex.join(parsed.words),
            packed={},
        )
        try:
            after += prune_run(run_to_prune.folder, decision)
        except (WriterBusy, PackFailed) as error:
            command.say(f"Run {run_to_prune.run.run_id} was not pruned: {error}", command.EXIT_PARTIAL)
            continue
        before += run_to_prune.bytes_n
        done.append(run_to_prune)
    if done and ingest([pruned.folder for pruned in done], command.store_of(parsed)).published:
        changepoints.update(command.store_of(parsed), command.state_of(parsed))
    index = query.current_snapshot(command.store_of(parsed))
    size_after = index.stat().st_size if index else 0
    print(
        f"Pruned {counted(len(done), 'run')}: results {_megabytes(before)} → {_megabytes(after)}, "
        f"index {_megabytes(size_before)} → {_megabytes(size_after)}."
    )
    return command.EXIT_DONE if len(done) == len(to_prune) else command.EXIT_PARTIAL


def _megabytes(number: int) -> str:
    return f"{number / _MB:,.1f} MB"


def _listing(choice: RetentionChoice) -> str:
    """Return what leaves and what is kept, as text."""
    from store.report.render import text
    from store.report.table import Report

    return text(Report(title=_headline(choice), tables=(_to_prune(choice), _not_pruned(choice))), _WIDTH)


def _headline(choice: RetentionChoice) -> str:
    samples_n = sum(run_to_prune.run.samples_n for run_to_prune in choice.to_prune)
    bytes_n = sum(run_to_prune.bytes_n for run_to_prune in choice.to_prune)
    return (
        f"{counted(len(choice.to_prune), 'run')} to prune: {counted(samples_n, 'sample')} to remove from the index, "
        f"{_megabytes(bytes_n)} of results to compress. Not pruned: {counted(choice.young_n, 'run')} within "
        f"--keep-within, {counted(len(choice.kept), 'older run')}. Pruned before: {choice.done_n}."
    )


def _to_prune(choice: RetentionChoice) -> Table:
    from store.report.table import Column, Table, text_columns

    rows = tuple(
        (
            run_to_prune.run.run_id,
            run_to_prune.run.label,
            ", ".join(run_to_prune.run.purposes),
            f"{run_to_prune.run.finished:%Y-%m-%d}",
            run_to_prune.run.records_n,
            run_to_prune.run.samples_n,
            run_to_prune.bytes_n / _MB,
        )
        for run_to_prune in choice.to_prune
    )
    columns = (
        *text_columns("run", "label", "purpose", "finished"),
        Column(title="records", numeric=True),
        Column(title="samples", numeric=True),
        Column(title="results", unit="MB", numeric=True),
    )
    return Table(title="To prune", columns=columns, rows=rows)


def _not_pruned(choice: RetentionChoice) -> Table:
    from store.report.table import Table, text_columns

    rows = tuple((run.run_id, run.label, f"{run.finished:%Y-%m-%d}", reason) for run, reason in choice.kept)
    columns = text_columns("run", "label", "finished", "why it is kept")
    return Table(title="Older, but kept", columns=columns, rows=rows)
