"""A table of numbers, each with its details: its verdict in words, its last values, and small lines below it.

It is HTML, because a cell of Streamlit's tables has one line and no link. Every text is escaped here.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape as html
from typing import Any, NamedTuple

import streamlit as st

from store.charts.palette import colour

_LEAST_REACH = math.log(1.1)
"""Least height of a sparkline in logarithms of a ratio: changes of a few percent look flat."""


class MatrixCell(NamedTuple):
    """A cell; its parts are drawn in this order."""

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
    again: tuple[str, str] | None = None
    """Address of a run that measured a part of it again, and what it found."""


class MatrixRow(NamedTuple):
    """A row."""

    head: str
    rest: str
    """What distinguishes it from other rows of the same head."""
    change: tuple[str, str] | None
    """What moved the whole row since the run before, and its colour."""
    cells: Mapping[str, MatrixCell]
    """Column → cell; the plan lacks the others."""


def show(corner: str, columns: Sequence[tuple[str, str]], rows: Sequence[MatrixRow]) -> None:
    """Draw the table: the heading of the first column, name and backend of each other column, and the rows."""
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
    return f"{sparkline(cell.trend)}{number}{word}{_change(cell)}{lines}{_again(cell)}"


def _change(cell: MatrixCell) -> str:
    if cell.change is None:
        return ""
    words, ink = cell.change
    return f'<small class="change" style="color:{ink}">{html(words)}</small>'


def _again(cell: MatrixCell) -> str:
    if cell.again is None:
        return ""
    address, words = map(html, cell.again)
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
