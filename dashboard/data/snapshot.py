"""The snapshot of a session, its connection, and the check for a newer one."""

from __future__ import annotations

import contextlib
from pathlib import Path

import duckdb
import streamlit as st

from dashboard import settings
from store import query
from store.errors import XlabenchError

_SHOWN = "_snapshot"
KEPT_OPEN = 4
"""Number of snapshots whose connection stays open, because sessions may still show them."""


def shown() -> Path | None:
    """Return the snapshot that this session shows; None while the store is empty.

    A session keeps its snapshot until its reader opens the new one, also if the file is replaced meanwhile, because the
    open connection still reads it. Only after that is closed, too, does the session use the newest one by itself.

    Raises:
        StorageError: the file that names the newest snapshot is damaged.
    """
    if (current := held()) is not None:
        with contextlib.suppress(XlabenchError):
            connection(str(current))
            return current
    advance()
    if held() is None:
        query.refuse_damaged(settings.store_dir())
    return held()


def held() -> Path | None:
    """Return the snapshot that this session shows, without any change."""
    current: Path | None = st.session_state.get(_SHOWN)
    return current


@st.cache_resource(max_entries=KEPT_OPEN, on_release=lambda con: con.close(), show_spinner=False)
def connection(snapshot: str) -> duckdb.DuckDBPyConnection:
    """Return the read-only connection to a snapshot; callers use a cursor of it."""
    return query.connect(Path(snapshot), memory=settings.query_memory())


def advance() -> None:
    """Show the newest snapshot from now on."""
    st.session_state[_SHOWN] = query.current_snapshot(settings.store_dir())


def newer() -> Path | None:
    """Return the newest snapshot if this session shows another one; else None."""
    newest = query.current_snapshot(settings.store_dir())
    return newest if newest != held() else None
