"""Print a report as text that fits a terminal, the answer last: there it stands when the command is done."""

from __future__ import annotations

import io
import itertools
import shutil
import textwrap
from typing import TYPE_CHECKING

from store.report.cells import MISSING, heading, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table as Grid

    from store.report.table import Report, Table

USUAL_WIDTH = 80
"""Columns where nobody knows how wide the terminal is."""
_HEADER_CHARACTERS = 10
_LEAST_TEXT = 12
"""Columns that a text may be folded into, where a table would be too wide otherwise."""
_NAMES = 4
"""First columns whose values need no title: suite, model, test, backend."""
_INDENT = "  "


def text(report: Report, width: int | None = None) -> str:
    """Return the report in lines of at most `width` columns, by default those of the terminal."""
    from rich.console import Console  # noqa: PLC0415 (the other formats need no terminal)

    columns = width or shutil.get_terminal_size((USUAL_WIDTH, 24)).columns
    out = io.StringIO()
    console = Console(file=out, width=columns, force_terminal=False, force_jupyter=False, color_system=None)
    for sentence in report.alarms:
        _print_wrapped(console, sentence, _INDENT)
    console.print(report.title, markup=False, overflow="fold")
    for table in filter(_has_rows, report.read):
        console.print(f"\n{table.title}", markup=False)
        if table.headed:
            _print_headed(console, table)
        elif _needs(table) <= columns:
            console.print(_grid(table))
        else:
            _print_listed(console, table)
    _print_list(console, report.notes)
    if report.steps:
        console.print()
    for step in report.steps:
        _print_wrapped(console, f"* next: {step.why}:", _INDENT)
        console.print(f"{2 * _INDENT}{step.command}", markup=False, highlight=False, soft_wrap=True)
    _print_list(console, report.answer)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _has_rows(table: Table) -> bool:
    """Say whether people want to see the table; data formats hold every one."""
    return bool(table.rows)


def _print_list(console: Console, sentences: Sequence[str]) -> None:
    if sentences:
        console.print()
    for sentence in sentences:
        _print_wrapped(console, f"* {sentence}", _INDENT)


def _print_wrapped(console: Console, sentence: str, indent: str) -> None:
    """Print a sentence, its further lines indented; a word that is longer than a line is broken."""
    for line in textwrap.wrap(sentence, console.width, subsequent_indent=indent, break_on_hyphens=False):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _cells(table: Table) -> list[list[str]]:
    return [[shown(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]


def _grid(table: Table) -> Grid:
    """Return a table whose texts are folded where it would be wider than the terminal."""
    from rich import box  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415

    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column, header in zip(table.columns, _folded_headers(table), strict=True):
        grid.add_column(
            escape(header), justify="right" if column.numeric else "left", no_wrap=column.numeric, overflow="fold"
        )
    for row in _cells(table):
        grid.add_row(*map(escape, row))
    return grid


def _folded_headers(table: Table) -> list[str]:
    """Return headers broken into lines about as wide as what stands below them."""
    folded = []
    for index, column in enumerate(table.columns):
        below = max((len(shown(row[index], column)) for row in table.rows), default=0)
        words = heading(column).replace("+", "+ ")
        lines = textwrap.wrap(words, max(below, _HEADER_CHARACTERS), break_long_words=False)
        folded.append("\n".join(line.replace("+ ", "+") for line in lines))
    return folded


def _needs(table: Table) -> int:
    """Return the columns that a table needs at least: numbers are never cut, texts are folded."""
    needed = 0
    rows = [_folded_headers(table), *_cells(table)]
    for index, column in enumerate(table.columns):
        widest = max(len(line) for row in rows for line in row[index].split("\n"))
        needed += (widest if column.numeric else min(widest, _LEAST_TEXT)) + 2
    return needed


def _print_listed(console: Console, table: Table) -> None:
    """Print a table that is too wide as a paragraph per row: its first names, then every other value with its title."""
    numbers = (index for index, column in enumerate(table.columns) if column.numeric)
    names = max(1, min(_NAMES, next(numbers, _NAMES)))
    titles = [heading(column) for column in table.columns]
    for row in _cells(table):
        values = zip(titles[names:], row[names:], row[names - 1 : -1], strict=True)
        said = ", ".join(
            f"{title} {cell}"
            for title, cell, before in values
            if cell != MISSING and not (title == "n" and before == MISSING)  # the n of no number says nothing
        )
        _print_wrapped(console, f"{' '.join(row[:names])}: {said}", _INDENT)


def _print_headed(console: Console, table: Table) -> None:
    """Print the first column as a line above the rows that share it, and the last one as a line below its row."""
    columns, rows = table.columns[1:-1], _cells(table)
    titles = [heading(column) for column in columns]
    widths = [max(map(len, each)) for each in zip(titles, *(row[1:-1] for row in rows), strict=True)]
    console.print()
    _print_row(console, titles, widths, table)
    for head, members in itertools.groupby(rows, key=lambda row: row[0]):
        _print_wrapped(console, head, _INDENT)
        for _, *cells, below in members:
            _print_row(console, cells, widths, table)
            if below != MISSING:
                _print_wrapped(console, 3 * _INDENT + below, 3 * _INDENT)


def _print_row(console: Console, cells: Sequence[str], widths: Sequence[int], table: Table) -> None:
    """Print cells one below the other in all rows; the last one is folded into what is left of the line."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = Grid.grid(padding=(0, 2, 0, 0))
    for width, column in zip(widths, table.columns[1:], strict=False):
        last = column is table.columns[-2]
        grid.add_column(
            justify="right" if column.numeric else "left",
            overflow="fold",
            width=None if last else width,
            no_wrap=column.numeric,
        )
    grid.add_row(*map(Text, cells))
    console.print(Padding(grid, (0, 0, 0, len(_INDENT))))
