"""Print a report as one HTML file that needs nothing else: no script, no font, no picture from outside."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from store.report.cells import heading, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.report.table import Cell, Column, Report, Step, Table

_BAD = {"slower", "failing", "crashed", "timeout", "oom"}
_GOOD = {"faster", "gone"}
_PROSE = 40
_MANY = 9
"""Columns of a table beyond which it is set smaller, to fit into the page."""
_COMMANDS = ("reproduce",)
"""Titles of columns of commands, which a click opens: they are longer than all else in a row."""
"""Longer texts are broken into lines."""
_COMMITS = "https://github.com/"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Figure(NamedTuple):
    """A chart: `svg` is trusted, and made with escaped names; the rest is text. A wide one has a row of its own."""

    title: str
    caption: str
    svg: str
    wide: bool = False


def html_page(report: Report, figures: Sequence[Figure] = (), first: int = 0, verdict: str = "") -> str:
    """Return the whole page; names and messages are text, never HTML.

    Args:
        report: what it says.
        figures: its charts.
        first: how many of its tables stand before the charts.
        verdict: what it comes to in one sentence, above all others.
    """
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(report.title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{_style()}</style>\n</head>\n<body>\n<h1>{escape(report.title)}</h1>",
    ]
    if verdict:
        parts.append(f'<p class="verdict">{escape(verdict)}</p>')
    if report.alarms:
        parts.append(f'<ul class="alarms">\n{_items(report.alarms)}\n</ul>')
    if report.answer:
        parts.append(f'<ul class="answer">\n{_items(report.answer)}\n</ul>')
    if report.steps:
        steps = "\n".join(map(_step, report.steps))
        parts.append(f'<ul class="steps">\n{steps}\n</ul>')
    parts += [_section(table) for table in report.read[:first] if table.rows]
    if figures:
        parts.append('<div class="figures">\n' + "\n".join(map(_figure, figures)) + "\n</div>")
    parts += [_section(table) for table in report.read[first:] if table.rows]
    if report.notes:
        parts.append(f'<ul class="notes">\n{_items(report.notes)}\n</ul>')
    return "\n".join([*parts, "</body>\n</html>\n"])


@cache
def _style() -> str:
    return (files("store.report") / "page.css").read_text(encoding="utf-8")


def _items(sentences: Sequence[str]) -> str:
    return "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)


def _step(step: Step) -> str:
    return f"<li>Next: {escape(step.why)}: <code>{escape(step.command)}</code></li>"


def _figure(figure: Figure) -> str:
    caption = f"{escape(figure.title)}<small>{escape(figure.caption)}</small>"
    wide = ' class="wide"' if figure.wide else ""
    return f"<figure{wide}>\n<figcaption>{caption}</figcaption>\n{figure.svg}\n</figure>"


def _section(table: Table) -> str:
    head = "".join(map(_head, table.columns))
    rows = "\n".join(
        f"<tr>{''.join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))}</tr>"
        for row in table.rows
    )
    dense = ' class="dense"' if len(table.columns) > _MANY else ""
    grid = f"<table{dense}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f'<section>\n<h2>{escape(table.title)}</h2>\n<div class="scroll" tabindex="0">\n{grid}\n</div>\n</section>'


def _head(column: Column) -> str:
    definition = f' title="{escape(column.definition)}"' if column.definition else ""
    kind = ' class="number"' if column.numeric else ""
    return f'<th scope="col"{kind}{definition}>{escape(heading(column))}</th>'


def _cell(cell: Cell, column: Column) -> str:
    text = escape(shown(cell, column))
    if column.link and text.startswith(("https://", "http://")):
        text = f'<a href="{text}" rel="noreferrer">{text.removeprefix(_COMMITS) if _COMMITS in text else "open"}</a>'
    if column.title in _COMMANDS and text:
        text = f"<details><summary>command</summary><code>{text}</code></details>"
        return f'<td class="name">{text}</td>'
    kind = "number" if column.numeric else "prose" if len(text) > _PROSE else "name"
    tone = "bad" if cell in _BAD else "good" if cell in _GOOD else ""
    return f"""<td class="{kind}">{f'<span class="{tone}">{text}</span>' if tone else text}</td>"""
