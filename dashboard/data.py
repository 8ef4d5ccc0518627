"""What the pages read: the store's queries and the SQL of `queries/`, cached per snapshot.

Values reach SQL only as bound parameters.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import snapshot
from dashboard.filters import Choices, run_text
from dashboard.rows import each
from dashboard.selection import FILTER_WORDS, Selection
from store import query
from store.filters import Filters

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = Path(__file__).with_name("queries")
_FILTERS = "/*filters*/"


@st.cache_data(max_entries=8, show_spinner=False)
def runs(shown: str) -> pd.DataFrame:
    """Return view `runs` from the newest on."""
    return query.runs(snapshot.connection(shown))


@st.cache_data(max_entries=8, show_spinner="Reading the store…")
def choices(shown: str) -> Choices:
    """Return what the filters offer."""
    facets = query.facets(snapshot.connection(shown))
    values = {name: tuple(facets.loc[facets["facet"] == name, "value"]) for name in FILTER_WORDS}
    return Choices(runs=_named_runs(runs(shown)), values=values)


def speedups(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the speedups of the shown run."""
    return rows(shown, "speedups", selection)


def geomeans(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the geometric means of the shown run over the filtered models."""
    return rows(shown, "geomeans", selection)


@st.cache_data(max_entries=100, max_size="512mb", show_spinner="Reading the store…")
def results(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the results of the shown run, without the records' text."""
    return query.results(snapshot.connection(shown), _filters(selection))


@st.cache_data(max_entries=100, max_size="512mb", show_spinner="Reading the store…")
def fallback_ops(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the fallback ops of the shown run."""
    return query.fallback_ops(snapshot.connection(shown), _filters(selection))


@st.cache_data(max_entries=100, max_size="512mb", show_spinner="Reading the store…")
def graph_breaks(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the graph breaks of the shown run."""
    return query.graph_breaks(snapshot.connection(shown), _filters(selection))


@st.cache_data(max_entries=100, max_size="512mb", show_spinner="Reading the store…")
def rows(shown: str, name: str, selection: Selection) -> pd.DataFrame:
    """Return the rows of a query of `queries/` that takes the filters."""
    params: dict[str, Any] = {name: list(values) for name, values in selection.chosen().items()}
    params["run"] = selection.run_id
    if "$baseline_run" in sql(name):
        params["baseline_backend"] = selection.baseline
        params["baseline_run"] = selection.baseline_run_id or selection.run_id
    return query.select(snapshot.connection(shown), sql(name), params)


def record(shown: str, run_id: str, experiment_id: str, environment: str | None) -> dict[str, Any] | None:
    """Return one record as it was read, or None for an experiment without a record."""
    params = {"run": run_id, "experiment": experiment_id, "environment": environment}
    found = query.select(snapshot.connection(shown), sql("record"), params)
    return None if found.empty else {str(name): value for name, value in found.iloc[0].items()}


@cache
def sql(name: str) -> str:
    """Return the text of a query file, with the shared filters in place of their mark."""
    text = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    return text.replace(_FILTERS, (_FOLDER / "filters.sql").read_text(encoding="utf-8").rstrip())


def _filters(selection: Selection) -> Filters:
    return Filters(run=(selection.run_id,), **selection.chosen())


def _named_runs(known: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    texts: dict[str, str] = {}
    for row in each(known):
        text = run_text(str(row.run_id), row.run_label, row.run_started)
        texts[text if text not in texts else f"{text} {row.run_id}"] = str(row.run_id)
    return tuple((run_id, text) for text, run_id in texts.items())
