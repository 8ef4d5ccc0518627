"""One op: what it is, which models call it where and how often, and over the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, downloads, drafts, rerun
from dashboard.answers import SECTION
from dashboard.charts import op_lines
from dashboard.rows import each, sections, with_series
from dashboard.screens import opening
from dashboard.screens.fallback_ops import payoffs
from dashboard.screens.fallback_ops.reads import sites
from dashboard.screens.operators import other_pages
from dashboard.tables import Column, measured
from dashboard.words import CLASSES, DASH, count, escape, listed, missing, when
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

MOST_RUNS = 60
_NAMED = 4


def sentences(op: str, calls: pd.DataFrame) -> list[str]:
    """Return what is said first of an op; `calls` are its own."""
    if calls.empty:
        return [f"No result of this view calls **{escape(op)}**; its history is below"]
    name, meaning = CLASSES.get(str(calls["klass"].iloc[0]), (str(calls["klass"].iloc[0]), ""))
    steady = _models(calls[calls["steady"].astype(bool)])
    alone = _models(calls[calls["alone"].astype(bool)])
    texts = [
        f"**{escape(op)}** ({escape(name.lower())}) is called in steady iterations of {count(len(steady), 'model')}"
        + (f"; it alone keeps {count(len(alone), 'model')} from running without fallback" if alone else "")
    ]
    if alone:
        texts.append(f"Blocked by it alone: {listed([escape(model) for model in alone], _NAMED)}")
    return [*texts, meaning] if meaning else texts


def show(view: View, op: str, calls: pd.DataFrame) -> None:
    """Draw the models of the op, then its history."""
    other_pages.measured_alone(view, op)
    if len(calls):
        drafts.of_op(view, op)
        _table(view, op, calls)
        payoffs.show(view, op)
    _history(view, op)


def _models(calls: pd.DataFrame) -> list[str]:
    return [str(model) for _, model in calls[["suite", "model"]].drop_duplicates().itertuples(index=False)]


def _table(view: View, op: str, calls: pd.DataFrame) -> None:
    st.subheader("Models", anchor=False)
    listed_calls = calls.assign(
        call_sites=[sites(found) for found in calls["call_sites"]],
        alone=["yes" if alone else "no" for alone in calls["alone"]],
    ).sort_values(["time_share", "calls_per_iteration"], ascending=False, na_position="last")
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "series": Column("Backend"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "calls_per_iteration": Column("Calls per iteration", "decimal", help=metric("calls_per_iteration").definition),
        "calls_compile": measured("calls_compile", "Calls while compiling"),
        "time_s": measured("time_s"),
        "time_share": measured("time_share", "Share of time"),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "alone": Column("The only op", help="Whether no other fallback op is called in steady iterations."),
        "call_sites": Column("Called at", help="Place in the program, as found by one more process."),
    }
    opening.table(
        view,
        listed_calls,
        columns,
        key="op-models",
        alt=f"Results that call {op}",
        file_name="op-models",
        sql=data.statement("fallback_calls", view.selection, op=op, klass=None),
        told_once=("suite", "accelerator"),
    )
    rerun.offer(view, rerun.of_rows(calls), key="op")


def _history(view: View, op: str) -> None:
    st.subheader("Over the runs", anchor=False)
    asked = {"op": op, "most_runs": MOST_RUNS}
    history = with_series(data.rows(view.snapshot, "op_history", view.selection, **asked))
    if history.empty:
        st.markdown("No run of the store has a result of an XLA backend that passes the filters.")
        return
    st.caption(
        f"Models that call it, of those that ran under the backend; the newest {count(MOST_RUNS, 'run')} at most. "
        "Runs of different plans have different models: the grey step is how many ran."
    )
    for keys, part in sections(history, SECTION):
        st.markdown(f"**{answers.section_title(keys)}**")
        st.altair_chart(
            op_lines.models_over_runs(_points(part)),
            key="op-history-" + "-".join(keys),
            alt=f"Models that call {op} by run, {' '.join(keys)}",
        )
    downloads.below(
        history, "op-history", view.file_name("op-history"), data.statement("op_history", view.selection, **asked)
    )


def _points(part: pd.DataFrame) -> pd.DataFrame:
    every = list(each(part))
    return pd.DataFrame(
        {
            "place": [f"{row.run_started:%Y-%m-%d %H:%M:%S} {row.run_id}" for row in every],
            "run": [f"{row.run_label} · {when(row.run_started)}" for row in every],
            "versions": [f"torch {row.torch or 'unknown'}, torch_xla {row.torch_xla or 'unknown'}" for row in every],
            "variant": part["series"],
            "backend": part["backend"],
            "models": part["models_n"],
            "ran": part["ran_n"],
            "label": [f"{int(row.models_n)} of {int(row.ran_n)}" for row in every],
            "calls": [DASH if missing(row.calls_per_iteration) else f"{row.calls_per_iteration:.4g}" for row in every],
        }
    )
