"""Which snapshot a session shows, its connection, and the notice when a newer one exists."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import settings
from store import query
from store.errors import XlabenchError

if TYPE_CHECKING:
    import duckdb

_SHOWN = "_snapshot"
KEPT_OPEN = 4
"""Snapshots whose connection stays open: sessions may still show the last few."""


def shown() -> Path | None:
    """Return the snapshot that this session shows, or None while the store is empty.

    A session stays on its snapshot until its reader asks for the new one, also when the file is replaced meanwhile: the
    open connection still reads it. Only when that was closed too does the session move on by itself.
    """
    if (kept := held()) is not None:
        with contextlib.suppress(XlabenchError):
            connection(str(kept))
            return kept
    advance()
    return held()


def held() -> Path | None:
    """Return what this session shows, and change nothing."""
    kept: Path | None = st.session_state.get(_SHOWN)
    return kept


@st.cache_resource(max_entries=KEPT_OPEN, on_release=lambda con: con.close(), show_spinner=False)
def connection(snapshot: str) -> duckdb.DuckDBPyConnection:
    """Return the locked, read-only connection to a snapshot; callers use a cursor of it."""
    return query.connect(Path(snapshot), memory=settings.query_memory())


def advance() -> None:
    """Show the newest snapshot from now on."""
    st.session_state[_SHOWN] = query.current_snapshot(settings.store_dir())


def newer() -> Path | None:
    """Return the newest snapshot where it is not the one that this session shows."""
    newest = query.current_snapshot(settings.store_dir())
    return newest if newest != held() else None
