"""Resolve what a command line names: the newest snapshot, models by expressions, backends, devices and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from store import patterns
from store.errors import LIST_RUNS, NOTHING_FITS, NoSnapshot, UsageError, did_you_mean
from store.query import Connection, Filters, current_snapshot, fetch, named, refuse_damaged


def newest_snapshot(store_dir: Path) -> Path:
    """Return the newest snapshot.

    Raises:
        NoSnapshot: nothing was published.
        StorageError: the file that names it is damaged.
    """
    snapshot = current_snapshot(store_dir)
    if snapshot is None:
        refuse_damaged(store_dir)
        raise NoSnapshot(f"There is no index in {store_dir}. Measure with `xlabench run`, or `xlabench ingest PATH`.")
    return snapshot


def matching_models(con: Connection, include: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...]:
    """Return the names of measured models that an expression of `include` finds and none of `exclude` does.

    Raises:
        UsageError: an expression is broken, or no model is left.
    """
    try:
        included = patterns.any_of(tuple(include) or (".",))
        excluded = patterns.any_of(tuple(exclude) or ("^$",))
    except patterns.BadPattern as error:
        raise UsageError(f"{error} Correct --filter or --exclude.") from None
    names = [str(row[0]) for row in con.execute("SELECT DISTINCT model FROM result_rows ORDER BY model").fetchall()]
    matches = tuple(name for name in names if included.search(name) and not excluded.search(name))
    for text in include if len(include) > 1 else ():
        if not any(patterns.compiled(text).search(name) for name in names):
            hint = did_you_mean(text, names) or " Correct or remove it."
            raise UsageError(f"No model of the store matches --filter {text!r}.{hint}")
    if not matches:
        hint = "".join(did_you_mean(text, names) for text in include[:1])
        raise UsageError(f"No model of the store matches --filter and --exclude.{hint or ' Widen them.'}")
    return matches


def measured_names(con: Connection, column: Literal["backend", "suite"], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of backends or suites, after checking that each of them has a result.

    Raises:
        UsageError: no result has one of the names.
    """
    query = {"backend": "SELECT DISTINCT backend FROM result_rows", "suite": "SELECT DISTINCT suite FROM result_rows"}
    known = sorted(str(row[0]) for row in con.execute(query[column]).fetchall()) if names else []
    for name in names:
        if known and name not in known:
            hint = did_you_mean(name, known) or f" The store has: {', '.join(known)}."
            raise UsageError(f"No result of the store has the {column} {name!r}.{hint}")
    return tuple(names)


def absent_from(con: Connection, filters: Filters) -> tuple[str, ...]:
    """Return one sentence for each suite, test or backend of the filters of which no result fits the others."""
    rows = fetch(con, named("results"), filters.parameters())
    names = {"suite": filters.suite, "test": filters.test, "backend": filters.backend}
    return tuple(
        f"No result of the report has the {column} {name!r}."
        for column, wanted in names.items()
        for name in dict.fromkeys(wanted)
        if all(row[column] != name for row in rows)
    )


_LISTED = 12
"""Up to so many names are listed where none is close to a typed one."""


def require_series(con: Connection, names: Mapping[str, str]) -> None:
    """Check that some series has all of these values, by column; an index without results refuses none.

    Raises:
        UsageError: no series has one of them, or none has them together.
    """
    rows = fetch(con, named("series_names"))
    for column, value in names.items() if rows else ():
        known = sorted({str(row[column]) for row in rows if row[column] is not None})
        if value not in known:
            hint = did_you_mean(value, known) or _all_names(column, known)
            raise UsageError(f"No result of the store has the {column.replace('_', ' ')} {value!r}.{hint}")
    if rows and not any(all(row[column] == value for column, value in names.items()) for row in rows):
        together = ", ".join(f"{column.replace('_', ' ')} {value}" for column, value in names.items())
        raise UsageError(f"No result of the store has all of: {together}. Leave one of them out.")


def _all_names(column: str, known: Sequence[str]) -> str:
    if len(known) <= _LISTED:
        return f" The store has: {', '.join(known) or 'none'}."
    query = f"SELECT DISTINCT {column} FROM results ORDER BY ALL"  # noqa: S608 - a text for users; the names are ours
    return f' `xlabench sql "{query}"` lists the names of the store.'


