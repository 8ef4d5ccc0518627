"""Page Speedup: which backends are slower than the baseline, one of three charts, and a table of every result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, sections, unit, with_series, with_suites
from dashboard.formatting import STATUS_WORDS, TIMES, escape, interval, listed, missing, ratio, seconds
from dashboard.jobs import rerun
from dashboard.screens.speedup import ratios
from dashboard.ui import answers, charts, doubts, empty, frame, opening, tables
from dashboard.ui.answers import SECTION
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.ui.verdicts import LOOKS
from dashboard.view import View, choosing, links
from store.charts import axes, drawing, palette
from store.charts.drawing import layered, legend
from store.identity import XLA
from store.metrics import metric

CHARTS = ("Models", "Distribution", "A against B")
ORDERS = ("Lowest first", "Highest first", "Model name", "Longest latency first")


def show(view: View) -> None:
    """Draw the page."""
    rows = doubts.with_warnings(view, with_series(data.rows(view.snapshot, "speedups", view.selection)))
    frame.head(PAGE.title, view, _sentences(view, rows), len(rows), baseline=True, more="in the charts")
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    parts = ratios.parts(ratios.over_baseline(rows, view.selection.baseline))
    chart, order, charted = _controls(list(parts)) if parts else ("", ORDERS[0], [])
    ordered = ratios.sorted_rows(rows, order)
    if chart == CHARTS[0]:
        ratios.show_models(view, ordered, charted)
    elif chart == CHARTS[1]:
        ratios.show_distribution(view)
    elif chart == CHARTS[2]:
        _show_against(view, rows)
    if chart in CHARTS[:2]:
        with choosing.choices_of("against", drawn=False):
            _choose(view, rows)
    _show_table(view, ordered)


def _controls(parts: Sequence[tuple[str, ...]]) -> tuple[str, str, list[tuple[str, ...]]]:
    """Draw the choices of chart, order of models and charted part; return them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chart, order = (
            choosing.segments("Chart", CHARTS, "chart"),
            choosing.segments("Order of models", ORDERS, "order"),
        )
        with choosing.choices_of("models", drawn=chart == CHARTS[0]):
            return chart, order, choosing.charts_of(answers.SUITES, parts, "section")


def _sentences(view: View, rows: pd.DataFrame) -> list[str]:
    """Return a sentence of the first geometric mean, those of slower models, then those of the other means."""
    baseline = view.selection.baseline
    means = answers.geomean_sentences(data.rows(view.snapshot, "geomeans", view.selection), baseline, rows)
    if not means and len(rows):
        return [answers.no_speedup(rows, baseline)]
    return [*means[:1], *slower_sentences(rows, baseline), *means[1:]]


_NAMED = 3


def slower_sentences(rows: pd.DataFrame, baseline: str) -> list[str]:
    """Return one sentence for each test, accelerator and XLA series; for every series where none is of XLA.

    This counts the rows of the page's table: another query would take a fifth of the time that a changed filter takes.

    Args:
        rows: of `speedups`, with `series`; a model that several suites have is named with its suite.
        baseline: backend that the speedups are over; its own results are left out.
    """
    results: dict[tuple[str, str, str], list[Any]] = {}
    for row in iter_rows(with_suites(rows)):
        if math.isfinite(row.speedup) and row.record_id != row.baseline_record_id:
            results.setdefault((row.test, row.accelerator, row.series), []).append(row)
    xla = {keys: part for keys, part in results.items() if part[0].backend.startswith(XLA)}
    return [_slower_sentence(keys, part, baseline) for keys, part in sorted((xla or results).items())]


def _slower_sentence(keys: tuple[str, str, str], part: list[Any], baseline: str) -> str:
    """Return on how many models the 95 % interval is below 1, above 1, or contains 1, and which models are slower."""
    test, accelerator, series = keys
    slower = sorted((row.speedup, row.model) for row in part if row.speedup_high < 1)
    worst = [f"{escape(model)} {ratio(speedup)}" for speedup, model in slower]
    named = f" ({listed(worst, _NAMED)})" if worst else ""
    numbers = {
        "slower": len(slower),
        "faster": sum(row.speedup_low > 1 for row in part),
        "same": sum(row.speedup_low <= 1 <= row.speedup_high for row in part),
        "unknown": sum(math.isnan(row.speedup_low) for row in part),
    }
    counts = answers.outcome_counts(series, baseline, numbers, unit(row.suite for row in part), named)
    return f"In {escape(f'{test} on {accelerator}')} {counts}"


