"""The page: all ops of the view, or one op with its models and history (`?op=`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, empty, frame
from dashboard.rows import with_series
from dashboard.screens import choosing
from dashboard.screens.fallback_ops import breaks, heat_maps, one_op, payoffs, ranking, reads, sentences
from dashboard.words import CLASSES, count

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

KEY = "op"
"""URL parameter of the op that is looked at."""


def show(view: View) -> None:
    """Draw the page."""
    known = tuple(data.rows(view.snapshot, "known_ops", view.selection)["op"])
    op = choosing.requested_name(known, KEY, "no result of this store called the op")
    calls = with_series(data.rows(view.snapshot, "fallback_calls", view.selection, op=op, klass=None))
    coverage = data.rows(view.snapshot, "fallback_coverage", view.selection)
    said = (
        [*one_op.sentences(op, calls), *payoffs.sentences(view, op)] if op else sentences.all_ops(view, calls, coverage)
    )
    ran = int(coverage["ran_n"].sum()) if len(coverage) else 0
    frame.head("Fallback ops", view, said, ran, baseline=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choosing.one_of("Op", known, KEY, "All ops; choose one, or click a row or a cell below")
    if op:
        one_op.show(view, op, calls)
    elif coverage.empty:
        empty.no_rows(view.selection, "results")
    else:
        _all(view, calls)


def _all(view: View, calls: pd.DataFrame) -> None:
    if len(calls):
        ranking.show(view)
        _legend(calls)
        heat_maps.show(view, calls)
        reads.show(view, calls)
    breaks.show(view)


def _legend(calls: pd.DataFrame) -> None:
    """Say what the classes mean."""
    present = [klass for klass in CLASSES if (calls["klass"] == klass).any()]
    for column, klass in zip(st.columns(len(present)), present, strict=True):
        name, meaning = CLASSES[klass]
        column.markdown(f"**{name}** · {count(calls.loc[calls['klass'] == klass, 'op'].nunique(), 'op')}")
        column.caption(meaning)
