"""Models of page Overview: those that need attention, and the heat map of all; a name or a cell opens its model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import SYNTHETIC, each, unit, with_series
from dashboard.jobs import rerun
from dashboard.screens.overview.matrix import order_of_backends
from dashboard.ui import answers, charts, doubts, opening, tables
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, links
from dashboard.words import DASH, STATUS_WORDS, count, escape, interval, listed, missing, ratio, shortened, when
from store.charts import axes, drawing
from store.charts.drawing import Drawing, layered
from store.stats.geomean import Ratio

_SLOWER = "slower than baseline"
_PAGES = {"slower than baseline": "speedup"}
"""Finding → the page that shows it; page Runs shows the others."""
_NAMED = 3


def show_attention(view: View, base: dict[str, Any] | None, slower: int) -> None:
    """Draw the short list: one line per kind of finding, each a link to the page that shows it.

    Args:
        view: what is shown.
        base: row of the run before, None where there is none.
        slower: number of series whose own time became longer since that run.
    """
    findings = data.rows(view.snapshot, "attention", view.selection)
    st.subheader("Needs attention", anchor=False)
    if findings.empty and _not_lowered(view).empty and not slower:
        st.markdown(
            "Nothing: every planned experiment has a result, and no compiled result is slower than the baseline."
        )
    with st.container(gap=None, key="attention-list"):
        for finding in dict.fromkeys(findings["finding"]):
            part = findings[findings["finding"] == finding]
            states = _states(view) if finding == "failed" else ""
            headline = _affected_results(len(part), finding, view.selection.baseline)
            _line(view, _PAGES.get(finding, "runs"), finding, f"**{headline}**{states} · {_named(part)}")
        _fallbacks(view)
        if base is not None:
            name = f"{escape(shortened(base['run_label'] or base['run_id'][:8]))} of {when(base['run_started'])}"
            moved = f" · {count(slower, 'series', 'series')} slower (suspected)" if slower else ""
            _line(view, "compare", "base", f"**Compare** with {name}{moved}", a=base["run_id"], b=view.selection.run_id)


def _affected_results(number: int, finding: str, baseline: str) -> str:
    """Return how many results have a finding; only compiled results can be slower than the baseline."""
    if finding == _SLOWER:
        verb = "is" if number == 1 else "are"
        return f"{count(number, 'compiled result')} {verb} slower than {escape(baseline)}"
    return count(number, finding, "wrong answers" if finding == "wrong answer" else finding)


def show_findings(view: View) -> None:
    """Draw an expander with each finding and its reason, the most severe first; a name opens the model."""
    findings = data.rows(view.snapshot, "attention", view.selection)
    if findings.empty:
        return
    title = f"Each of the {count(len(findings), 'finding')}"
    with st.expander(title, key="findings", on_change="rerun", icon=":material/checklist:") as part:
        if part.open:
            _draw_findings(view, findings)


def _draw_findings(view: View, findings: pd.DataFrame) -> None:
    rows = list(each(findings))
    shown = findings.assign(
        finding=[_finding(row) for row in rows],
        interval=[interval(row.speedup_low, row.speedup_high) for row in rows],
        why=[_why(row) for row in rows],
    )
    selected = opening.table(
        view,
        shown,
        _findings_columns(view),
        key="attention",
        alt="What needs attention",
        file_name="attention",
        sql=data.statement("attention", view.selection),
        told_once=("environment", "accelerator", "suite"),
    )
    rerun.offer(view, rerun.of_rows(findings, "finding"), key="attention", selected=selected)


def _line(view: View, page: str, key: str, label: str, **params: object) -> None:
    links.link(view, page, label, key=f"to-{key}", icon=":material/arrow_forward:", **params)


def _named(part: pd.DataFrame) -> str:
    """Return the models of a finding, the first few by name."""
    return listed([escape(shortened(name)) for name in dict.fromkeys(part["model"])], _NAMED)


def _states(view: View) -> str:
    """Return how long the failing series have failed, as ` (1 new, 2 persistent)`."""
    failing = data.rows(view.snapshot, "failing", view.selection, until=view.started)
    numbers = failing["state"].value_counts()
    states = [f"{int(numbers[state])} {state}" for state in ("new", "persistent", "flaky") if state in numbers]
    return f" ({', '.join(states)})" if states else ""


def _fallbacks(view: View) -> None:
    """Draw the line of ops that XLA does not lower; the op that most models call is first."""
    lower = _not_lowered(view)
    if lower.empty:
        return
    called = lower[["op", "suite", "model"]].drop_duplicates().sort_values("op")
    models, what = called["op"].value_counts(), unit(called["suite"])
    op_texts = [f"{escape(shortened(op))} in {count(int(number), what)}" for op, number in models.head(_NAMED).items()]
    others = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    text = f"**{count(len(models), 'op')} fell back to the CPU** · {', '.join(op_texts)}{others}"
    _line(view, "fallback-ops", "fallbacks", text)


def _not_lowered(view: View) -> pd.DataFrame:
    """Return the calls of ops that XLA does not lower."""
    ops = data.rows(view.snapshot, "fallback_ops", view.selection)
    return ops[(ops["klass"] != "host_read") & (ops["calls_per_iteration"] > 0)]


def _finding(row: Any) -> str:
    return STATUS_WORDS.get(row.status, str(row.status)) if row.finding == "failed" else str(row.finding)


def _why(row: Any) -> str:
    if row.finding == _SLOWER:
        return f"interval below 1, n = {int(row.steady_n)} against {int(row.baseline_steady_n)} samples; unconfirmed"
    return "no reason was recorded" if missing(row.reason) else str(row.reason)


def _findings_columns(view: View) -> dict[str, TableColumn]:
    return {
        "finding": TableColumn("Finding", pinned=True),
        **naming("suite", "model", "test", "accelerator", "variant", "environment", pinned=()),
        "why": TableColumn("Why"),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": tables.interval_column("speedup"),
        "steady_n": measured("steady_n", "n", width=40),
        "baseline_steady_n": measured("baseline_steady_n", "n of it", width=60),
        "failure_phase": TableColumn("Phase", help="How far the experiment came.", hidden=True),
    }


ROWS_DRAWN = 700
"""Most rows that are drawn: 300 models in two tests, and the headings of their groups."""
_SCREEN_PX = 560
_NAME_SPLIT = "\x1f"


def show_heat_map(view: View) -> None:
    """Draw the heat map of models by backend; a cell opens its model."""
    rows = with_series(answers.compared(data.rows(view.snapshot, "speedups", view.selection), view.selection.baseline))
    planned_n = len(rows)
    rows = rows[rows["status"] != "skipped"]
    if rows.empty:
        return
    frame, order, series = heat_rows(rows, rerun.newest(view))
    models_n = len(rows[["suite", "model"]].drop_duplicates())
    st.subheader(f"{count(models_n, unit(rows['suite']))} by backend", anchor=False)
    if len(order) > ROWS_DRAWN:
        st.caption(f"The first {ROWS_DRAWN} of {len(order):,} rows are drawn; filter for others.")
        order = order[:ROWS_DRAWN]
        frame = frame[frame["row"].isin(order)]
    row_px = DENSE_ROW_PX if len(order) > DENSE_FROM else ROW_PX
    with st.container(height=_SCREEN_PX if len(order) * row_px > _SCREEN_PX else "content", border=False):
        selected = charts.selectable(
            speedup_heat(frame, order, series), key="models", text="Speedup of each model by backend"
        )
    shades = "Slowest first. Grey: the interval contains 1, so no difference is shown. ° not verified, ∅ not run. "
    skipped = "Without a cell: skipped by the plan. " if len(rows) < planned_n else ""
    again = f"{rerun.MARK} a newer run measured it again. " if frame["label"].str.contains(rerun.MARK).any() else ""
    st.caption(f"{shades if frame['shade'].notna().any() else ''}{again}{skipped}Click a cell for its model.")
    rerun.show_runs(view, set(rows["series_id"]), "models")
    charts.open_model(view, selected)


def heat_rows(rows: pd.DataFrame, reruns: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the cells of the heat map, the order of its rows and that of its columns.

    Args:
        rows: of `speedups` with `series`, without the baseline's own.
        reruns: id of a series → its result in a newer run that measured it again.
    """
    cells = [_with_rerun(_heat_cell(row), reruns.get(row.series_id)) for row in each(rows)]
    worst: dict[tuple[Any, ...], float] = {}
    for cell in cells:
        value = cell.pop("log_ratio", math.inf)
        group = (cell["suite"] in SYNTHETIC, cell["group"], cell["row"])
        worst[group] = min(worst.get(group, math.inf), value)
    frame = pd.DataFrame(cells)
    ordered = sorted(worst, key=lambda key: (key[0], key[1], worst[key], key[2]))
    order: list[str] = []
    heads = []
    columns = order_of_backends(set(zip(rows["series"], rows["backend"], strict=True)))
    for _, group, row in ordered:
        head = f"{_NAME_SPLIT}{group}"
        if head not in order:
            order.append(head)
            heads.append({"row": head, "series": columns[0][0], "shade": None, "label": ""})
        order.append(row)
    frame = pd.concat([frame, pd.DataFrame(heads)], ignore_index=True)
    frame["shade"] = pd.to_numeric(frame["shade"])
    return frame, order, [name for name, _ in columns]


