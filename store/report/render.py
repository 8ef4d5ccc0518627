"""Print a report as text, Markdown, CSV, JSON or the peer's grid."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from store.errors import UsageError
from store.report.cells import heading, shown
from store.report.html import html_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from store.report.table import Cell, Report, Table

_HEADER_CHARACTERS = 10


def render(report: Report, form: str) -> str:
    """Return the report in one of `FORMATS`.

    Raises:
        UsageError: there is no such format.
    """
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}. Choose one of {', '.join(FORMATS)}.")
    return FORMATS[form](report)


def _text(report: Report) -> str:
    from rich import box  # noqa: PLC0415 (the other formats need no terminal)
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415

    out = io.StringIO()
    console = Console(file=out, width=max(80, _width(report)), force_terminal=False)
    console.print(report.title, markup=False)
    for sentence in report.answer:
        console.print(f"* {sentence}", markup=False, soft_wrap=True)
    for table in filter(_has_rows, report.tables):
        grid = Grid(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column, header in zip(table.columns, _folded_headers(table), strict=True):
            grid.add_column(header, justify="right" if column.numeric else "left", no_wrap=True)
        for row in table.rows:
            grid.add_row(*(_plain(shown(cell, column)) for cell, column in zip(row, table.columns, strict=True)))
        console.print(grid)
    for note in report.notes:
        console.print(f"* {note}", markup=False, soft_wrap=True)
    return out.getvalue()


def _has_rows(table: Table) -> bool:
    """Say whether people want to see the table; data formats hold every table."""
    return bool(table.rows)


def _plain(text: str) -> str:
    from rich.markup import escape  # noqa: PLC0415

    return escape(text)


def _folded_headers(table: Table) -> list[str]:
    """Return headers broken into lines about as wide as what stands below them."""
    folded = []
    for index, column in enumerate(table.columns):
        below = max((len(shown(row[index], column)) for row in table.rows), default=0)
        words = heading(column).replace("+", "+ ")
        lines = textwrap.wrap(words, max(below, _HEADER_CHARACTERS), break_long_words=False)
        folded.append("\n".join(line.replace("+ ", "+") for line in lines))
    return folded


def _width(report: Report) -> int:
    """Return what the widest table needs: a report that is redirected is never cut."""
    widths = [0]
    for table in report.tables:
        cells = [[max(header.split("\n"), key=len) for header in _folded_headers(table)]]
        cells += [[shown(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
        widths.append(sum(max(len(row[index]) for row in cells) + 3 for index in range(len(table.columns))) + 3)
    return max(widths)


def _markdown(report: Report) -> str:
    parts = [f"# {_markdown_text(report.title)}"]
    if report.answer:
        parts.append("\n".join(f"- {_markdown_text(sentence)}" for sentence in report.answer))
    parts += [f"## {table.title}\n\n{_markdown_table(table)}" for table in filter(_has_rows, report.tables)]
    if report.notes:
        parts.append("\n".join(f"- {_markdown_text(note)}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    lines = [
        "| " + " | ".join(heading(column) for column in table.columns) + " |",
        "|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|",
    ]
    for row in table.rows:
        cells = (_markdown_text(shown(cell, column)) for cell, column in zip(row, table.columns, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


_MARKDOWN = str.maketrans({"|": r"\|", "<": "&lt;", "\n": " ", "\r": " ", "`": r"\`", "*": r"\*"})


def _markdown_text(text: str) -> str:
    """Return text as it is: no cell ends early, and nothing that a message says becomes HTML, a link or emphasis."""
    return text.replace("](", r"]\(").translate(_MARKDOWN)


def _csv(report: Report) -> str:
    """Print as the peer does: header after `# `, nothing for what is missing, all digits; tables apart by a line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for index, table in enumerate(report.tables):
        if index:
            out.write("\n")
        titles = [heading(column) for column in table.columns]
        writer.writerow([f"# {titles[0]}", *titles[1:]])
        writer.writerows([["" if cell is None else str(cell) for cell in row] for row in table.rows])
    return out.getvalue()


def _json(report: Report) -> str:
    tables = [
        {
            "title": table.title,
            "columns": [
                {"title": column.title, "unit": column.unit, "definition": column.definition}
                for column in table.columns
            ],
            "rows": [[_json_cell(cell) for cell in row] for row in table.rows],
        }
        for table in report.tables
    ]
    found = {"title": report.title, "answer": report.answer, "notes": report.notes, "tables": tables}
    return json.dumps(found, indent=1) + "\n"


def _json_cell(cell: Cell) -> Any:
    if isinstance(cell, float) and cell != cell:  # noqa: PLR0124 (NaN has no JSON)
        return None
    return cell.isoformat(sep=" ") if isinstance(cell, datetime) else cell


def _grid(report: Report) -> str:
    """Print the grid of the peer's `--format=tab`."""
    grids = [
        tabulate(
            [list(row) for row in table.rows],
            headers=[heading(column) for column in table.columns],
            tablefmt="fancy_grid",
            floatfmt=".2f",
        )
        for table in report.tables
    ]
    return "\n".join(f"{grid}\n" for grid in grids)


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": _text,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "tab": _grid,
    "html": html_page,
}
