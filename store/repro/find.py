"""Find faults in a snapshot, and return the drafts about a record or an op as one text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from store.choose import run_named
from store.errors import UsageError, shortened
from store.query import Connection, fetch, named
from store.repro.fault import Fault, draft, existing_draft


def faults(
    con: Connection,
    *,
    record: str | None = None,
    op: str | None = None,
    fault_id: str | None = None,
    run: str | None = None,
) -> list[Fault]:
    """Return the faults of the store that pass all filters, grouped by kind, the most frequent first.

    Args:
        con: a snapshot.
        record: only those of this record's result, which becomes the example.
        op: only this fallback op, named with or without `aten::`.
        fault_id: only this one, as the list names it.
        run: only those that occurred in this run, named as for `run_named`; counts are over all runs.

    Raises:
        UsageError: there is no such record, run or fault.
    """
    result = _result_of(con, record) if record is not None else None
    parameters = {
        "record": result,
        "run": run_named(con, run) if run is not None else None,
        "op": op.removeprefix("aten::") if op is not None else None,
    }
    bare = [
        msgspec.convert({**row, "record": {}, "run_folder": None}, Fault)
        for row in fetch(con, named("faults"), parameters)
    ]
    selected = [fault for fault in bare if fault_id in (None, fault.fault_id)]
    if not selected and fault_id is not None:
        raise UsageError(f"There is no fault {fault_id!r}. `xlabench repro` lists the existing ones.")
    if not selected and op is not None:
        raise UsageError(f"No result has the fallback op {op!r}. `xlabench repro` lists the existing ones.")
    return _with_records(con, selected)


def _with_records(con: Connection, selected: list[Fault]) -> list[Fault]:
    """Add the example records to the faults."""
    parameters = {"records": sorted({fault.record_id for fault in selected})}
    lines = {line["record_id"]: line for line in fetch(con, named("fault_records"), parameters)}
    return [
        msgspec.structs.replace(
            fault,
            record=json.loads(lines[fault.record_id]["record"]),
            run_folder=_folder(lines[fault.record_id]["run_folder"]),
        )
        for fault in selected
    ]


def _folder(path: str | None) -> str | None:
    """Return the folder of a run; for packed results the store has the path of the file instead."""
    if path is None:
        return None
    place = Path(path)
    return str(place.parent if place.suffix in (".zst", ".gz", ".jsonl") else place)


def _result_of(con: Connection, record: str) -> str:
    rows = fetch(con, named("fault_result"), {"record": record})
    if not rows:
        raise UsageError(f"The store has no record {record!r}. Page Runs & jobs of `xlabench serve` lists the records.")
    return str(rows[0]["record_id"])


def lines(rows: Iterable[Fault]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each fault in a list: id, kind, results, models, first run, text."""
    for fault in rows:
        first = f"{fault.first_started:%Y-%m-%d}" if fault.first_started else ""
        yield (
            fault.fault_id,
            fault.kind.replace("_", " "),
            str(fault.results_n),
            str(len(fault.models)),
            f"{first} {fault.first_run_label or ''}".strip(),
            shortened(" ".join(fault.signature.split()), 100),
        )


FOLDER_NAME = "repros"
"""Folder of the home to which `xlabench repro` writes drafts and scripts."""


def drafts(con: Connection, folder: Path, *, record: str | None = None, op: str | None = None) -> str:
    """Return the drafts of a record's faults, or of an op's, joined into one text; empty if there is none.

    A draft in the folder is returned as it is, with its script; others are written without a script.
    """
    texts = []
    for fault in faults(con, record=record, op=op):
        place = existing_draft(folder, fault)
        texts.append(place.read_text(encoding="utf-8") if place else draft(fault, None))
    return "\n---\n\n".join(texts)