_BASELINE = "the baseline"
_CROSS = "cross-device: a ratio without interval and verdict"
_NUMBERS = ("speedup", "interval", "latency_s", "steady_n", "baseline_latency_s", "throughput_per_s")
"""Columns that are dashes where nothing ran; without them the reasons are seen."""


def _show_table(view: View, rows: pd.DataFrame) -> None:
    st.subheader("All results", anchor=False)
    notes: list[Any] = [_note(row) or None for row in iter_rows(rows)]
    reruns = rerun.newest(view)
    outcomes: list[Any] = [rerun.cell(reruns.get(row.series_id)) for row in iter_rows(rows)]
    listed = _with_history(view, rows).assign(
        rerun=outcomes,
        status=[STATUS_WORDS.get(status, status) for status in rows["status"]],
        interval=[interval(row.speedup_low, row.speedup_high) for row in iter_rows(rows)],
        speedup_reason=notes,
    )
    constant = ("speedup_reason",) if rows["latency_s"].notna().any() else _NUMBERS
    selected = opening.table(
        view,
        listed,
        _columns(view),
        data.source(view, "speedup", "speedups"),
        key="speedups",
        alt="Speedup, latency and throughput of each result",
        omitted_if_constant=("dtype", "accelerator", "suite", "test", "rerun", *constant),
    )
    opened = tables.clicked("speedups", "rerun")
    if opened is not None and opened < len(rows) and (again := reruns.get(rows.iloc[opened]["series_id"])):
        links.go(view, "model", run=again.run_id, suite=again.suite, model=again.model, test=again.test)
    rerun.show_runs(view, set(rows["series_id"]), "speedup")
    rerun.offer(view, rerun.of_rows(rows), key="speedup", selected=selected)


def _with_history(view: View, rows: pd.DataFrame) -> pd.DataFrame:
    """Add a column with the latencies of the last runs of each series that measured it alike, if there are several."""
    runs = data.last_runs(view.snapshot, view.selection)["runs"]
    known = data.rows(view.snapshot, "latency_history", view.selection, runs=runs)
    lines = {row.series_id: list(row.trend) for row in iter_rows(known)}
    trends: list[Any] = [lines.get(row.series_id) for row in iter_rows(rows)]
    return rows.assign(trend=trends) if any(trends) else rows


def _note(row: Any) -> str:
    if row.speedup == 1 and row.record_id == row.baseline_record_id:
        return _BASELINE
    if row.cross_device and missing(row.speedup_reason):
        return _CROSS
    return "" if missing(row.speedup_reason) else str(row.speedup_reason)


def _columns(view: View) -> dict[str, TableColumn]:
    return {
        **naming("model", "series", "test", "suite", "accelerator", pinned=("model", "series")),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": tables.interval_column("speedup"),
        "rerun": rerun.COLUMN,
        "latency_s": measured("latency_s"),
        "steady_n": TableColumn("n", "number", help=metric("steady_n").definition),
        "baseline_latency_s": measured("baseline_latency_s", "Baseline", f"Baseline: {view.baseline_text}."),
        "baseline_steady_n": TableColumn(
            "n, baseline", "number", help=metric("baseline_steady_n").definition, hidden=True
        ),
        "trend": TableColumn(
            "Last runs",
            "line",
            help="Latency in the last runs that measured the series alike, the oldest first; no wrong answers.",
        ),
        "throughput_per_s": TableColumn(
            "Samples/s", "decimal", help=metric("throughput_per_s").definition, hidden=True
        ),
        "batch_size": TableColumn("Batch size", "number", help=metric("batch_size").definition, hidden=True),
        "status": TableColumn("Status", hidden=True),
        "speedup_reason": TableColumn("Note", help="Why there is no speedup, or what to know about it."),
        "dtype": TableColumn("Dtype"),
    }


BY = ("Latency", "Speedup")
_MS_PER_S = 1000


