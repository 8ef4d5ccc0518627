"""Which runs are pruned, and why the others are kept."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from store.errors import RunFileError
from store.query import fetch, named
from store.run_file import PRUNED_FILE, RESULTS, read_run_file

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from store.query import Connection

PAYOFF = "payoff"
"""Purpose of runs whose answer is computed from their samples each time."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept: a run that any part of the rule names."""

    since: datetime
    """UTC: runs with a record that finished then, or later."""
    labels: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run with records, as the index knows it."""

    run_id: str
    label: str
    purposes: list[str]
    finished: datetime
    records_n: int
    samples_n: int
    """Timed blocks that the index holds."""
    paths: list[str] | None
    """Files that hold its records, or held them."""


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose samples leave the index, and whose lines are packed."""

    run: Run
    folder: Path
    bytes_n: int
    """Of its results.jsonl."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule does with the runs of an index."""

    leaving: list[Leaving]
    kept: list[tuple[Run, str]]
    """Runs that are older than the rule keeps, each with the reason why it stays."""
    young_n: int
    done_n: int
    """Runs that were pruned before."""


def runs(con: Connection) -> list[Run]:
    """Return the runs of a snapshot, the one that ended first at the begin."""
    return msgspec.convert(fetch(con, named("prunable")), list[Run])


def choose(found: Sequence[Run], rule: Rule, home_runs: Path, busy: Collection[Path]) -> Choice:
    """Return what becomes of the runs.

    Args:
        found: the runs.
        rule: says what is kept.
        home_runs: the folder whose run folders may be packed; files elsewhere belong to somebody else.
        busy: run folders of jobs that wait or run.
    """
    choice = Choice(leaving=[], kept=[], young_n=sum(run.finished >= rule.since for run in found), done_n=0)
    done_n = 0
    for run in found:
        if run.finished >= rule.since:
            continue
        folder = _folder(run, home_runs.resolve())
        reason = _kept(run, rule) or (folder if isinstance(folder, str) else _in_use(folder, busy))
        if reason is not None:
            choice.kept.append((run, reason))
        elif isinstance(folder, Path):
            plain = folder / RESULTS
            if run.samples_n or plain.exists() or not (folder / PRUNED_FILE).exists():
                bytes_n = plain.stat().st_size if plain.exists() else 0
                choice.leaving.append(Leaving(run=run, folder=folder, bytes_n=bytes_n))
            else:
                done_n += 1
    return msgspec.structs.replace(choice, done_n=done_n)


def _kept(run: Run, rule: Rule) -> str | None:
    if run.label in rule.labels:
        return f"label {run.label}"
    if purposes := sorted(set(run.purposes) & set(rule.purposes)):
        return f"purpose {', '.join(purposes)}"
    if PAYOFF in run.purposes:
        return "payoffs are computed from their samples"
    return None


def _folder(run: Run, home_runs: Path) -> Path | str:
    """Return the run folder that holds all records of a run, or why there is none."""
    folders = sorted({Path(path).parent for path in run.paths or ()})
    if not folders:
        return "no file holds its records"
    folder, *others = sorted(folders, key=lambda each: each.parent != home_runs)
    if others:
        return f"its records are also in {others[0]}"
    if folder.parent != home_runs or folder.is_symlink():
        return "its folder is not in the runs of this home"
    if any(not Path(path).name.startswith(RESULTS) for path in run.paths or ()) or (folder / RESULTS).is_symlink():
        return f"its records are not only in {RESULTS}"
    try:
        known = read_run_file(folder).run.run_id
    except RunFileError:
        return "its run.json is missing or unreadable"
    return folder if known == run.run_id else "its folder is that of another run"


def _in_use(folder: Path, busy: Collection[Path]) -> str | None:
    return "a job of the queue measures it" if folder in busy else None
