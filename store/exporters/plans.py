"""The run.json of runs: the file itself where it still is, else made of what the index keeps of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from store.exporters.lines import rows
from store.exporters.target import folder_name
from store.folder import write_whole
from store.identity import setting_of
from store.run_file import RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.query import Connection

_OF_ENTRY = ("experiment_id", "environment", "group", "variant", "backend", "skip_reason")


def write(con: Connection, runs: Sequence[str], folder: Path) -> list[str]:
    """Write FOLDER/RUN/run.json for each run that has one; returns the runs whose file is gone."""
    gone = []
    for row in rows(con, "export_plans", runs):
        target = folder / folder_name(row["run_id"])
        target.mkdir(parents=True, exist_ok=True)
        data = _original(row)
        if data is None:
            gone.append(row["run_id"])
            data = msgspec.json.format(msgspec.json.encode(_made(row)), indent=1) + b"\n"
        write_whole(target / RUN_FILE, data)
    return gone


def _original(row: dict[str, Any]) -> bytes | None:
    """Return the file, unless it is gone or belongs to another run by now."""
    try:
        data = Path(row["path"]).read_bytes()
        same: bool = json.loads(data)["run"]["run_id"] == row["run_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return data if same else None


def _made(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": {"run_id": row["run_id"], "label": row["label"], "command": row["command"]},
        "timestamp": row["started"],
        "environments": [json.loads(facts) for facts in row["environments"] or []],
        "settings": json.loads(row["settings"] or "{}"),
        "plan": [_entry(entry) for entry in row["plan"] or []],
        "plan_id": row["plan_id"],
    }


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    config = {name: value for name, value in row.items() if name not in (*_OF_ENTRY, "workload")}
    config |= dict(setting_of(word) for word in (row["workload"] or "").split())
    known = {name: value for name, value in config.items() if value is not None}
    return {**{name: row[name] for name in _OF_ENTRY}, "config": known}


def missing_plans_sentence(gone: Sequence[str]) -> tuple[str, ...]:
    """Say whose plan was made of the index."""
    if not gone:
        return ()
    return (f"The run.json of {', '.join(gone)} is missing; the plan was written from the index.",)
