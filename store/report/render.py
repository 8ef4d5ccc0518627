"""Print a report as text, Markdown, CSV, JSON or the peer's grid."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from store.errors import UsageError
from store.report.cells import heading, shown
from store.report.html import html_page
from store.report.text import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from store.report.table import Cell, Report, Table


def render(report: Report, form: str) -> str:
    """Return the report in one of `FORMATS`.

    Raises:
        UsageError: there is no such format.
    """
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}. Choose one of {', '.join(FORMATS)}.")
    return FORMATS[form](report)


def _markdown(report: Report) -> str:
    parts = [f"# {_markdown_text(report.title)}"]
    parts += [f"**{_markdown_text(sentence)}**" for sentence in report.alarms]
    if report.answer:
        parts.append("\n".join(f"- {_markdown_text(sentence)}" for sentence in report.answer))
    if report.steps:
        parts.append("\n".join(f"- next: {_markdown_text(f'{step.why}: {step.command}')}" for step in report.steps))
    parts += [f"## {table.title}\n\n{_markdown_table(table)}" for table in report.read if table.rows]
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
    steps = [{"why": step.why, "command": step.command} for step in report.steps]
    found = {"title": report.title, "alarms": report.alarms, "answer": report.answer, "next_steps": steps}
    return json.dumps({**found, "notes": report.notes, "tables": tables}, indent=1) + "\n"


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
    "text": text,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "tab": _grid,
    "html": html_page,
}