def _show_against(view: View, rows: pd.DataFrame) -> None:
    """Draw the choice of A and B, one chart per test and accelerator, and the pairs."""
    pair = _choose(view, rows)
    if pair is None:
        st.info("This view has only one backend, so there is nothing to compare it with.", icon=":material/info:")
        return
    a, b, _ = pair
    pairs = data.rows(view.snapshot, "against", view.selection, series_a=a, series_b=b)
    for place, (keys, part) in charts.abreast(sections(pairs, SECTION)):
        with place:
            _chart(view, keys, part, pair)
    _table(view, pairs, a, b)


def _chart(view: View, keys: tuple[str, ...], part: pd.DataFrame, pair: tuple[str, str, str]) -> None:
    a, b, by = pair
    points = _points(part, a, b, by)
    st.subheader(answers.section_title(keys), anchor=False)
    if points.empty:
        st.caption("No model has a number on both sides; the table says why.")
        return
    selected = st.altair_chart(
        _against_spec(points, a, b, by),
        key="against-" + "-".join(keys),
        on_select="rerun",
        alt=f"{by} of {b} against {a} by model, {' '.join(keys)}",
    )
    charts.open_model(view, selected)


def _choose(view: View, rows: pd.DataFrame) -> tuple[str, str, str] | None:
    """Draw the boxes of A and B, and of the number; B is a backend of the view, A may also be the baseline."""
    variants = sorted(rows["variant"].unique(), key=_rank)
    firsts = list(dict.fromkeys([view.selection.baseline, *variants]))
    preferred = [name for name in variants if name != view.selection.baseline] or variants
    if len(firsts) < 2 or not preferred:  # noqa: PLR2004 - a pair
        return None
    left, middle, right = st.columns([2, 2, 1])
    choosing.notice_unknown("A", firsts, "series_a")
    choosing.notice_unknown("B", variants, "series_b")
    a = left.selectbox("A", firsts, key="series_a", bind="query-params")
    offered = [name for name in [*preferred, *variants] if name != a]
    b = middle.selectbox("B", list(dict.fromkeys(offered)), key="series_b", bind="query-params")
    with right:
        by = choosing.segments("By", BY, "against_by")
    return str(a), str(b), by


def _rank(variant: str) -> tuple[int, str]:
    """Return the sort key of a backend: XLA's first, because they are compared most often, eager last."""
    return (0 if variant.startswith(XLA) else 2 if variant.startswith("eager") else 1, variant)


def _points(part: pd.DataFrame, a: str, b: str, by: str) -> pd.DataFrame:
    columns = ("latency_a_s", "latency_b_s") if by == BY[0] else ("speedup_a", "speedup_b")
    scale = _MS_PER_S if by == BY[0] else 1
    known = part[part["ratio"].notna() & (part[columns[0]] > 0) & (part[columns[1]] > 0)]
    return pd.DataFrame(
        {
            "model": known["model"],
            "suite": known["suite"],
            "test": known["test"],
            "a": known[columns[0]] * scale,
            "b": known[columns[1]] * scale,
            "outcome": [_outcome(row, a, b) for row in iter_rows(known)],
            "label": [f"{ratio(row.ratio)} ({interval(row.ratio_low, row.ratio_high)})" for row in iter_rows(known)],
            "of_a": [seconds(value) for value in known["latency_a_s"]],
            "of_b": [seconds(value) for value in known["latency_b_s"]],
            "n": [f"{int(row.n_b)} against {int(row.n_a)} samples" for row in iter_rows(known)],
        }
    )


def _outcome(row: Any, a: str, b: str) -> str:
    """Return which backend is faster, by the side of 1 on which the interval is."""
    if missing(row.ratio_low):
        return UNKNOWN
    if row.ratio_low > 1:
        return f"{b} faster"
    return f"{a} faster" if row.ratio_high < 1 else BETWEEN


