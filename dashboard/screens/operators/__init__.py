"""Page Operators: how many operators are slower by series, charts of times and rates, and links to other pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data
from dashboard.data.frames import each, sections, with_series
from dashboard.screens.operators import charts, table
from dashboard.ui import answers, downloads, empty, frame
from dashboard.ui.answers import SECTION
from dashboard.view import choosing, links
from dashboard.words import CLASSES, count, escape, listed, ratio, shortened, when

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


KEY = "operator"
"""URL parameter of the chosen operator."""
CHARTS = ("Times", "Against bytes", "Against FLOP")
ALONE = (
    "A ratio of single operators says nothing about a model: there the compiler fuses an operator with its neighbours, "
    "and here it cannot. Where operators lose, the model may win; Speedup has the models."
)


def show(view: View) -> None:
    """Draw the page."""
    unfiltered = data.rows(view.snapshot, "operators", view.selection.unfiltered(), named=None)
    operators = tuple(sorted(unfiltered["operator"].unique(), key=str.lower))
    operator = choosing.requested_name(operators, KEY, "this run has no such operator:")
    rows = _with_series(data.rows(view.snapshot, "operators", view.selection, named=operator))
    sentences = speedup_sentences(view, rows)
    suite = None if unfiltered.empty else "operators"
    frame.head("Operators", view, sentences, len(rows), baseline=True, more="in the table", suite=suite)
    if unfiltered.empty:
        none_here(view)
        return
    with st.container(key="caveat"):
        st.caption(f":material/info: {ALONE}")
    has_times = bool(rows["latency_s"].notna().any())
    if has_times:
        _chart(view, rows)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choosing.one_of("Operator", operators, KEY, "All operators")
    if operator:
        fallbacks(view, operator)
    if rows.empty:
        empty.no_rows(view.selection, "operators")
        return
    table.show(view, rows, operator)
    table.show_of_model(view, rows, operator)


def _with_series(rows: pd.DataFrame) -> pd.DataFrame:
    """Add column `series` without the data type: it is a part of the call here, and each call has its own row."""
    return rows.assign(series=with_series(rows.drop(columns="dtype"))["series"])


def _chart(view: View, rows: pd.DataFrame) -> None:
    """Draw the choice of a chart and the chart."""
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    with controls:
        chart = choosing.segments("Chart", CHARTS, "chart")
    if chart == CHARTS[0]:
        charts.show_times(view, rows, controls)
    else:
        charts.show_rates(rows, "input_bytes" if chart == CHARTS[1] else "flops")


_NAMED = 1
_LAST = "eager"


def speedup_sentences(view: View, rows: pd.DataFrame) -> list[str]:
    """Return a sentence per test, accelerator and series that is compared with the baseline, XLA's first."""
    baseline = view.selection.baseline
    if rows.empty:
        return []
    compared = answers.compared(rows[rows["speedup"].notna()], baseline)
    if compared.empty:
        return [answers.no_speedup(rows, baseline)]
    ranked = [
        (_rank(keys, part), _sentence(keys, part, baseline)) for keys, part in sections(compared, [*SECTION, "series"])
    ]
    return [sentence for _, sentence in sorted(ranked, key=lambda pair: pair[0])]


def _rank(keys: tuple[str, ...], part: pd.DataFrame) -> tuple[bool, bool, tuple[str, ...]]:
    backend = str(part["backend"].iloc[0])
    return not backend.startswith("openxla"), backend == _LAST, keys


def _sentence(keys: tuple[str, ...], part: pd.DataFrame, baseline: str) -> str:
    verdicts = part["verdict"]
    slower = part[verdicts == "slower"].sort_values("speedup")
    worst = [f"{escape(shortened(row.model))} {ratio(row.speedup)}" for row in each(slower.head(_NAMED))]
    more = f" and {len(slower) - _NAMED} more" if len(slower) > _NAMED else ""
    named = f" ({listed(worst)}{more})" if worst else ""
    numbers = {
        "slower": len(slower),
        "faster": int((verdicts == "faster").sum()),
        "same": int((verdicts == "same").sum()),
        "unknown": int(verdicts.isna().sum()),
    }
    counts = answers.fares(keys[2], baseline, numbers, "operator", named, "no verdict")
    return f"In {escape(keys[0])} on {escape(keys[1])} {counts}"


def none_here(view: View) -> None:
    """Draw that the run measured no operators, the commands that do, and a link to the newest run that has some."""
    st.info("This run measured no operators.", icon=":material/info:")
    st.markdown("Measure those of a configuration, or those that a model calls, under every backend:")
    with st.container(width=720):
        downloads.copyable(
            "xlabench run --suite-name operators --config FILE\nxlabench run --ops-of huggingface/BertTiny"
        )
    for row in each(data.rows(view.snapshot, "operator_newest_run", view.selection)):
        operators_text = count(int(row.operators_n), "operator")
        label = f"Show the newest run that did: {escape(row.run_label)} of {when(row.run_started)}, {operators_text}"
        links.link(view, "operators", label, key="with-operators", icon=":material/function:", run=row.run_id)


def fallbacks(view: View, operator: str) -> None:
    """Draw links to the fallback ops of this operator, where results of the run call one."""
    for row in each(data.rows(view.snapshot, "operator_fallbacks", view.selection, op=operator)):
        name, _ = CLASSES.get(row.klass, (row.klass, ""))
        label = f"Fallback op **{escape(row.op)}** ({escape(name.lower())}): {_callers(row.models_n, row.operators_n)}"
        links.link(
            view,
            "fallback-ops",
            label,
            key=f"falls-back-{row.op}",
            icon=":material/call_split:",
            op=row.op,
            **links.ANYWHERE,
        )


def _callers(models: int, operators: int) -> str:
    texts = [count(int(models), "model")] if models else []
    texts += [count(int(operators), "operator")] if operators else []
    return f"called by {' and '.join(texts)} of this run"
