"""Which snapshot a session shows, its connection, and the notice when a newer one exists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import settings
from store import query

if TYPE_CHECKING:
    import duckdb

_SHOWN = "_snapshot"
KEPT_OPEN = 4
"""Snapshots whose connection stays open: sessions may still show the last few."""


def shown() -> Path | None:
    """Return the snapshot that this session shows, or None while the store is empty.

    A session stays on its snapshot until its reader asks for the new one, or the file is gone.
    """
    held: Path | None = st.session_state.get(_SHOWN)
    if held is None or not held.exists():
        held = query.current_snapshot(settings.store_dir())
        st.session_state[_SHOWN] = held
    return held


@st.cache_resource(max_entries=KEPT_OPEN, on_release=lambda con: con.close(), show_spinner=False)
def connection(snapshot: str) -> duckdb.DuckDBPyConnection:
    """Return the locked, read-only connection to a snapshot; callers use a cursor of it."""
    return query.connect(Path(snapshot))


def advance() -> None:
    """Show the newest snapshot from now on."""
    st.session_state[_SHOWN] = query.current_snapshot(settings.store_dir())


def newer() -> Path | None:
    """Return the newest snapshot where it is not the one that this session shows."""
    newest = query.current_snapshot(settings.store_dir())
    return newest if newest != st.session_state.get(_SHOWN) else None
