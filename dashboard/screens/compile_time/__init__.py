"""Page Compile time: when compiling pays, medians of each measure, one of three charts, and every result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, sections, start_text, with_series
from dashboard.formatting import STATUS_WORDS, count, escape, missing, seconds
from dashboard.jobs import rerun
from dashboard.screens.compile_time import break_even, durations
from dashboard.screens.compile_time.durations import MEASURES, NAMES, is_time, metric_of
from dashboard.ui import answers, empty, frame, opening, tables
from dashboard.ui.answers import SECTION
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, choosing
from store.metrics import Metric

CHARTS = ("Models", "First blocks", "Break-even")
_FIRST_SENTENCES = 2
"""Number of sentences about break-even that precede the medians."""
_TIMES = ("first_iteration_s", "time_to_steady_s")
"""Times that are differences to a steady iteration; noise can make them negative."""


def show(view: View) -> None:
    """Draw the page."""
    rows = with_series(data.rows(view.snapshot, "results", view.selection))
    measure = metric_of(_value("measure"))
    medians, break_evens = median_sentences(view, measure), break_even.sentences(view)
    few = len(break_evens) if _value("compile_chart") == CHARTS[2] else _FIRST_SENTENCES
    frame.head(PAGE.title, view, [*break_evens[:few], *medians, *break_evens[few:]], len(rows), baseline=True)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    with st.container(key="medians-of-all"):
        _show_medians(view)
        if bool((rows[[*_TIMES]] < 0).any(axis=None)):
            st.caption("A time below 0 is noise: the first blocks took no longer than steady ones.")
        started = rows["start"].dropna()
        apart = int((started == "interpreter").sum())
        if 0 < apart < len(started):
            st.caption(
                f"The processes of {count(apart, 'result')} started in a new interpreter, and those of the others by a "
                "fork: their compile times are not comparable. A median is over those that started as most of its "
                "row did."
            )
    parts = durations.parts(rows, measure)
    chart, charted = _controls(list(parts))
    if chart == CHARTS[1]:
        durations.show_first_blocks(view)
    elif chart == CHARTS[2]:
        break_even.show(view)
    else:
        durations.show_models(view, rows, measure, {keys: parts[keys] for keys in charted})
    if chart != CHARTS[1]:
        with choosing.choices_of("first-blocks", drawn=False):
            durations.choose_model(rows)
    _show_table(view, rows)


def _controls(parts: Sequence[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]]:
    """Draw the choices of the chart and, for chart Models, of the measure and the parts; return chart and parts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chart = choosing.segments("Chart", CHARTS, "compile_chart")
        with choosing.choices_of("models", drawn=chart == CHARTS[0]):
            choosing.segments("Measure", list(MEASURES), "measure")
            return chart, choosing.charts_of(answers.SUITES, parts, "compile_section") if parts else []


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
    beyond = "minus a steady iteration, " if measure.name == "first_iteration_s" else ""
    how = f"{beyond}median over models" if is_time(measure) else "largest number of a model"
    texts = []
    for keys, part in sections(with_value, SECTION):
        ordered = iter_rows(part.sort_values(measure.name, ascending=False))
        words = ", ".join(f"**{escape(row.series)}** {_median_value(row, measure)}" for row in ordered)
        texts.append(f"{measure.label} ({how}) in {escape(' on '.join(keys))}: {words}")
    return texts


