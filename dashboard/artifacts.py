"""Files beside records: which of them may be shown, and where they lie; the routes and the model page ask here only."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from store import query
from store.errors import XlabenchError

if TYPE_CHECKING:
    import duckdb

FOLDER = "artifacts"
"""Within a run folder; what lies beside it is no artifact, whatever a record says."""


_FOLDERS_SQL = (Path(__file__).with_name("queries") / "artifact_folders.sql").read_text(encoding="utf-8")
"""Read here, because `dashboard.data` belongs to Streamlit's sessions, and routes exist before any."""


class NotServed(XlabenchError, LookupError):
    """No such artifact, or none that may be read; the text says which."""


def locate(con: duckdb.DuckDBPyConnection, record_id: str, path: str) -> Path:
    """Return where an artifact that a record lists really lies.

    The folder comes from the store, never from the request; a link that leads out of it is no way to a file.

    Raises:
        NotServed: the record lists no such file, or it is not there, or it is no regular file of that folder.
    """
    found = query.fetch(con, _FOLDERS_SQL, {"record": record_id, "path": path})
    if not found:
        raise NotServed("no run with a run.json lists this artifact")
    for row in found:
        place = _inside(Path(str(row["folder"])) / FOLDER, Path(str(row["folder"])) / path)
        if place is not None:
            return place
    raise NotServed("the file is not in its run folder: moved, deleted, or a link that leads out of it")


def _inside(folder: Path, named: Path) -> Path | None:
    """Return the regular file that a name leads to where it lies in the folder, links followed; else None."""
    try:
        real, root = named.resolve(strict=True), folder.resolve(strict=True)
        regular = stat.S_ISREG(real.stat().st_mode)
    except (OSError, ValueError, RuntimeError):  # a NUL in the name is a ValueError, a loop of links a RuntimeError
        return None
    return real if regular and real.is_relative_to(root) else None
