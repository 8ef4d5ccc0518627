"""Heat maps of ops by model, one per series, test and accelerator: calls of two series are never added."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import answers, data, downloads, pending_values
from dashboard.charts import drawing, heat
from dashboard.charts.axes import PICKED
from dashboard.rows import sections
from dashboard.screens import choosing, places
from dashboard.words import CLASSES, count

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

SHOWN: dict[str, str] = {"Calls per iteration": "calls_per_iteration", "Share of time": "time_share"}
"""Label → column."""
OPS_DRAWN = 40
MODELS_DRAWN = 60
_MODELS_ABREAST = 8


def show(view: View, calls: pd.DataFrame) -> None:
    """Draw what the colour means, and the maps."""
    st.subheader("Ops by model", anchor=False)
    parts = dict(sections(calls, ["series", "test", "accelerator"]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = SHOWN[choosing.segments("Colour", list(SHOWN), "colour")]
        charted = choosing.charts_of("Backend, test and accelerator", list(parts))
    unknown = int(calls[column].isna().sum())
    if unknown:
        why = "without a profile pass" if column == "time_share" else "that never reached a steady state"
        st.caption(f"{count(unknown, 'cell')} {why} are left empty of a number.")
    most = 2 if calls["model"].nunique() <= _MODELS_ABREAST else 1
    for place, keys in places.abreast(charted, most):
        with place:
            _map(keys, parts[keys], column)
    sql = data.statement("fallback_calls", view.selection, op=None, klass=None)
    downloads.below(calls, "calls", view.file_name("fallback-calls"), sql)


def _map(keys: tuple[str, ...], cells: pd.DataFrame, column: str) -> None:
    st.markdown(f"**{answers.section_title(keys)}**")
    ops, every = _ops(cells, column)
    models = sorted(cells["model"].unique(), key=str.lower)[:MODELS_DRAWN]
    shown = cells[cells["op"].isin(ops) & cells["model"].isin(models)]
    points = shown.groupby(["op", "model", "klass"], as_index=False).agg(value=(column, "max"))
    key = "heat-" + "-".join(keys)
    as_share = column == "time_share"
    labels = [_label(value, as_share=as_share) for value in points["value"]]
    drawing.selectable(
        heat.fallback_heat(points.assign(label=labels), ops, models, as_share=as_share),
        key=key,
        text=f"Fallback ops by model, {' '.join(keys)}",
        on_select=partial(_open, key),
    )
    if every > len(ops) or cells["model"].nunique() > len(models):
        total = count(cells["model"].nunique(), "model")
        st.caption(f"{len(ops)} of {count(every, 'op')} and {len(models)} of {total}; the files below have all.")


def _ops(cells: pd.DataFrame, column: str) -> tuple[list[str], int]:
    """Return the ops to draw, classes together and most first, and how many there are."""
    order = {klass: position for position, klass in enumerate(CLASSES)}
    ranked = cells.groupby(["klass", "op"], as_index=False).agg(most=(column, "max"))
    ranked = ranked.assign(place=ranked["klass"].map(order)).sort_values(["place", "most"], ascending=[True, False])
    return list(ranked["op"])[:OPS_DRAWN], len(ranked)


def _label(value: float, *, as_share: bool) -> str:
    if value != value:  # noqa: PLR0124 - NaN
        return "not known"
    return f"{value:.2%}" if as_share else f"{value:.4g}"


def _open(key: str) -> None:
    """Choose the op of the selected cell; the page is drawn anew with it."""
    cells = st.session_state[key]["selection"].get(PICKED) or ()
    if cells:
        pending_values.leave("op", cells[0]["op"])
