"""Fallback ops: which ops XLA did not lower, in which models, how often; the classes stay apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.charts import heat
from dashboard.rows import sections, with_series
from dashboard.tables import Column
from dashboard.words import CLASSES, count, escape, listed

if TYPE_CHECKING:
    from dashboard.view import View

_OPS_DRAWN = 40
_MODELS_DRAWN = 60
_MODELS_ABREAST = 8


def show(view: View) -> None:
    """Draw the page."""
    ops = with_series(data.fallback_ops(view.snapshot, view.selection))
    coverage = data.rows(view.snapshot, "fallback_coverage", view.selection)
    ran = int(coverage["ran_n"].sum()) if len(coverage) else 0
    frame.head("Fallback ops", view, _sentences(ops, coverage), ran, baseline=False)
    if coverage.empty:
        empty.no_rows(view.selection, "results")
        return
    if len(ops):
        _legend(ops)
        _maps(ops)
    _ranking(view, ops)
    _breaks(view)


def _sentences(ops: pd.DataFrame, coverage: pd.DataFrame) -> list[str]:
    xla = coverage[coverage["backend"].str.startswith("openxla")] if len(coverage) else coverage
    ran = int(xla["ran_n"].sum()) if len(xla) else 0
    if ops.empty:
        if not ran:
            return ["No result of an XLA backend ran in this view, so there is nothing to say about fallback ops"]
        return [f"None of the {count(ran, 'XLA result')} of this view called a fallback op"]
    texts = []
    lower = ops[(ops["klass"] != "host_read") & (ops["calls_per_iteration"] > 0)]
    if len(lower):
        ranked = _ranked(lower)
        top = ranked.iloc[0]
        calls = "1 call" if top["calls"] == 1 else f"up to {top['calls']:.4g} calls"
        texts.append(
            f"**{escape(top['op'])}** is the op to lower first: {calls} per iteration, "
            f"in {count(int(top['models_n']), 'model')}; {count(len(ranked), 'op')} to lower in all"
        )
    models = ops["model"].nunique()
    texts.append(
        f"{count(models, 'model')} of this view called a fallback op or read a value on the host "
        f"({int(xla['with_ops_n'].sum())} of {count(ran, 'XLA result')})"
    )
    return texts


def _legend(ops: pd.DataFrame) -> None:
    """Say what the classes mean."""
    present = [klass for klass in CLASSES if (ops["klass"] == klass).any()]
    for column, klass in zip(st.columns(len(present)), present, strict=True):
        name, meaning = CLASSES[klass]
        column.markdown(f"**{name}** · {count(ops.loc[ops['klass'] == klass, 'op'].nunique(), 'op')}")
        column.caption(meaning)


def _maps(ops: pd.DataFrame) -> None:
    """Draw one heat map per series, test and accelerator, because calls of two series are never added."""
    parts = list(sections(ops, ["series", "test", "accelerator"]))
    abreast = 2 if ops["model"].nunique() <= _MODELS_ABREAST and len(parts) > 1 else 1
    for begin in range(0, len(parts), abreast):
        places = st.columns(abreast, gap="medium")
        for place, (keys, cells) in zip(places, parts[begin : begin + abreast], strict=False):
            with place:
                _map(keys, cells)


def _map(keys: tuple[str, ...], cells: pd.DataFrame) -> None:
    order = {klass: position for position, klass in enumerate(CLASSES)}
    ranked = cells.groupby(["klass", "op"], as_index=False).agg(calls=("calls_per_iteration", "sum"))
    ranked = ranked.assign(place=ranked["klass"].map(order)).sort_values(["place", "calls"], ascending=[True, False])
    ops = list(ranked["op"])[:_OPS_DRAWN]
    models = sorted(cells["model"].unique(), key=str.lower)[:_MODELS_DRAWN]
    shown = cells[cells["op"].isin(ops) & cells["model"].isin(models)]
    points = shown.groupby(["op", "model", "klass"], as_index=False).agg(calls=("calls_per_iteration", "max"))
    st.subheader(answers.section_title(keys), anchor=False)
    st.altair_chart(
        heat.fallback_heat(points.assign(label=[f"{value:.4g}" for value in points["calls"]]), ops, models),
        key="heat-" + "-".join(keys),
        alt=f"Fallback calls per iteration by op and model, {' '.join(keys)}",
    )
    if len(ranked) > len(ops) or cells["model"].nunique() > len(models):
        every = count(cells["model"].nunique(), "model")
        st.caption(
            f"{len(ops)} of {count(len(ranked), 'op')} and {len(models)} of {every}; the CSV of the table has all."
        )


def _ranked(ops: pd.DataFrame) -> pd.DataFrame:
    """Return one row per op and class: the most calls per iteration of any one result, and how many models call it.

    Iterations of different models are no common unit, so calls are never summed over models. A model that calls the
    op only while it compiles does not count.
    """
    about = (
        ops.assign(caller=ops["model"].where(ops["calls_per_iteration"] > 0))
        .groupby(["op", "klass"])
        .agg(
            calls=("calls_per_iteration", "max"),
            models_n=("caller", "nunique"),
            models=("model", lambda names: listed(sorted(set(names)), 5)),
            calls_compile=("calls_compile", "max"),
            time_s=("time_s", "max"),
            time_n=("time_s", "count"),
            records_n=("record_id", "nunique"),
        )
    )
    ranked = about.reset_index()
    return pd.DataFrame(ranked.sort_values(["models_n", "calls"], ascending=False, ignore_index=True))


def _ranking(view: View, ops: pd.DataFrame) -> None:
    if ops.empty:
        return
    st.subheader("Ranking", anchor=False)
    st.caption("Most models first. Host reads are listed, but there is nothing to lower in them.")
    ranked = _ranked(ops)
    ranked["class"] = [CLASSES.get(klass, (klass, ""))[0] for klass in ranked["klass"]]
    columns = {
        "op": Column("Op", pinned=True),
        "class": Column("Class"),
        "models_n": Column("Models (n)", "number", help="Models that call the op in steady iterations."),
        "calls": Column(
            "Calls per iteration (most)",
            "decimal",
            help="Of the result with most; iterations of different models are never summed.",
        ),
        "calls_compile": Column("Calls while compiling (most)", "number", help="Counted apart: no steady cost."),
        "time_s": Column("Time per iteration, ms (most)", "ms", help="From the profile pass; — where there was none."),
        "records_n": Column("Results (n)", "number", help="Results behind the row."),
        "models": Column("In models", width="large"),
    }
    tables.show(
        ranked, columns, key="ops", alt="Fallback ops by number of models", file_name=view.file_name("fallback-ops")
    )


def _breaks(view: View) -> None:
    st.subheader("Graph breaks", anchor=False)
    breaks = with_series(data.graph_breaks(view.snapshot, view.selection))
    if breaks.empty:
        st.markdown("No result of this view has a recorded graph break.")
        return
    columns = {
        "reason": Column("Reason", pinned=True, width="large"),
        "count": Column("Breaks", "number", help="How often dynamo split the graph for this reason in one result."),
        "model": Column("Model"),
        "suite": Column("Suite"),
        "series": Column("Backend"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
    }
    columns = tables.without_constant(columns, breaks, ["suite", "accelerator"])
    tables.show(breaks, columns, key="breaks", alt="Graph breaks", file_name=view.file_name("graph-breaks"))