def on_accelerator(con: Connection, filters: Filters, text: str) -> Filters:
    """Restrict filters to a kind of device, or to the newest run on a device model that matches an expression.

    Raises:
        UsageError: no result is of such a device.
    """
    rows = fetch(con, named("accelerators"), filters.parameters())
    if any(row["accelerator"] == text for row in rows):
        return msgspec.structs.replace(filters, accelerator=(text,))
    try:
        pattern = patterns.compiled(text)
    except patterns.BadPattern as error:
        raise UsageError(f"{error} Correct --accelerator.") from None
    matches = [row for row in rows if pattern.search(row["accelerator_model"] or "")]
    if not matches:
        raise unknown_accelerator(text, {str(row["accelerator_model"] or row["accelerator"]) for row in rows})
    newest = [row for row in matches if filters.run or row["run_id"] == matches[0]["run_id"]]
    return msgspec.structs.replace(
        filters,
        accelerator=tuple(dict.fromkeys(str(row["accelerator"]) for row in newest)),
        run=tuple(dict.fromkeys(str(row["run_id"]) for row in newest)),
    )


def unknown_accelerator(text: str, models: Iterable[str]) -> UsageError:
    """Return the error that names the accelerators that there are."""
    there = ", ".join(sorted(models)) or "none"
    return UsageError(f"No result has the accelerator {text!r}; results that match the other filters have: {there}.")


_RUNS = """
SELECT run_id, run_label, run_started
FROM runs
ORDER BY verify_only_n > 0 AND verify_only_n = planned_n, run_started DESC, run_id
"""
"""The runs, the newest first; runs that only verify are last, so that timed runs are preferred."""
_OTHER_RUNS = """
SELECT DISTINCT run_id, run_label, run_started
FROM records
WHERE purpose <> 'benchmark'
ORDER BY run_started DESC, run_id
"""
"""Runs without results, such as confirmations: none is `latest`, but their ids and labels are accepted."""
_LEAST_OF_ID = 4
"""Minimum number of characters of the beginning of an id."""


def run_named(con: Connection, text: str) -> str:
    """Return the id of the run that a text names.

    Raises:
        UsageError: it names none, or several.
    """
    run_id = find_run(con, text)
    if run_id is None:
        raise UsageError(f"The store has no run {text!r}.{did_you_mean(text, run_names(con))} {LIST_RUNS}")
    return run_id


def run_names(con: Connection) -> list[str]:
    """Return the labels and ids of all runs, for hints."""
    rows = [*fetch(con, _RUNS), *fetch(con, _OTHER_RUNS)]
    return [str(row[column]) for column in ("run_label", "run_id") for row in rows]


def find_run(con: Connection, text: str) -> str | None:
    """Return the id of the run that a text names, or None.

    It is `latest`, `previous`, an id, a label (its newest run counts), or the beginning of an id.

    Raises:
        UsageError: the store has no run, or too few; or several ids begin so.
    """
    runs = fetch(con, _RUNS)
    all_runs = runs + fetch(con, _OTHER_RUNS)
    if not all_runs:
        raise UsageError("The store has no run. Measure with `xlabench run`, or `xlabench ingest PATH`.")
    by_order = {"latest": 0, "previous": 1}
    if text in by_order:
        if len(runs) <= by_order[text]:
            raise UsageError(f"There is no {text} run: the store has {len(runs)}. Measure again with `xlabench run`.")
        return str(runs[by_order[text]]["run_id"])
    for column in ("run_id", "run_label"):
        if named_so := [str(row["run_id"]) for row in all_runs if row[column] == text]:
            return named_so[0]
    begun = [row for row in all_runs if len(text) >= _LEAST_OF_ID and str(row["run_id"]).startswith(text)]
    if len({row["run_id"] for row in begun}) > 1:
        several = ", ".join(f"{row['run_id']} ({row['run_started']})" for row in begun[:4])
        raise UsageError(f"{text!r} names {len(begun)} runs: {several}. Pass the id of one.")
    return str(begun[0]["run_id"]) if begun else None


def start_of_run(con: Connection, run_id: str) -> datetime:
    """Return when a run of the store began."""
    rows = [*fetch(con, _RUNS), *fetch(con, _OTHER_RUNS)]
    started: datetime = next(row["run_started"] for row in rows if row["run_id"] == run_id)
    return started


def newest_run(con: Connection, filters: Filters) -> str:
    """Return the newest run with a matching result; a run that only verifies results of an earlier run does not count.

    Raises:
        UsageError: no run has one.
    """
    rows = fetch(con, named("results"), filters.parameters())
    if not rows:
        raise UsageError(NOTHING_FITS)
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        runs.setdefault(str(row["run_id"]), []).append(row)
    newest, *earlier = runs
    if any(row["status"] not in ("verify_only", "not_run") for row in runs[newest]):
        return newest
    verified = {(row["experiment_id"], row["environment"]) for row in runs[newest]}
    timed = (run for run in earlier if verified <= {(row["experiment_id"], row["environment"]) for row in runs[run]})
    return next(timed, newest)
