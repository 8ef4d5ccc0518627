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

LOOPBACK_VARIABLE = "XLABENCH_LOOPBACK"
"""Set by the server where only this machine reaches the pages."""

LOGIN_VARIABLE = "XLABENCH_LOGIN"
"""Set by the server where it started with a login: then nobody comes in without, whatever becomes of the file."""

BASE_VARIABLE = "XLABENCH_BASE_PATH"
"""Set by the server where a proxy gives the pages a path of a host, as `/bench`."""

DEFAULT_HOME = "xlabench-data"

WATCH_EVERY_S = 3.0
"""Interval in seconds at which an open page looks for a newer snapshot."""

FOLLOW_EVERY_S = 1.5
"""Interval in seconds at which a page looks at jobs that go on."""

LAZY_ROWS = 20_000
"""Number of rows above which a table sends only what is scrolled to."""

CHART_MODELS = 40
"""Most models that one chart draws; the table beside it always holds all."""


MEMORY_VARIABLE = "XLABENCH_QUERY_MEMORY"
"""What queries of all readers and what they keep of a snapshot may take of memory, as `300MB`; beyond it they use files
beside the snapshot. `serve` sets it where nobody has."""

QUERY_MEMORY = "256MB"
"""Memory for the queries of `serve`: without a limit DuckDB keeps whatever it has read."""

KEPT_ROWS_BYTES = 128 * 10**6
"""What is kept of the answers of queries."""

KEPT_REVIEWS_BYTES = 64 * 10**6
"""What is kept of comparisons of two sides; one of a thousand experiments takes some 20 MB."""


def query_memory() -> str | None:
    """Return the bound of all queries, None where there is none."""
    return os.environ.get(MEMORY_VARIABLE) or None


def store_dir() -> Path:
    """Return the store folder: `XLABENCH_STORE`, else `store` in the home."""
    named = os.environ.get(STORE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME) / "store"


def home() -> Path:
    """Return the home: where `xlabench.toml`, runs and jobs lie; it holds what people type."""
    return state_path().parent


def state_path() -> Path:
    """Return the file of what people type: notes, acknowledgements, assignees."""
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else store_dir().parent) / FILE_NAME


def base_path() -> str:
    """Return what stands before each of our paths, as `/bench`; empty where the host is all ours."""
    return os.environ.get(BASE_VARIABLE, "")


def is_loopback() -> bool:
    """Say whether only this machine reaches the pages; unless the server said so, it does not."""
    return bool(os.environ.get(LOOPBACK_VARIABLE))