def _table(view: View, pairs: pd.DataFrame, a: str, b: str) -> None:
    shown = pairs.assign(interval=[interval(row.ratio_low, row.ratio_high) for row in iter_rows(pairs)])
    latency = metric("latency_s").definition
    columns = {
        **naming("model", "suite", "test", "accelerator"),
        "latency_a_s": TableColumn(f"A: {a}, ms", "ms", help=latency),
        "n_a": TableColumn("n of A", "number", help=metric("steady_n").definition),
        "latency_b_s": TableColumn(f"B: {b}, ms", "ms", help=latency),
        "n_b": TableColumn("n of B", "number", help=metric("steady_n").definition),
        "ratio": TableColumn("A / B", "ratio", help="Latency of A over latency of B: above 1, B is faster."),
        "interval": tables.interval_column("ratio"),
        "reason": TableColumn("Why missing"),
    }
    opening.table(
        view,
        shown,
        columns,
        data.source(view, "a-against-b", "against", series_a=a, series_b=b),
        key="against",
        alt=f"{b} against {a} by model",
        omitted_if_constant=("accelerator", "suite", "reason"),
    )


BETWEEN = "no difference shown"
UNKNOWN = "no interval"
HEIGHT_PX = 440


def _against_spec(frame: pd.DataFrame, a: str, b: str, by: str) -> alt.LayerChart:
    """Draw one mark per model; its shape and colour say on which side of 1 the interval of the ratio lies.

    Args:
        frame: columns model, suite, test, a, b, outcome, label, of_a, of_b, n.
        a: name of the backend across.
        b: name of the backend up.
        by: `Latency` (milliseconds) or `Speedup`.
    """
    low, high = axes.log_domain(pd.concat([frame["a"], frame["b"]]))
    labels = axes.NUMBERS + (" + ' ms'" if by == "Latency" else f" + '{TIMES}'")
    better = "below the diagonal" if by == "Latency" else "above the diagonal"
    across = alt.X(
        "a:Q",
        scale=_against_scale(low, high),
        axis=_against_axis((low, high), f"{a}: {by.lower()} (log scale)", labels),
    )
    up = alt.Y(
        "b:Q",
        scale=_against_scale(low, high),
        axis=_against_axis((low, high), f"{b}: {by.lower()} ({better}, it is faster)", labels),
    )
    ends = pd.DataFrame({"a": [low, high], "b": [low, high]})
    diagonal = alt.Chart(ends).mark_line(color=palette.NEUTRAL, strokeWidth=1.5).encode(x=across, y=up)
    colour, shape = _outcomes(a, b, set(frame["outcome"]))
    marks = (
        alt.Chart(frame)
        .mark_point(size=85, filled=True, opacity=0.9)
        .encode(x=across, y=up, color=colour, shape=shape, tooltip=_against_tooltip(a, b))
        .add_params(axes.pick())
    )
    return layered(diagonal, marks, height=HEIGHT_PX)


def _outcomes(a: str, b: str, present: set[str]) -> tuple[alt.Color, alt.Shape]:
    """Return colour and shape of the outcomes that occur; each outcome always has the same."""
    looks = {
        f"{b} faster": (LOOKS["faster"].colour, "triangle-up"),
        BETWEEN: (LOOKS["same"].colour, "circle"),
        f"{a} faster": (LOOKS["slower"].colour, "triangle-down"),
        UNKNOWN: (LOOKS["not comparable"].colour, "cross"),
    }
    domain = [outcome for outcome in looks if outcome in present]
    colours, shapes = ([looks[outcome][part] for outcome in domain] for part in (0, 1))
    shown = legend(domain, symbolSize=90)
    return (
        alt.Color("outcome:N", scale=alt.Scale(domain=domain, range=colours), legend=shown),
        alt.Shape(
            "outcome:N",
            scale=alt.Scale(domain=domain, range=shapes),
            legend=shown,
        ),
    )


def _against_scale(low: float, high: float) -> alt.Scale:
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _against_axis(domain: tuple[float, float], title: str, labels: str) -> alt.Axis:
    return alt.Axis(title=title, values=axes.log_ticks(domain), labelExpr=labels, labelFontSize=12, titleFontSize=12)


def _against_tooltip(a: str, b: str) -> list[alt.Tooltip]:
    return drawing.tooltip(
        model="Model",
        suite="Suite",
        label=f"{a} / {b} (95 %)",
        of_a=f"Latency of {a}",
        of_b=f"Latency of {b}",
        n="n",
        outcome="Interval says",
    )


PAGE = PageSpec(place=20, title="Speedup", url_path="speedup", icon=":material/speed:", show=show)
