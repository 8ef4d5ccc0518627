"""Export the store in formats of other tools and our own: the list of formats, and one function for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from store.choose import run_named
from store.errors import UsageError
from store.exporters import hud_data, peer, tables
from store.exporters.target import Target, WrittenExport, opened
from store.query import Connection, fetch, named


class Exporter(Protocol):
    """Writes runs; `target` is a new folder, a file, or standard output."""

    def __call__(self, con: Connection, runs: Sequence[str], target: Target) -> WrittenExport: ...


FORMATS: dict[str, Exporter] = {
    "peer": peer.export,
    "hud-csv": hud_data.export_csv,
    "hud-json": hud_data.export_json,
    "parquet": tables.export_parquet,
    "jsonl": tables.export_jsonl,
    "tables": tables.export_tables,
}
_FOLDERS = frozenset({"hud-csv", "parquet", "tables"})
"""Formats of several files, which cannot go to standard output; `jsonl` without a folder leaves the plans out."""
_WHOLE = frozenset({"peer", "parquet", "jsonl"})
"""Formats that need the samples of records, and so leave pruned runs out."""
_NAMED_N = 3
"""Number of runs that a note names."""


def export(con: Connection, form: str, runs: Sequence[str] = (), output: Path | None = None) -> WrittenExport:
    """Write runs (none named: all) in one of `FORMATS`.

    Args:
        con: an open snapshot.
        form: name of the format.
        runs: ids of runs, or names as for `run_named`.
        output: for hud-csv, parquet and jsonl a new or empty folder, for tables also that of an earlier export of
            tables; else a file. None: standard output.

    Raises:
        UsageError: a run or format does not exist, the folder is not empty, or nothing can be exported.
    """
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}. Choose one of {', '.join(FORMATS)}.")
    if output is None and form in _FOLDERS:
        raise UsageError(f"{form} writes several files: name a new folder with --output.")
    with_records, with_plans = (
        {str(row["run_id"]) for row in fetch(con, f"SELECT DISTINCT run_id FROM {table}")}  # noqa: S608 (a literal)
        for table in ("records", "run_files")
    )
    known = with_records | with_plans
    chosen = {run if run in known else run_named(con, run) for run in runs}
    if form == "tables" and output is not None:
        tables.check(output)
    run_ids = sorted(chosen or known)
    pruned = {str(row["run_id"]): row["pruned_at"] for row in fetch(con, named("pruned"), {"runs": run_ids})}
    if form in _WHOLE:
        run_ids = [run for run in run_ids if run not in pruned]
    with opened(output, growing=form == "tables", folder=form in _FOLDERS or form == "jsonl") as target:
        written = FORMATS[form](con, run_ids, target)
        empty = [f"Run {run} has no records." for run in sorted(chosen - with_records)]
        written = WrittenExport(written.records_n, (*written.notes, *_notes(form, pruned), *empty))
        if not written.records_n:
            raise UsageError(f"Nothing in these runs can be written as {form}. {' '.join(written.notes)}".strip())
    return written


def _notes(form: str, pruned: Mapping[str, datetime]) -> tuple[str, ...]:
    """Return a note on runs whose samples were pruned, and its consequence for the format."""
    if not pruned or form not in {*_WHOLE, "tables"}:
        return ()
    named_runs = f"{', '.join(list(pruned)[:_NAMED_N])}{' and others' if len(pruned) > _NAMED_N else ''}"
    when = f"their samples were pruned, the last ones on {max(pruned.values()):%Y-%m-%d}"
    if form == "tables":
        return (f"Table samples lacks {len(pruned)} of the runs ({named_runs}): {when}.",)
    left_out = f"{len(pruned)} of the runs are left out ({named_runs})"
    return (f"{left_out}: {when}. Their folders contain every line, in results.jsonl.zst.",)


__all__ = ["FORMATS", "WrittenExport", "export"]