def _heat_cell(row: Any) -> dict[str, Any]:
    group = f"{row.suite} · {row.test}"
    cell = {"suite": row.suite, "model": row.model, "test": row.test, "series": row.series, "group": group}
    cell["row"] = f"{group} {row.accelerator}{_NAME_SPLIT}{row.model}"
    doubt_texts = doubts.of_row(row)
    if missing(row.speedup):
        word = STATUS_WORDS.get(row.status, str(row.status)) if not row.ran else DASH
        word = doubts.MARKS[doubts.WRONG] if doubts.WRONG in doubt_texts else word
        why = "" if missing(row.speedup_reason) else str(row.speedup_reason)
        return cell | {"shade": None, "label": word, "why": why}
    shown = Ratio(row.model, float(row.speedup), *_ends(row))
    log_ratio = 0.0 if shown.word == "same" else math.log2(shown.value)
    why = {"same": "no difference shown", "unknown": "no interval"}.get(shown.word, shown.word)
    bounds = "" if shown.low is None else f" (95 % CI {interval(shown.low, shown.high)})"
    return cell | {
        "log_ratio": log_ratio,
        "shade": max(-1.0, min(1.0, log_ratio)),
        "label": f"{ratio(shown.value)}{doubts.marks(row)}",
        "why": ", ".join(filter(None, (why + bounds, *doubt_texts))),
    }


