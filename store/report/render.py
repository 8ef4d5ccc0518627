"""Render a report as text, Markdown, CSV, JSON, the peer's grid, or one self-contained HTML file."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from tabulate import tabulate

from store.charts import export
from store.errors import MissingPackage, UsageError
from store.report.table import COMMANDS, MISSING, Cell, Column, Report, Table, heading, name_column, shown

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup
    from rich.console import Console
    from rich.table import Table as Grid

    from store.charts.drawing import Drawing


USUAL_WIDTH = 80
"""Width of the text where the width of the terminal is unknown."""
_HEADER_CHARACTERS = 10
_LEAST_TEXT = 12
"""Smallest width in characters to which a column of text is folded in a table that would be too wide."""
_NAMES = 4
"""Number of first columns whose values need no title: suite, model, test, backend."""
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
    for table in (table for table in report.read if table.rows):  # people need no empty ones
        console.print("" if table.title == report.title else f"\n{table.title}", markup=False)
        if table.headed:
            _print_headed(console, table)
        elif _needs(table) <= columns:
            console.print(_text_grid(table))
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


def _text_grid(table: Table) -> Grid:
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
    """Return the headers, broken into lines about as wide as the cells below them."""
    folded = []
    for index, column in enumerate(table.columns):
        below = max((len(shown(row[index], column)) for row in table.rows), default=0)
        words = heading(column).replace("+", "+ ")
        lines = textwrap.wrap(words, max(below, _HEADER_CHARACTERS), break_long_words=False)
        folded.append("\n".join(line.replace("+ ", "+") for line in lines))
    return folded


def _needs(table: Table) -> int:
    """Return the least width of a table in characters: numbers are never cut, texts are folded."""
    needed = 0
    rows = [_folded_headers(table), *_cells(table)]
    for index, column in enumerate(table.columns):
        widest = max(len(line) for row in rows for line in row[index].split("\n"))
        needed += (widest if column.numeric else min(widest, _LEAST_TEXT)) + 2
    return needed


def _print_listed(console: Console, table: Table) -> None:
    """Print a table that is too wide as one paragraph per row: its names, then each other value with its title."""
    numbers = (index for index, column in enumerate(table.columns) if column.numeric)
    names = max(1, min(_NAMES, next(numbers, _NAMES)))
    titles = [heading(column) for column in table.columns]
    for row in _cells(table):
        values = zip(titles[names:], row[names:], row[names - 1 : -1], strict=True)
        details = ", ".join(
            f"{title} {cell}"
            for title, cell, before in values
            if cell != MISSING and not (title == "n" and before == MISSING)  # an n without a number has no meaning
        )
        _print_wrapped(console, f"{' '.join(row[:names])}: {details}", _INDENT)


def _print_headed(console: Console, table: Table) -> None:
    """Print the first column as a line above the rows that share it, and the last one as a line below its row."""
    columns, rows = table.columns[1:-1], _cells(table)
    titles = [heading(column) for column in columns]
    widths = [max(map(len, texts)) for texts in zip(titles, *(row[1:-1] for row in rows), strict=True)]
    console.print()
    _print_row(console, titles, widths, table)
    for head, members in itertools.groupby(rows, key=lambda row: row[0]):
        _print_wrapped(console, head, _INDENT)
        for _, *cells, below in members:
            _print_row(console, cells, widths, table)
            if below != MISSING:
                _print_wrapped(console, 3 * _INDENT + below, 3 * _INDENT)


def _print_row(console: Console, cells: Sequence[str], widths: Sequence[int], table: Table) -> None:
    """Print cells aligned with those of the other rows; the last cell is folded into the rest of the line."""
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


_TONES = dict.fromkeys(("slower", "failing", "crashed", "timeout", "oom"), "bad") | {"faster": "good", "gone": "good"}
_PROSE = 40
"""Longer texts are broken into lines."""
_MANY = 9
"""A table with more columns has a smaller font, to fit into the page."""
_COMMITS = "https://github.com/"
_WIDTH_PX, _WIDE_PX = 600, 1240


class Figure(NamedTuple):
    """A chart of a page and the function that draws it; a wide chart takes a whole row of the page."""

    title: str
    caption: str
    draw: Callable[[], Drawing]
    wide: bool = False


def html_page(report: Report, figures: Sequence[Figure] = (), first: int = 0, verdict: str = "") -> str:
    """Return the whole page; names and messages are text, never HTML.

    The verdict, the conclusion in one sentence, stands first, then so many tables as `first` says, then the charts.
    Without the extra `plots` it has no charts, and a note says so.
    """
    charts, notes = [], report.notes
    if figures:
        try:
            charts = _charts(figures)
        except MissingPackage as missing:
            notes = (*notes, str(missing))
    return _template().render(report=report, charts=charts, notes=notes, first=first, verdict=verdict)


def _charts(figures: Sequence[Figure]) -> list[tuple[Figure, Markup]]:
    from markupsafe import Markup  # noqa: PLC0415 (the other formats need no template)

    export.require()
    return [
        # vl-convert escapes every name in it.
        (figure, Markup(export.svg(figure.draw(), _WIDE_PX if figure.wide else _WIDTH_PX)))  # noqa: S704
        for figure in figures
    ]


@cache
def _template() -> Template:
    """Return the template of pages, whose values are escaped unless they are `Markup`."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 (as above)
    from markupsafe import Markup  # noqa: PLC0415 (as above)

    folder = files("store.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shown": shown, "heading": heading, "kind": _kind, "name_column": name_column}
    style = Markup((folder / "page.css").read_text(encoding="utf-8"))  # noqa: S704 (ours)
    constants = {"style": style, "commands": COMMANDS, "commits": _COMMITS, "tones": _TONES, "many": _MANY}
    return environment.from_string((folder / "page.html.j2").read_text(encoding="utf-8"), constants)


def _kind(cell: Cell, column: Column) -> str:
    if column.title in COMMANDS:
        return "name"
    return "number" if column.numeric else "prose" if len(shown(cell, column)) > _PROSE else "name"


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
    """Return a Markdown table; tabulate would pad each row to the longest text of each column."""
    lines = [
        "| " + " | ".join(heading(column) for column in table.columns) + " |",
        "|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|",
    ]
    for row in table.rows:
        cells = (_markdown_text(shown(cell, column)) for cell, column in zip(row, table.columns, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


_CODE = re.compile(r"\\`(xlabench [^\\&]+|\?)\\`")
"""Escaped backticks around a command of ours without escaped characters, or around `?`: no markup is within."""
_MARKDOWN = str.maketrans({"|": r"\|", "<": "&lt;", "\n": " ", "\r": " ", "`": r"\`", "*": r"\*"})


def _markdown_text(text: str) -> str:
    """Escape a text, so that it neither ends its cell nor becomes HTML, a link or emphasis; our commands stay code."""
    return _CODE.sub(r"`\1`", text.replace("](", r"]\(").translate(_MARKDOWN))


def _csv(report: Report) -> str:
    """Render CSV as the peer does: header after `# `, all digits, missing values empty, a blank line between tables."""
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
    head = {"title": report.title, "alarms": report.alarms, "answer": report.answer, "next_steps": steps}
    return json.dumps({**head, "notes": report.notes, "tables": tables}, indent=1) + "\n"


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
