"""Settings of the dashboard process: read from environment variables, because Streamlit owns the command line."""

from __future__ import annotations

import os
from pathlib import Path

from store.state import FILE_NAME

STORE_VARIABLE = "XLABENCH_STORE"
"""Folder that holds `CURRENT` and the snapshots."""

HOME_VARIABLE = "XLABENCH_HOME"
"""Home of xlabench; its `store` folder is shown when `XLABENCH_STORE` is not set."""

STATE_VARIABLE = "XLABENCH_STATE"
"""What people type: `state.sqlite`; when it is not set, the one of the home, else the one beside the store folder."""

DEFAULT_HOME = "xlabench-data"

WATCH_EVERY_S = 3.0
"""Interval in seconds at which an open page looks for a newer snapshot."""

LAZY_ROWS = 20_000
"""Number of rows above which a table sends only what is scrolled to."""

CHART_MODELS = 40
"""Most models that one chart draws; the table beside it always holds all."""


def store_dir() -> Path:
    """Return the store folder: `XLABENCH_STORE`, else `store` in the home."""
    named = os.environ.get(STORE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME) / "store"


def state_path() -> Path:
    """Return the file of what people type: notes, acknowledgements, assignees."""
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else store_dir().parent) / FILE_NAME
