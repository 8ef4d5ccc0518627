"""The grids of Overview: the matrix of means, each with its details, and the heat map of models by backend.

The matrix is HTML, because a cell of Streamlit's tables has one line and no link. Every text is escaped here.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape as html
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.data.frames import SYNTHETIC, iter_rows, order_of_backends, unit, with_series
from dashboard.formatting import DASH, STATUS_WORDS, WRONG, count, interval, missing, ratio
from dashboard.jobs import rerun
from dashboard.ui import answers, charts, doubts
from dashboard.view import View
from store.charts import heat
from store.charts.palette import colour

_LEAST_REACH = math.log(1.1)
"""Least height of a sparkline in logarithms of a ratio: changes of a few percent look flat."""


class MatrixCell(NamedTuple):
    """A cell of the matrix; its parts are drawn in this order."""

    text: str
    """The number, or the dash that stands for it."""
    href: str
    """Address that the number opens."""
    word: str = ""
    """Verdict on the number."""
    ink: str | None = None
    """Colour of the number; None: that of links."""
    trend: Any = None
    """The ratio in the last runs, the oldest first; a missing value if there are none."""
    change: tuple[str, str] | None = None
    """Change since the run before, and its colour."""
    lines: Sequence[str] = ()
    rerun: tuple[str, str] | None = None
    """Address of a run that measured a part of it again, and what it found."""


class MatrixRow(NamedTuple):
    """A row of the matrix."""

    head: str
    rest: str
    """What distinguishes it from other rows of the same head."""
    change: tuple[str, str] | None
    """What moved the whole row since the run before, and its colour."""
    cells: Mapping[str, MatrixCell]
    """Column → cell; the plan lacks the others."""


def show_matrix(corner: str, columns: Sequence[tuple[str, str]], rows: Sequence[MatrixRow]) -> None:
    """Draw the matrix: the heading of the first column, name and backend of each other column, and the rows."""
    heads = "".join(f'<th><i style="background:{colour(backend)}"></i>{html(name)}</th>' for name, backend in columns)
    body = "".join(_row(row, [name for name, _ in columns]) for row in rows)
    st.html(
        f'<div class="xl-matrix"><table><thead><tr><th>{html(corner)}</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(row: MatrixRow, names: Sequence[str]) -> str:
    change = "" if row.change is None else f'<small style="color:{row.change[1]}">{html(row.change[0])}</small>'
    head = f"<b>{html(row.head)}</b><small>{html(row.rest)}</small>{change}"
    cells = "".join(f'<td data-backend="{html(name)}">{_cell(row.cells.get(name))}</td>' for name in names)
    return f"<tr><th>{head}</th>{cells}</tr>"


def _cell(cell: MatrixCell | None) -> str:
    if cell is None:
        return '<small class="none">not planned</small>'
    ink = "" if cell.ink is None else f' style="color:{cell.ink}"'
    number = f'<a href="{html(cell.href)}" target="_self"{ink}>{html(cell.text)}</a>'
    word = f" <em>{html(cell.word)}</em>" if cell.word else ""
    lines = "".join(f"<small>{html(line)}</small>" for line in cell.lines if line)
    return f"{sparkline(cell.trend)}{number}{word}{_change(cell)}{lines}{_rerun_link(cell)}"


def _change(cell: MatrixCell) -> str:
    if cell.change is None:
        return ""
    words, ink = cell.change
    return f'<small class="change" style="color:{ink}">{html(words)}</small>'


def _rerun_link(cell: MatrixCell) -> str:
    if cell.rerun is None:
        return ""
    address, words = map(html, cell.rerun)
    return f'<small class="again"><a href="{address}" target="_self">{words}</a></small>'


def sparkline(values: Any) -> str:
    """Return the ratios of the last runs as a line; it is empty where there are fewer than two.

    A page has hundreds of these images, and vl-convert would take two thousand times as long for each.
    """
    if not isinstance(values, list) or len(values) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    logs = [math.log(value) for value in values]
    middle = (min(logs) + max(logs)) / 2
    step, reach = 64 / (len(logs) - 1), max(max(logs) - min(logs), _LEAST_REACH)
    points = [(3 + at * step, 10 - 14 * (value - middle) / reach) for at, value in enumerate(logs)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="70" height="20">'
        f'<polyline points="{line}" fill="none" stroke="#8A8A8A" stroke-width="1.3"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="#3A7BE0"/></svg>'
    )
    source = b64encode(svg.encode()).decode()
    return f'<img width="70" height="20" alt="means of {len(values)} runs" src="data:image/svg+xml;base64,{source}">'


_ROWS_DRAWN = 450
"""Most rows that are drawn: 220 models in two tests, and the headings of their groups; 250 more take 0.1 s."""
_SCREEN_PX = 560


def show_heat_map(view: View, speedups: pd.DataFrame) -> None:
    """Draw the heat map of models by backend from speedups with warnings; a cell opens its model."""
    rows = with_series(answers.compared(speedups, view.selection.baseline))
    planned_n = len(rows)
    rows = rows[rows["status"] != "skipped"]
    if rows.empty:
        return
    frame, order, series = heat_rows(rows, rerun.newest(view))
    models_n = len(rows[["suite", "model"]].drop_duplicates())
    st.subheader(f"{count(models_n, unit(rows['suite']))} by backend", anchor=False)
    if len(order) > _ROWS_DRAWN:
        st.caption(f"The first {_ROWS_DRAWN} of {len(order):,} rows are drawn; filter for others.")
        order = order[:_ROWS_DRAWN]
    scrolls = len(order) * heat.row_px(len(order)) > _SCREEN_PX
    with st.container(height=_SCREEN_PX if scrolls else "content", border=False):
        selected = charts.selectable(
            heat.speedup_heat(frame, order, series), key="models", text="Speedup of each model by backend"
        )
    shades = "Slowest first. Grey: the interval contains 1, so no difference is shown. "
    marks = "".join(f"{mark}. " for mark in doubts.meanings(frame["label"]))
    alone = f"{DASH} without a speedup, although it ran. " if frame["label"].str.startswith(DASH).any() else ""
    skipped = "A missing cell was skipped by the plan. " if len(rows) < planned_n else ""
    remeasured = (
        f"{rerun.MARK} a newer run measured it again. " if frame["label"].str.contains(rerun.MARK).any() else ""
    )
    shades = shades if frame["shade"].notna().any() else ""
    st.caption(f"{shades}{marks}{remeasured}{alone}{skipped}Click a cell for its model.")
    rerun.show_runs(view, set(rows["series_id"]), "models")
    charts.open_model(view, selected)


def heat_rows(rows: pd.DataFrame, reruns: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the cells of the rows that are drawn, the order of all rows, and that of the columns.

    Args:
        rows: of `speedups` with `series`, without the baseline's own.
        reruns: id of a series → its result in a newer run that measured it again.
    """
    logs = _log_ratios(rows)
    places = [_heat_place(row) for row in iter_rows(rows)]
    worst: dict[_HeatPlace, float] = {}
    for place, value in zip(places, logs, strict=True):
        worst[place] = min(worst.get(place, math.inf), value)
    ordered = sorted(worst, key=lambda place: (place.synthetic, place.group, worst[place], place.row))
    order = list(dict.fromkeys(name for place in ordered for name in (f"{heat.NAME_SPLIT}{place.group}", place.row)))
    drawn = set(order[:_ROWS_DRAWN])
    cells = [
        _heat_cell(row, place, value, reruns.get(row.series_id))
        for row, place, value in zip(iter_rows(rows), places, logs, strict=True)
        if place.row in drawn
    ]
    columns = [name for name, _ in order_of_backends(set(zip(rows["series"], rows["backend"], strict=True)))]
    heads = dict.fromkeys(f"{heat.NAME_SPLIT}{place.group}" for place in ordered)
    cells += [{"row": head, "series": columns[0], "shade": None, "label": ""} for head in heads if head in drawn]
    frame = pd.DataFrame(cells)
    return frame.assign(shade=pd.to_numeric(frame["shade"])), order, columns


