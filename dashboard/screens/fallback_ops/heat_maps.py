"""Heat maps of fallback ops by model, the table of host reads, and the reasons of graph breaks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import sections, unit, with_series
from dashboard.ui import answers, charts, downloads, opening, tables
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, choosing
from dashboard.words import CLASSES, count
from store.charts import axes, drawing
from store.charts.axes import PICKED
from store.charts.drawing import Drawing, layered
from store.metrics import metric

SHOWN: dict[str, str] = {"Calls per iteration": "calls_per_iteration", "Share of time": "time_share"}
"""Label → column."""
OPS_DRAWN = 40
MODELS_DRAWN = 60
_MODELS_ABREAST = 8


def show(view: View, calls: pd.DataFrame) -> None:
    """Draw the choice of what the colour shows, and the heat maps."""
    st.subheader("Ops by model", anchor=False)
    parts = dict(sections(calls, ["series", "test", "accelerator"]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = SHOWN[choosing.segments("Colour", list(SHOWN), "colour")]
        charted = choosing.charts_of("Backend, test and accelerator", list(parts))
    unknown = int(calls[column].isna().sum())
    if unknown:
        why = "without a profile pass" if column == "time_share" else "that never reached a steady state"
        st.caption(f"{count(unknown, 'cell')} {why} have no number.")
    models_n = len(calls[["suite", "model"]].drop_duplicates())
    most = 2 if models_n <= _MODELS_ABREAST else 1
    for place, keys in charts.abreast(charted, most):
        with place:
            _map(keys, parts[keys], column)
    sql = data.statement("fallback_calls", view.selection, op=None, klass=None)
    downloads.below(calls, "calls", view.file_name("fallback-calls"), sql)


def _map(keys: tuple[str, ...], cells: pd.DataFrame, column: str) -> None:
    st.markdown(f"**{answers.section_title(keys)}**")
    ops, ops_n = _ops(cells, column)
    cells = with_suites(cells)
    models = sorted(cells["model"].unique(), key=str.lower)[:MODELS_DRAWN]
    shown = cells[cells["op"].isin(ops) & cells["model"].isin(models)]
    points = shown.groupby(["op", "model", "klass"], as_index=False).agg(value=(column, "max"))
    key = "heat-" + "-".join(keys)
    as_share = column == "time_share"
    labels = [_label(value, as_share=as_share) for value in points["value"]]
    charts.selectable(
        fallback_heat(points.assign(label=labels), ops, models, as_share=as_share),
        key=key,
        text=f"Fallback ops by model, {' '.join(keys)}",
        on_select=partial(_open, key),
    )
    if ops_n > len(ops) or cells["model"].nunique() > len(models):
        total = count(cells["model"].nunique(), unit(cells["suite"]))
        st.caption(f"{len(ops)} of {count(ops_n, 'op')} and {len(models)} of {total}; the files below have all.")


def with_suites(cells: pd.DataFrame) -> pd.DataFrame:
    """Add the suite to the names of models that several suites have: they are different models."""
    suites = cells.groupby("model")["suite"].nunique()
    shared = set(suites.index[suites > 1])
    names = [
        f"{model} ({suite})" if model in shared else model
        for model, suite in zip(cells["model"], cells["suite"], strict=True)
    ]
    return cells.assign(model=names)


def _ops(cells: pd.DataFrame, column: str) -> tuple[list[str], int]:
    """Return the ops to draw, by class and then the largest value first, and the number of all ops."""
    order = {klass: position for position, klass in enumerate(CLASSES)}
    ranked = cells.groupby(["klass", "op"], as_index=False).agg(most=(column, "max"))
    ranked = ranked.assign(place=ranked["klass"].map(order)).sort_values(["place", "most"], ascending=[True, False])
    return list(ranked["op"])[:OPS_DRAWN], len(ranked)


def _label(value: float, *, as_share: bool) -> str:
    if value != value:  # noqa: PLR0124 - NaN
        return "not known"
    return f"{value:.2%}" if as_share else f"{value:.4g}"


def _open(key: str) -> None:
    """Choose the op of the selected cell; the next run of the page shows it."""
    cells = st.session_state[key]["selection"].get(PICKED) or ()
    if cells:
        choosing.leave_value("op", cells[0]["op"])


_CLASS = "host_read"


def show_host_reads(view: View, calls: pd.DataFrame) -> None:
    """Draw the host reads of the view with their call sites."""
    st.subheader("Host reads", anchor=False)
    reads = calls[calls["klass"] == _CLASS]
    if reads.empty:
        st.markdown("No result of this view read a value on the host.")
        return
    st.caption("Each read waits for the device. No lowering can remove it: change the code that reads the value.")
    listed = reads.assign(call_sites=[sites(places) for places in reads["call_sites"]])
    columns = {
        **naming("model", "suite", "series", "test", "accelerator"),
        "call_sites": TableColumn("Read at", help="Place in the program, recorded by an extra process."),
        "calls_per_iteration": TableColumn("Reads/iteration", "decimal", help=metric("calls_per_iteration").definition),
        "calls_compile": measured("calls_compile", "While compiling"),
        "time_share": measured("time_share", "Time"),
        "op": TableColumn("Op"),
    }
    opening.table(
        view,
        listed,
        columns,
        key="reads",
        alt="Values read on the host, with their call sites",
        file_name="host-reads",
        sql=data.statement("fallback_calls", view.selection, op=None, klass=_CLASS),
        told_once=("suite", "accelerator", "op"),
    )


def sites(places: list[str]) -> str:
    """Return call sites as one text."""
    return ", ".join(places) if len(places) else "the place was not found"


def show_graph_breaks(view: View) -> None:
    """Draw the reasons, and each result behind them."""
    st.subheader("Graph breaks", anchor=False)
    reasons = data.rows(view.snapshot, "graph_break_reasons", view.selection)
    if reasons.empty:
        st.markdown("No result of this view has a recorded graph break.")
        return
    listed = reasons.assign(
        models=[", ".join(names) for names in reasons["models"]],
        variants=[", ".join(names) for names in reasons["variants"]],
    )
    columns = {
        "headline": TableColumn(
            "Reason", pinned=True, help="Its first line; the hidden column and the files have all."
        ),
        "models_n": TableColumn("Models", "number", help="Models in which dynamo split the graph for this reason."),
        "count": measured("count", "Breaks (most)", "Those of the result with most."),
        "results_n": measured("results_n"),
        "variants": TableColumn("Backends"),
        "models": TableColumn("In models"),
        "reason": TableColumn("In full", hidden=True),
    }
    tables.show(
        listed,
        columns,
        key="break-reasons",
        alt="Reasons of graph breaks by number of models",
        file_name=view.file_name("graph-break-reasons"),
        sql=data.statement("graph_break_reasons", view.selection),
    )
    _results(view)


def _results(view: View) -> None:
    breaks = with_series(data.rows(view.snapshot, "graph_breaks", view.selection))
    title = f"Each result, {count(len(breaks), 'row')}"
    with st.expander(title, key="each-break", on_change="rerun") as part:
        if part.open:
            _breaks_table(view, breaks)


def _breaks_table(view: View, breaks: pd.DataFrame) -> None:
    columns = {
        **naming("model", "suite", "series", "test", "accelerator"),
        "count": measured("count"),
        "reason": TableColumn("Reason"),
    }
    opening.table(
        view,
        breaks,
        columns,
        key="breaks",
        alt="Graph breaks of each result",
        file_name="graph-breaks",
        sql=data.statement("graph_breaks", view.selection),
        told_once=("suite", "accelerator"),
    )


CELL_PX = 26
_FEW = 2
"""Most models whose names have room beside each other; the names of more models are turned."""
_UPRIGHT_FROM = 24
"""Most models whose turned names do not overlap; the names of more models are upright."""
NUMBERS_UP_TO = 300
"""Most cells that also carry their number as text."""

_SCHEMES = {
    "no_lowering": ("#FBE3D6", "#B8320E"),
    "opt_in_lowering": ("#FFF0C2", "#A97400"),
    "host_read": ("#DCE6F5", "#2B5FA8"),
}
_LIGHT_UNTIL = 0.55
_LEGENDS: dict[str, Any] = {
    "legend": {
        "layout": {
            "top": {
                "anchor": "start",
                "direction": {"signal": f"{drawing.PHONE} ? 'vertical' : 'horizontal'"},
            }
        }
    }
}
"""Layout of the legends: side by side, and on a telephone one below the other."""


def fallback_heat(frame: pd.DataFrame, ops: Sequence[str], models: Sequence[str], *, as_share: bool = False) -> Drawing:
    """Draw one cell per op and model; no cell means that the model did not call the op on the host.

    Args:
        frame: columns op, model, klass, value (calls per iteration, or share of time), label.
        ops: order of the rows, classes together.
        models: order of the columns.
        as_share: whether the values are shares of time.
    """
    present = tuple(name for name in CLASSES if (frame["klass"] == name).any())
    strongest = {klass: _strongest(frame.loc[frame["klass"] == klass, "value"], as_share=as_share) for klass in present}
    rows = frame.assign(
        down=_places(frame["op"], ops),
        across=_places(frame["model"], models),
        dark=frame["value"] > frame["klass"].map(strongest) * _LIGHT_UNTIL,
    )
    few = len(models) if len(models) <= _FEW else 0
    upright = len(models) > _UPRIGHT_FROM
    return Drawing(_spec(present, few, upright=upright, numbered=len(frame) <= NUMBERS_UP_TO, as_share=as_share), rows)


def _strongest(values: pd.Series, *, as_share: bool) -> float:
    """Return the value that the scale of `_colour` gives its strongest colour."""
    most = values.max()
    return max(float(most), _least(as_share=as_share)) if most == most else _least(as_share=as_share)  # noqa: PLR0124 - NaN


def _least(*, as_share: bool) -> float:
    """Return the least value that the strongest colour may stand for: one call, or a ten-thousandth of the time."""
    return 1e-4 if as_share else 1.0


def _places(names: pd.Series, order: Sequence[str]) -> pd.Series:
    return names.map({name: place for place, name in enumerate(order)})


@lru_cache(maxsize=16)
def _spec(present: tuple[str, ...], few: int, *, upright: bool, numbered: bool, as_share: bool) -> dict[str, Any]:
    title = "Share of the iteration's time" if as_share else "Calls per iteration"
    layers: list[alt.Chart] = []
    for klass in present:
        base = (
            drawing.points()
            .transform_filter(f"datum.klass === '{klass}'")
            .encode(x=_across(few, upright=upright), y=_down())
        )
        cells = base.mark_rect(cornerRadius=2, cursor="pointer").encode(
            color=_colour(klass, as_share=as_share), tooltip=_tooltip(title)
        )
        layers.append(cells if layers else cells.add_params(_pick()))
        if numbered:
            ink = alt.condition("datum.dark", alt.value("white"), alt.value("#222222"))
            layers.append(base.mark_text(fontSize=11).encode(text="label:N", color=ink))
    apart = alt.Resolve(scale={"color": "independent"})
    return drawing.specified(layered(*layers, height=axes.steps(CELL_PX), resolve=apart)) | {"config": _LEGENDS}


def _pick() -> alt.Parameter:
    return alt.selection_point(name=PICKED, fields=["op", "model"], empty=False)


def _across(few: int, *, upright: bool) -> alt.X:
    names: dict[str, Any] = {"labelAngle": -90 if upright else -35, "labelLimit": 110}
    if few:
        names = {"labelAngle": 0, "labelLimit": alt.ExprRef(f"width / {few}")}
    return alt.X(
        "model:N",
        sort=alt.EncodingSortField(field="across", op="min"),
        scale=alt.Scale(paddingInner=0.06),
        axis=alt.Axis(
            title=None,
            labelFontSize=12,
            **names,
            labelOverlap="parity" if upright else False,  # each column has its name where there is room for it
            ticks=False,
            domain=False,
        ),
    )


def _down() -> alt.Y:
    return alt.Y(
        "op:N",
        sort=alt.EncodingSortField(field="down", op="min"),
        scale=alt.Scale(paddingInner=0.06),
        axis=alt.Axis(
            title=None,
            labelLimit=axes.names_px(180),
            labelFontSize=12,
            labelOverlap=False,
            minExtent=axes.names_px(140),
            ticks=False,
            domain=False,
        ),
    )


def _colour(klass: str, *, as_share: bool) -> alt.Color:
    """Return the colour scale of a class, from 0 to its largest drawn value."""
    ends = alt.DomainUnionWith(unionWith=[0, _least(as_share=as_share)])
    return alt.Color(
        "value:Q",
        scale=alt.Scale(type="linear", range=list(_SCHEMES[klass]), domain=ends, nice=False),
        legend=alt.Legend(
            title=CLASSES[klass][0],
            orient="top",
            gradientLength=90,
            gradientThickness=8,
            tickCount=2,
            titleFontSize=12,
            format=".1%" if as_share else "~r",
        ),
    )


def _tooltip(title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("op:N", title="Op"),
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("label:N", title=title),
    ]