def _show_medians(view: View) -> None:
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
        "graphs_number": measured("graphs_number", "Most graphs", note="The largest number of graphs of a model."),
        "start": TableColumn(
            "Processes", help="How the processes behind the medians started: others are not comparable with them."
        ),
        "without_n": TableColumn("Did not run", "number", help="Results without a number."),
        "why": TableColumn("Most frequent reason"),
        **{name: TableColumn(name, filed=True) for name in ("main_reason", "main_reason_n")},
    }
    if not any(map(start_text, iter_rows(rows))):
        del columns["start"]
    without_value = [name for name in _SHOWN_FIRST if rows[name].isna().all()]
    counts = [f"{name.removesuffix('_s')}_n" for name in without_value]
    reasons = ["without_n", "why"] if len(without_value) < len(_SHOWN_FIRST) else []
    texts = {"why": map(_main_reason, iter_rows(rows)), "start": map(start_text, iter_rows(rows))}
    shown = rows.assign(**{name: pd.Series(each, index=rows.index, dtype=object) for name, each in texts.items()})
    tables.show(
        shown,
        tables.without_constant(columns, shown, ["accelerator", "cache", *reasons, *without_value, *counts]),
        data.source(view, "compile-medians"),
        key="medians",
        alt="Median compile times by test and backend",
    )
    if len(without_value) == len(_SHOWN_FIRST):
        return
    st.caption(
        "Medians are over different models where n differs; the measures overlap, so they are never added. "
        "A dash means that no model of the row has the number: eager compiles nothing, some backends count no graphs."
    )


def _main_reason(row: Any) -> str | None:
    """Return the most frequent reason, and how many have it of several without a number."""
    if missing(row.main_reason) or row.main_reason_n == row.without_n:
        return None if missing(row.main_reason) else str(row.main_reason)
    return f"{int(row.main_reason_n)} of {int(row.without_n)}: {row.main_reason}"


def _median_value(row: Any, measure: Metric) -> str:
    value = getattr(row, measure.name)
    if not is_time(measure):
        return f"{int(value)} (n\u00a0=\u00a0{int(row.graphs_n)})"
    number = getattr(row, f"{measure.name.removesuffix('_s')}_n")
    warm = "" if missing(row.cache) or row.cache == "cold" or "cache=" in row.series else f" {escape(row.cache)}"
    noise = "about 0 s" if value <= 0 else seconds(value)
    start = start_text(row)
    return f"{noise}{warm} (n\u00a0=\u00a0{int(number)}{f', {start}' if start else ''})"


_SHOWN_FIRST = ("first_iteration_s", "compiler_time_s", "time_to_steady_s", "graphs_number")
"""Numbers that are not hidden at first: with all of them the table would be wider than a window of 1440 pixels."""


def _show_table(view: View, rows: pd.DataFrame) -> None:
    st.subheader("All results", anchor=False)
    reasons: list[Any] = [_why(row) for row in iter_rows(rows)]
    shown = rows.assign(status=[STATUS_WORDS.get(status, status) for status in rows["status"]], why=reasons)
    selected = opening.table(
        view,
        shown,
        _columns(),
        data.source(view, "compile-time", "results"),
        key="compile",
        alt="Compile times of each result",
        omitted_if_constant=("accelerator", "suite", "test", "cache", "start", "status"),
    )
    rerun.offer(view, rerun.of_rows(rows), key="compile", selected=selected)


def _why(row: Any) -> str | None:
    """Return why a compile number is missing."""
    if isinstance(row.reason, str) and row.reason:
        return row.reason if row.ran else f"{STATUS_WORDS.get(row.status, row.status)}: {row.reason}"
    if row.backend == "eager":
        return "eager compiles nothing"
    words = {"compiler_time_s": "no compile time reported", "graphs_number": "graphs not counted"}
    return "; ".join(text for name, text in words.items() if pd.isna(getattr(row, name))) or None


def _columns() -> dict[str, TableColumn]:
    return {
        **naming("model", "series", "suite", "test", "accelerator", pinned=("model", "series")),
        **{name: measured(name, hidden=name not in _SHOWN_FIRST) for name in NAMES},
        "compiler_source": TableColumn("Reported by", help="The compiler that reported the time.", hidden=True),
        "cache": TableColumn(
            "Cache", help="cold: each compile cache was empty; warm: an earlier process had filled it."
        ),
        "start": TableColumn(
            "Start", help="fork or interpreter: compile times of the two are not comparable.", hidden=True
        ),
        "runtime_start_s": measured("runtime_start_s", hidden=True),
        "status": TableColumn("Status", hidden=True),
        "why": TableColumn("Why missing"),
    }


PAGE = PageSpec(place=30, title="Compile time", url_path="compile-time", icon=":material/timer:", show=show)