class _HeatPlace(NamedTuple):
    """Where a cell of the heat map is."""

    synthetic: bool
    group: str
    row: str


def _heat_place(row: Any) -> _HeatPlace:
    group = f"{row.suite} · {row.test}"
    return _HeatPlace(row.suite in SYNTHETIC, group, f"{group} {row.accelerator}{heat.NAME_SPLIT}{row.model}")


def _log_ratios(rows: pd.DataFrame) -> list[float]:
    """Return the base-2 logarithm of each speedup: 0 if its interval contains 1 (`Ratio.word`), inf without one."""
    ratios, low, high = (rows[name].to_numpy(float) for name in ("speedup", "speedup_low", "speedup_high"))
    logs = np.log2(ratios, where=ratios > 0, out=np.full(len(ratios), math.inf))
    logs[(low <= 1) & (high >= 1)] = 0.0
    values: list[float] = np.where(np.isnan(ratios), math.inf, logs).tolist()
    return values


def _heat_cell(row: Any, place: _HeatPlace, log_ratio: float, newer: Any | None) -> dict[str, Any]:
    """Return a cell, with the outcome of the newer run that measured it again, if there is one."""
    if missing(row.speedup):
        word = STATUS_WORDS.get(row.status, str(row.status)) if not row.ran else DASH
        label = doubts.MARKS[WRONG] if WRONG in doubts.of_row(row) else word
        whys = ["" if missing(row.speedup_reason) else str(row.speedup_reason)]
    else:
        shown = answers.ratio_of(row)
        label = ratio(shown.value)
        bounds = "" if shown.low is None else f" (95 % CI {interval(shown.low, shown.high)})"
        why = {"same": "no difference shown", "unknown": "no interval"}.get(shown.word, shown.word)
        label, whys = f"{label}{doubts.marks(row)}", [why + bounds, *doubts.in_words(row)]
    if newer is not None:
        label = f"{label} {rerun.MARK}"
        whys.append(f"measured again: {rerun.outcome(newer)} in {rerun.run_of(newer)}")
    return {
        "suite": row.suite,
        "model": row.model,
        "test": row.test,
        "series": row.series,
        "group": place.group,
        "row": place.row,
        "shade": None if log_ratio == math.inf else max(-1.0, min(1.0, log_ratio)),
        "label": label,
        "why": ", ".join(filter(None, whys)),
    }
