"""What the pages read: the store's queries and the SQL of `queries/`, cached per snapshot.

Values reach SQL only as bound parameters; a statement with its values written out is for people to copy, never run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import literals, snapshot
from dashboard.filters import Choices, run_text
from dashboard.rows import each
from dashboard.selection import FILTER_WORDS, Selection
from store import query

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def results(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the results of the shown run, without the records' text."""
    return rows(shown, "results", selection)


def fallback_ops(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the fallback ops of the shown run."""
    return rows(shown, "fallback_ops", selection)


def graph_breaks(shown: str, selection: Selection) -> pd.DataFrame:
    """Return the graph breaks of the shown run."""
    return rows(shown, "graph_breaks", selection)


@st.cache_data(max_entries=100, max_size="512mb", show_spinner="Reading the store…")
def rows(shown: str, name: str, selection: Selection, **more: Any) -> pd.DataFrame:
    """Return the rows of a query of `queries/`.

    Args:
        shown: the snapshot.
        name: of the file, without its suffix.
        selection: gives the filters and the baseline.
        more: further parameters of the query.
    """
    text = sql(name, only=bool(selection.only))
    return query.select(snapshot.connection(shown), text, _bound(text, selection, more))


def statement(name: str, selection: Selection, **more: Any) -> str:
    """Return a query of `queries/` with its parameters as literals, to show and to copy."""
    text = sql(name, only=bool(selection.only))
    return literals.written_out(text, _bound(text, selection, more))


def _bound(text: str, selection: Selection, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a query names."""
    offered = selection.parameters() | dict(more)
    return {name: offered[name] for name in literals.names(text)}


def record(shown: str, run_id: str, experiment_id: str, environment: str | None) -> dict[str, Any] | None:
    """Return one record as it was read, or None for an experiment without a record."""
    params = {"run": run_id, "experiment": experiment_id, "environment": environment}
    found = query.select(snapshot.connection(shown), sql("record"), params)
    return None if found.empty else {str(name): value for name, value in found.iloc[0].items()}


@cache
def sql(name: str, *, only: bool = False) -> str:
    """Return the text of a query file, with the shared filters in place of their mark.

    Args:
        name: of the file, without its suffix.
        only: whether models with fallback ops or graph breaks may be left out.
    """
    filters = _read("filters") + (f"\n{_read('filters_only')}" if only else "")
    return _read(name).replace(_FILTERS, filters)


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8").rstrip()


def _named_runs(known: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    texts: dict[str, str] = {}
    for row in each(known):
        text = run_text(str(row.run_id), row.run_label, row.run_started)
        texts[text if text not in texts else f"{text} {row.run_id}"] = str(row.run_id)
    return tuple((run_id, text) for text, run_id in texts.items())