def _with_rerun(cell: dict[str, Any], again: Any | None) -> dict[str, Any]:
    """Return a cell with the outcome of the newer run that measured it again, if there is one."""
    if again is None:
        return cell
    outcome = f"measured again: {rerun.outcome(again)} in {rerun.run_of(again)}"
    return cell | {"label": f"{cell['label']} {rerun.MARK}", "why": ", ".join(filter(None, (cell["why"], outcome)))}


def _ends(row: Any) -> tuple[float | None, float | None]:
    low, high = (None if missing(end) else float(end) for end in (row.speedup_low, row.speedup_high))
    return low, high


ROW_PX, DENSE_ROW_PX, DENSE_FROM = 22, 17, 40
"""Height of a row, its height where there are many rows, and the most rows that are not many."""
_SHADES = ("#B8320E", "#F7D3C4", "#E6E6E6", "#CBE9DB", "#0E7A55")
"""Colours of: half as fast or slower, a little slower, no difference, a little faster, twice as fast or faster."""
_ENDS = (-1.0, -0.06, 0.0, 0.06, 1.0)
"""Binary logarithms of the ratios of those colours."""
STRONG = 0.6
"""Binary logarithm from which a cell is dark enough for white text."""


def speedup_heat(frame: pd.DataFrame, rows: Sequence[str], series: Sequence[str]) -> Drawing:
    """Draw one cell per model and backend.

    Args:
        frame: columns row, name (text of the row), series, shade (binary logarithm of the speedup, 0 where no
            difference is shown, missing where there is no speedup), label, why, suite, model, test.
        rows: their order; the head of a group has one cell without label.
        series: order of the columns.
    """
    place, across = ({name: at for at, name in enumerate(names)} for names in (rows, series))
    placed = frame.assign(
        place=frame["row"].map(place), across=frame["series"].map(across), dark=frame["shade"].abs() > STRONG
    )
    return Drawing(_heat_spec(DENSE_ROW_PX if len(rows) > DENSE_FROM else ROW_PX), placed)


@lru_cache(maxsize=4)
def _heat_spec(row_px: int) -> dict[str, Any]:
    base = drawing.points().encode(x=_across(), y=_down())
    cells = (
        base.transform_filter("isValid(datum.shade)")
        .mark_rect(cornerRadius=2, cursor="pointer")
        .encode(color=_colour(), tooltip=_tooltip())
        .add_params(axes.pick())
    )
    ink = alt.condition("datum.dark", alt.value("white"), alt.value("#222222"))
    texts = base.transform_filter("isValid(datum.shade)").mark_text(fontSize=11.5).encode(text="label:N", color=ink)
    others = (
        base.transform_filter("!isValid(datum.shade)")
        .mark_text(fontSize=11.5, color="#B0744A")
        .encode(text="label:N", tooltip=_tooltip())
    )
    return drawing.specified(layered(cells, texts, others, height=axes.steps(row_px)))


_IN_PARTS = "windowSize()[0] < 640 ? split(replace(datum.label, '+', '+ '), ' ') : datum.label"
"""A telephone has room for a part of `openxla+lazytensor` in a line."""


def _across() -> alt.X:
    return alt.X(
        "series:N",
        sort=alt.EncodingSortField(field="across", op="min"),
        scale=alt.Scale(paddingInner=0.02),
        axis=alt.Axis(
            title=None,
            orient="top",
            labelAngle=0,
            labelFontSize=12,
            labelExpr=_IN_PARTS,
            labelOverlap=False,
            ticks=False,
            domain=False,
            labelLimit=220,
        ),
    )


def _down() -> alt.Y:
    return alt.Y(
        "row:N",
        sort=alt.EncodingSortField(field="place", op="min"),
        scale=alt.Scale(paddingInner=0.08),
        axis=alt.Axis(
            title=None,
            labelExpr="split(datum.value, '\\u001f')[1]",
            labelFontWeight={
                "condition": {"test": "split(datum.value, '\\u001f')[0] == ''", "value": "bold"},
                "value": "normal",
            },
            labelLimit=axes.names_px(240),
            labelFontSize=12,
            labelOverlap=False,
            ticks=False,
            domain=False,
        ),
    )


def _colour() -> alt.Color:
    return alt.Color("shade:Q", scale=alt.Scale(domain=list(_ENDS), range=list(_SHADES), clamp=True), legend=None)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("series:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup"),
        alt.Tooltip("why:N", title="What it says"),
    ]
