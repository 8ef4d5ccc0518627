"""What a run wrote down before it measured: its plan, settings and environments, read from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, snapshot
from store import query
from store.errors import StoreError
from store.run_file import RUN_FILE, read_run_file

if TYPE_CHECKING:
    from store.record import RunFile


def of(shown: str, run_id: str) -> RunFile | str:
    """Return a run's file, or in one sentence why it cannot be had: then it cannot be measured again as it was."""
    path = _path(shown, run_id)
    try:
        return _read(str(path.parent), path.stat().st_mtime_ns) if path else _none(run_id)
    except OSError:
        return _none(run_id)
    except StoreError as error:
        return str(error)


def _none(run_id: str) -> str:
    return f"Run {run_id} has no plan: there is no {RUN_FILE} of it. Ingest the run's own folder."


@st.cache_data(max_entries=50, show_spinner=False)
def _path(shown: str, run_id: str) -> Path | None:
    found = query.select(snapshot.connection(shown), data.sql("run_file"), {"run": run_id})
    return None if found.empty else Path(str(found["path"].iloc[0]))


@st.cache_resource(max_entries=20, show_spinner=False)
def _read(path: str, modified_ns: int) -> RunFile:
    """Read a file once; nobody changes what this returns."""
    del modified_ns
    return read_run_file(path)
