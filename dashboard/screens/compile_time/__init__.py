"""Page Compile time: when compiling pays, medians of each measure, one of three charts, and every result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import answers, choosing, data, empty, frame, opening, rerun, tables
from dashboard.answers import SECTION
from dashboard.rows import each, sections, with_series
from dashboard.screens.compile_time import break_even, durations
from dashboard.screens.compile_time.durations import MEASURES, NAMES, is_time, metric_of
from dashboard.tables import TableColumn, measured, naming
from dashboard.words import STATUS_WORDS, escape, missing, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.view import View
    from store.metrics import Metric


CHARTS = ("Models", "First blocks", "Break-even")
_FIRST_SENTENCES = 2
"""Number of sentences about break-even that precede the medians."""
_TIMES = ("first_iteration_s", "time_to_steady_s")
"""Times that are differences to a steady iteration; noise can make them negative."""


def show(view: View) -> None:
    """Draw the page."""
    rows = with_series(data.results(view.snapshot, view.selection))
    measure = metric_of(_value("measure"))
    medians, break_evens = median_sentences(view, measure), break_even.sentences(view)
    few = len(break_evens) if _value("chart") == CHARTS[2] else _FIRST_SENTENCES
    frame.head("Compile time", view, [*break_evens[:few], *medians, *break_evens[few:]], len(rows), baseline=True)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    with st.container(key="medians-of-all"):
        _show_medians(view)
        if bool((rows[[*_TIMES]] < 0).any(axis=None)):
            st.caption("A time below 0 is noise: the first blocks took no longer than steady ones.")
    parts = durations.parts(rows, measure)
    chart, charted = _controls(list(parts))
    if chart == CHARTS[1]:
        durations.show_first_blocks(view)
    elif chart == CHARTS[2]:
        break_even.show(view)
    else:
        durations.show_models(view, rows, measure, {keys: parts[keys] for keys in charted})
    _show_table(view, rows)


def _controls(parts: Sequence[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]]:
    """Draw the choices of the chart and, for chart Models, of the measure and the parts; return chart and parts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chart = choosing.segments("Chart", CHARTS, "chart")
        if chart != CHARTS[0]:
            return chart, []
        choosing.segments("Measure", list(MEASURES), "measure")
        return chart, choosing.charts_of(answers.SUITES, parts) if parts else []


def _value(key: str) -> str | None:
    """Return the value of a widget that is drawn later on the page than what depends on it."""
    return st.session_state.get(key) or st.query_params.get(key)


_OVER = "Median over models."


def median_sentences(view: View, measure: Metric) -> list[str]:
    """Return one sentence per test and accelerator, the longest series first."""
    medians = with_series(data.rows(view.snapshot, "compile_medians", view.selection))
    with_value = medians[medians[measure.name].notna()] if len(medians) else medians
    if with_value.empty:
        return [f"No result of this view has a value for “{measure.label}”"]
    beyond = "beyond a steady one, " if measure.name == "first_iteration_s" else ""
    how = f"{beyond}median over models" if is_time(measure) else "most of any model"
    texts = []
    for keys, part in sections(with_value, SECTION):
        ordered = each(part.sort_values(measure.name, ascending=False))
        words = ", ".join(f"**{escape(row.series)}** {_median_value(row, measure)}" for row in ordered)
        texts.append(f"{measure.label} ({how}) in {escape(' on '.join(keys))}: {words}")
    return texts


def _show_medians(view: View) -> None:
    """Draw the table."""
    rows = with_series(data.rows(view.snapshot, "compile_medians", view.selection))
    columns = {
        **naming("test", "accelerator", "series", pinned=("series",)),
        "cache": TableColumn("Cache", help="cold: every compile cache was empty; warm: filled by an earlier process."),
        "first_iteration_s": measured("first_iteration_s", note=_OVER),
        "first_iteration_n": TableColumn("n", "number", help="Models behind the median of the first iteration."),
        "compiler_time_s": measured("compiler_time_s", note=_OVER),
        "compiler_time_n": TableColumn("n, compiler", "number", help="Models behind the median of the compiler time."),
        "time_to_steady_s": measured("time_to_steady_s", note=_OVER),
        "time_to_steady_n": TableColumn("n, steady", "number", help="Models behind the median of the time to steady."),
        "graphs_number": measured("graphs_number", "Graphs (most)", note="Those of the model with most."),
        "without_n": TableColumn("Did not run", "number", help="Results without a number."),
        "main_reason": TableColumn("Most frequent reason"),
    }
    tables.show(
        rows,
        tables.without_constant(columns, rows, ["accelerator", "cache", "without_n", "main_reason"]),
        key="medians",
        alt="Median compile times by test and backend",
        file_name=view.file_name("compile-medians"),
        sql=data.statement("compile_medians", view.selection),
    )
    st.caption(
        "Medians are over different models where n differs; the measures overlap, so they are never added. "
        "A dash: no model of the row has the number, as eager compiles nothing and not every backend counts graphs."
    )


def _median_value(row: Any, measure: Metric) -> str:
    value = getattr(row, measure.name)
    if not is_time(measure):
        return f"{int(value)} (n = {int(row.graphs_n)})"
    number = getattr(row, f"{measure.name.removesuffix('_s')}_n")
    warm = "" if missing(row.cache) or row.cache == "cold" or "cache=" in row.series else f" {escape(row.cache)}"
    noise = "about 0 s" if value <= 0 else seconds(value)
    return f"{noise}{warm} (n = {int(number)})"


_SHOWN_FIRST = ("first_iteration_s", "compiler_time_s", "time_to_steady_s", "graphs_number")
"""Numbers that are not hidden at first: with all of them the table would be wider than a window of 1440 pixels."""


def _show_table(view: View, rows: pd.DataFrame) -> None:
    """Draw the table."""
    st.subheader("All results", anchor=False)
    listed = rows.copy()
    listed["status"] = [STATUS_WORDS.get(status, status) for status in rows["status"]]
    reasons: list[Any] = [_why(row) for row in each(rows)]
    listed["why"] = reasons
    selected = opening.table(
        view,
        listed,
        _columns(),
        key="compile",
        alt="Compile times of each result",
        file_name="compile-time",
        sql=data.statement("results", view.selection),
        told_once=("accelerator", "suite", "start", "status"),
    )
    rerun.offer(view, rerun.of_rows(rows), key="compile", selected=selected)


def _why(row: Any) -> str | None:
    """Return why a compile number is missing."""
    if isinstance(row.reason, str) and row.reason:
        return row.reason
    if row.backend == "eager":
        return "eager does not compile"
    words = {"compiler_time_s": "the backend reports no compile time", "graphs_number": "it does not count graphs"}
    return "; ".join(text for name, text in words.items() if pd.isna(getattr(row, name))) or None


def _columns() -> dict[str, TableColumn]:
    return {
        **naming("model", "series", "suite", "test", "accelerator", pinned=("model", "series")),
        **{name: measured(name, hidden=name not in _SHOWN_FIRST) for name in NAMES},
        "compiler_source": TableColumn(
            "Reported by", help="Which compiler's clock the reported time is from.", hidden=True
        ),
        "cache": TableColumn(
            "Cache", help="cold: each compile cache was empty; warm: an earlier process had filled it."
        ),
        "start": TableColumn(
            "Start", help="fork or interpreter: compile times of the two are not comparable.", hidden=True
        ),
        "runtime_start_s": measured("runtime_start_s", hidden=True),
        "status": TableColumn("Status"),
        "why": TableColumn("Why missing"),
    }
