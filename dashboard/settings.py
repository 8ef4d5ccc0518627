"""Settings of the dashboard process: read from environment variables, because Streamlit owns the command line."""

from __future__ import annotations

import os
from pathlib import Path

from store.places import DEFAULT_HOME
from store.state import FILE_NAME

STORE_VARIABLE = "XLABENCH_STORE"
"""Folder that holds `CURRENT` and the snapshots."""

HOME_VARIABLE = "XLABENCH_HOME"
"""Home of xlabench; its `store` folder is shown when `XLABENCH_STORE` is not set."""

STATE_VARIABLE = "XLABENCH_STATE"
"""Path of `state.sqlite`, the entries of people; by default that of the home, else the one beside the store folder."""

LOOPBACK_VARIABLE = "XLABENCH_LOOPBACK"
"""Set by the server if only this machine reaches the pages."""

LOGIN_VARIABLE = "XLABENCH_LOGIN"
"""Set by the server if it started with a login, which then stays required, whatever happens to the file."""

BASE_VARIABLE = "XLABENCH_BASE_PATH"
"""Set by the server if a proxy serves the pages below a path, such as `/bench`."""

WATCH_EVERY_S = 3.0
"""Interval in seconds at which an open page looks for a newer snapshot."""

FOLLOW_EVERY_S = 1.5
"""Interval in seconds at which a page updates active jobs."""

LAZY_ROWS = 20_000
"""Number of rows above which a table sends only the rows on the screen."""

CHART_MODELS = 40
"""Largest number of models in one chart; its table always contains all of them."""


MEMORY_VARIABLE = "XLABENCH_QUERY_MEMORY"
"""Memory limit of all queries and of the cached blocks of a snapshot, such as `300MB`; beyond it they use files beside
the snapshot. `serve` sets it if it is not set."""

QUERY_MEMORY = "256MB"
"""Memory limit for the queries of `serve`; without a limit DuckDB caches everything that it has read. With 192 MB,
Overview failed over runs of 10,000 results."""

KEPT_ROWS_BYTES = 128 * 10**6
"""Size of the cache of query results."""

KEPT_REVIEWS_BYTES = 64 * 10**6
"""Size of the cache of comparisons; one of a thousand experiments takes about 20 MB."""


def query_memory() -> str | None:
    """Return the memory limit of all queries; None if there is none."""
    return os.environ.get(MEMORY_VARIABLE) or None


def store_dir() -> Path:
    """Return the store folder: `XLABENCH_STORE`, else `store` in the home."""
    folder = os.environ.get(STORE_VARIABLE)
    if folder:
        return Path(folder)
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME) / "store"


def home() -> Path:
    """Return the home: the folder of `xlabench.toml`, runs, jobs and `state.sqlite`."""
    return state_path().parent


def home_flags() -> list[str]:
    """Return the flags with which a command finds the home, from any folder and in any shell."""
    return ["--home", str(home())]


def store_flags() -> list[str]:
    """Return the flags with which a command finds the shown store, whose folder need not be that of the home."""
    flags = home_flags()
    return flags if store_dir() == home() / "store" else [*flags, "--database", str(store_dir())]


def state_path() -> Path:
    """Return the path of `state.sqlite`: notes, states and assignees."""
    file = os.environ.get(STATE_VARIABLE)
    if file:
        return Path(file)
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else store_dir().parent) / FILE_NAME


def base_path() -> str:
    """Return the prefix of all paths, such as `/bench`; it is empty without a proxy path."""
    return os.environ.get(BASE_VARIABLE, "")


def is_loopback() -> bool:
    """Tell whether the server has set that only this machine reaches the pages."""
    return bool(os.environ.get(LOOPBACK_VARIABLE))
