"""Settings of the dashboard process: read from environment variables, because Streamlit owns the command line."""

from __future__ import annotations

import os
from pathlib import Path

STORE_VARIABLE = "XLABENCH_STORE"
"""Folder that holds `CURRENT` and the snapshots."""

HOME_VARIABLE = "XLABENCH_HOME"
"""Home of xlabench; its `store` folder is shown when `XLABENCH_STORE` is not set."""

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
