"""Files of records: which of them may be shown, and their paths; routes and pages find files by this module only."""

from __future__ import annotations

import stat
from pathlib import Path

import duckdb

from dashboard.data import query_text
from store import query
from store.errors import XlabenchError

FOLDER = "artifacts"
"""Folder of artifacts in a run folder; files outside of it are no artifacts, whatever a record says."""


class NotServed(XlabenchError, LookupError):
    """There is no such artifact, or it may not be read; the message says which."""


def locate(con: duckdb.DuckDBPyConnection, record_id: str, path: str) -> Path:
    """Return the real path of an artifact that a record lists.

    The folder comes from the store, never from the request; a link that leads out of it is refused.

    Raises:
        NotServed: the record lists no such file, or it is not there, or it is no regular file of that folder.
    """
    rows = query.fetch(con, query_text.read("artifact_folders"), {"record": record_id, "path": path})
    if not rows:
        raise NotServed("no run with a run.json lists this artifact")
    for row in rows:
        place = _inside(Path(str(row["folder"])) / FOLDER, Path(str(row["folder"])) / path)
        if place is not None:
            return place
    raise NotServed("the file is not in its run folder: moved, deleted, or a link that leads out of it")


def _inside(folder: Path, path: Path) -> Path | None:
    """Return the real path if it is a regular file in the folder after following links; else None."""
    try:
        real, root = path.resolve(strict=True), folder.resolve(strict=True)
        regular = stat.S_ISREG(real.stat().st_mode)
    except (OSError, ValueError, RuntimeError):  # a NUL in the name is a ValueError, a loop of links a RuntimeError
        return None
    return real if regular and real.is_relative_to(root) else None
