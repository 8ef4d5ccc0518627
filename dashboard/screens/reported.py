"""Imports: numbers that others published, apart from what was measured here; nothing compares with them by itself."""

from __future__ import annotations

import streamlit as st

from dashboard import data, empty, settings, snapshot, tables
from dashboard.selection import Selection
from dashboard.tables import Column, measured
from dashboard.words import count
from store.query import DEFAULT_BASELINE

_ALL = Selection(run_id="", baseline=DEFAULT_BASELINE)
"""No run and no filter: these tables have all imports."""


def known(shown: str) -> int:
    """Return how many imports a snapshot has."""
    return len(data.rows(shown, "reported_runs", _ALL))


def instead_of_runs(title: str) -> None:
    """Draw a page over a store without a run: how to fill it, and what was imported."""
    shown = snapshot.held()
    empty.store(title, settings.store_dir(), known(str(shown)) if shown else 0)
    if shown:
        show(str(shown))


def show(shown: str) -> None:
    """Draw what was imported; nothing where there is none."""
    found = data.rows(shown, "reported_runs", _ALL)
    if found.empty:
        return
    st.subheader("Imported: reported by others", anchor=False)
    st.caption(
        f"{count(len(found), 'import')}. These numbers came without samples: they have no interval and no verdict, and "
        "are in no rate or mean of the other pages."
    )
    columns = {
        "run_label": Column("Import", pinned=True),
        "source": Column("Form"),
        "origin": Column("Published in"),
        "run_started": Column("Dated (UTC)", "time"),
        "records_n": Column("Records", "number", help="Lines or cells that were read from the file."),
        "models_n": measured("models_n"),
        "tests": Column("Tests"),
        "backends": Column("Backends"),
        "path": Column("File"),
        "run_id": Column("Run id"),
    }
    tables.show(
        found,
        tables.without_constant(columns, found, ["origin"]) if found["origin"].isna().all() else columns,
        key="reported",
        alt="Imported numbers of others",
        file_name="xlabench-reported",
        sql=data.statement("reported_runs", _ALL),
    )
    _geomeans(shown)


def _geomeans(shown: str) -> None:
    means = data.rows(shown, "reported_geomeans", _ALL)
    if means.empty:
        return
    st.markdown("**Published tables of speedups**")
    columns = {
        "origin": Column("Published in", pinned=True),
        "column_name": Column("Column"),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator_model": Column("Device"),
        "backend": Column("Backend"),
        "baseline": Column("Over", help="The table's own baseline, in its words."),
        "geomean": measured("geomean", note="Computed from the published speedups."),
        "n": measured("n"),
        "published_geomean": measured("published_geomean"),
        "note": Column("Note"),
    }
    tables.show(
        means,
        columns,
        key="reported-geomeans",
        alt="Geometric means of published speedups",
        file_name="xlabench-reported-geomeans",
        sql=data.statement("reported_geomeans", _ALL),
    )
