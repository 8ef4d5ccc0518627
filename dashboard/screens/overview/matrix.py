"""The matrix of page Overview: geometric means of speedups by suite, test and backend."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape as html
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import KEYS, SYNTHETIC, backend_rank, each, key_of, unit
from dashboard.jobs import rerun
from dashboard.screens.overview.board import Board, is_baseline, sql_of
from dashboard.ui import answers, downloads
from dashboard.ui.verdicts import look
from dashboard.view import View, links
from dashboard.words import DASH, count, interval, listed, missing, ratio, share, shortened
from store.charts.palette import colour
from store.stats.geomean import Ratio, Spread, spread

_LONGEST = 80
_RERUNS_NAMED = 2
_LEAST_REACH = math.log(1.1)
"""Least height of a sparkline in logarithms of a speedup: changes of a few percent look flat."""
_SERIES_KEY = [name for name in KEYS if name not in ("accelerator_model", "backend")]
"""Columns of a series without its model that results and means share."""


class MatrixRow(NamedTuple):
    """A row of the matrix."""

    suite: str
    rest: tuple[str, ...]
    """The test, and the accelerator and settings where rows differ in them."""
    cells: dict[str, Any]
    """Variant → row of the board."""
    baseline: Any | None
    """The baseline's own row."""


class ModelsBehind(NamedTuple):
    """Details of each mean, by series without its model."""

    spreads: dict[tuple[Any, ...], Spread]
    reruns: dict[tuple[Any, ...], list[Any]]
    """The newest rerun of each result that was measured again."""


def show(view: View, board: Board) -> None:
    """Draw the table of means."""
    places = _places(view, board)
    columns = order_of_backends({(row.variant, row.backend) for place in places for row in place.cells.values()})
    if not columns:
        return
    models = ModelsBehind(_spreads(view), _measured_again(view))
    st.html(_table(view, places, columns, models))
    rows = [row for place in places for row in place.cells.values()]
    downloads.below(exported(rows, models.spreads), "matrix", view.file_name("matrix"), sql_of(view, board))


def exported(rows: Iterable[Any], spreads: dict[tuple[Any, ...], Spread]) -> pd.DataFrame:
    """Return the numbers of the matrix for export, one row per mean."""
    return pd.DataFrame([_exported_row(row, spreads.get(key_of(row, _SERIES_KEY))) for row in rows])


def _exported_row(row: Any, behind: Spread | None) -> dict[str, Any]:
    names = (
        "suite",
        "test",
        "accelerator",
        "environment",
        "dtype",
        "variant",
        "geomean",
        "geomean_low",
        "geomean_high",
    )
    numbers = ("n", "planned_n", "ran_n", "verified_n")
    values = {name: getattr(row, name) for name in (*names, *numbers)}
    if behind is not None:
        values |= {
            "median": behind.median,
            "faster_n": behind.faster,
            "same_n": behind.same,
            "slower_n": behind.slower,
            "without_interval_n": behind.unknown,
            "largest_outlier": behind.outlier,
            "geomean_without_it": behind.without,
        }
    return values | {"since_the_run_before": row.change}


def _places(view: View, board: Board) -> list[MatrixRow]:
    """Return the rows of the matrix; synthetic suites are last."""
    several = len(set(board.cells["accelerator"])) > 1
    by_key: dict[tuple[str, ...], MatrixRow] = {}
    for row in each(board.cells):
        setting = str(row.series)[len(str(row.variant)) :].strip(" ·")
        rest = tuple(filter(None, (row.test, row.accelerator if several else "", setting)))
        place = by_key.setdefault((row.suite, *rest), MatrixRow(row.suite, rest, {}, None))
        if is_baseline(row, view):
            by_key[(row.suite, *rest)] = place._replace(baseline=row)
        else:
            place.cells[row.variant] = row
    ordered = sorted(by_key.values(), key=lambda place: (place.suite in SYNTHETIC, place.suite, place.rest))
    return [place for place in ordered if place.cells]


def order_of_backends(variants: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return variants and their backends, XLA first, the reference last."""
    return sorted(variants, key=lambda pair: (backend_rank(pair[1]), pair))


def _spreads(view: View) -> dict[tuple[Any, ...], Spread]:
    """Return how the speedups of each mean are spread, by series without its model."""
    ratios: dict[tuple[Any, ...], list[Ratio]] = {}
    for row in each(data.rows(view.snapshot, "speedups", view.selection)):
        if row.speedup > 0:
            low, high = (None if missing(end) else float(end) for end in (row.speedup_low, row.speedup_high))
            ratios.setdefault(key_of(row, _SERIES_KEY), []).append(Ratio(row.model, float(row.speedup), low, high))
    return {key: summary for key, part in ratios.items() if (summary := spread(part))}


def _measured_again(view: View) -> dict[tuple[Any, ...], list[Any]]:
    """Return the newest rerun of each result, by series without its model."""
    reruns = rerun.newest(view)
    parts: dict[tuple[Any, ...], list[Any]] = {}
    for row in each(data.rows(view.snapshot, "speedups", view.selection)) if reruns else ():
        if row.series_id in reruns:
            parts.setdefault(key_of(row, _SERIES_KEY), []).append(reruns[row.series_id])
    return parts


def _table(
    view: View,
    places: Sequence[MatrixRow],
    columns: Sequence[tuple[str, str]],
    models: ModelsBehind,
) -> str:
    heads = "".join(f'<th><i style="background:{colour(backend)}"></i>{html(name)}</th>' for name, backend in columns)
    rows = "".join(_row(view, place, columns, models) for place in places)
    over = html(view.selection.baseline)
    return (
        f'<div class="xl-matrix"><table><thead><tr><th>Speedup over {over}</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(
    view: View,
    place: MatrixRow,
    columns: Sequence[tuple[str, str]],
    models: ModelsBehind,
) -> str:
    head = f"<b>{html(place.suite)}</b><small>{html(' · '.join(place.rest))}</small>{_of_baseline(view, place)}"
    cells = "".join(_cell(view, name, place.cells.get(name), models) for name, _ in columns)
    return f"<tr><th>{head}</th>{cells}</tr>"


def _of_baseline(view: View, place: MatrixRow) -> str:
    """Return how the baseline's own time moved, because it moves every speedup of the row."""
    moved = None if place.baseline is None else place.baseline.moved
    if moved is None or moved.backend.word not in ("faster", "slower"):
        return ""
    shown = look(moved.backend.word)
    factor = answers.times(moved.backend.ratio or 1)
    name = html(view.selection.baseline)
    return f'<small style="color:{shown.colour}">{name} {shown.sign} {factor} {shown.word}</small>'


def _cell(
    view: View,
    name: str,
    row: Any | None,
    models: ModelsBehind,
) -> str:
    opened = f'<td data-backend="{html(name)}">'
    if row is None:
        return f'{opened}<small class="none">not planned</small></td>'
    where = {"suite": row.suite, "test": row.test, "accelerator": row.accelerator, "backend": row.backend}
    address = html(links.href(view, "speedup", **{key: [value] for key, value in where.items()}))
    key = key_of(row, _SERIES_KEY)
    behind, reruns = models.spreads.get(key), _reruns(view, where, models.reruns.get(key, ()))
    if missing(row.geomean) or behind is None:
        why = "no speedup" if row.note == DASH else row.note.removeprefix("no speedup: ")
        lines = [shortened(why, _LONGEST), _passed(row)]
        return f'{opened}<a href="{address}" target="_self">{DASH}</a>{_small(lines)}{reruns}</td>'
    word, ink = _word(row, behind)
    first = f'<a href="{address}" target="_self" style="color:{ink}">{ratio(row.geomean)}</a> <em>{html(word)}</em>'
    lines = [_interval_text(row, behind), _counts(behind), _passed(row)]
    return f"{opened}{_spark(row.trend)}{first}{_change(view, row)}{_small(lines)}{reruns}</td>"


def _word(row: Any, behind: Spread) -> tuple[str, str]:
    """Return the verdict of a mean in words, and its colour; one model alone is judged by its own interval."""
    models = len(behind.models)
    alone = models == 1 and not row.cross_device and not behind.unknown
    if missing(row.geomean_low) and not alone:
        few = f"{count(models, unit([row.suite]))}, no interval"
        return ("cross-device" if row.cross_device else few), "inherit"
    if behind.same if alone else row.geomean_low <= 1 <= row.geomean_high:
        return "no difference shown", "inherit"
    if row.geomean > 1:
        return "faster", look("faster").colour
    return f"{answers.times(row.geomean)} slower", look("slower").colour


def _interval_text(row: Any, behind: Spread) -> str:
    """Return the interval and the median, or the model's name where there is only one."""
    if len(behind.models) == 1:
        return f"{shortened(behind.models[0], 28)} only"
    parts = [] if missing(row.geomean_low) else [f"CI {interval(row.geomean_low, row.geomean_high)}"]
    return " · ".join([*parts, f"median {ratio(behind.median)}"])


def _counts(behind: Spread) -> str:
    numbers = {
        "faster": behind.faster,
        "no difference shown": behind.same,
        "slower": behind.slower,
        "without interval": behind.unknown,
    }
    parts = [f"{number} {word}" for word, number in numbers.items() if number]
    if behind.without is not None and behind.outlier is not None:
        parts.append(f"{ratio(behind.without)} without {shortened(behind.outlier, 22)}")
    return " · ".join(parts)


def _passed(row: Any) -> str:
    """Return how many planned experiments passed, or how many ran where none was verified."""
    planned = int(row.planned_n)
    if row.verify_asked:
        return f"passed {share(int(row.verified_n), planned)}"
    return f"ran {share(int(row.ran_n), planned)}{', not verified' if row.ran_n else ''}"


def _change(view: View, row: Any) -> str:
    """Return the change since the run before, in the colour of its verdict."""
    if row.moved is None:
        return ""
    shown = look("same" if row.moved.by_baseline_only else row.moved.backend.word)
    sentence = f"{answers.change_word(row.moved, view.selection.baseline)}, {answers.from_to(row.moved)}"
    return f'<small class="change" style="color:{shown.colour}">{html(sentence)}</small>'


def _reruns(view: View, where: Mapping[str, str], reruns: Sequence[Any]) -> str:
    """Return a link to the newest of the runs that measured results of a cell again."""
    if not reruns:
        return ""
    run = max(reruns, key=lambda row: (row.run_started, row.run_id)).run_id
    address = links.href(view, "speedup", **{key: [value] for key, value in where.items()} | {"run": run})
    outcomes = listed([f"{row.model} {rerun.outcome(row)}" for row in reruns], _RERUNS_NAMED)
    outcome_text = html(f"{rerun.MARK} measured again: {outcomes}")
    return f'<small class="again"><a href="{html(address)}" target="_self">{outcome_text}</a></small>'


def _small(lines: Sequence[str]) -> str:
    return "".join(f"<small>{html(line)}</small>" for line in lines if line)


def _spark(values: Any) -> str:
    """Return the means of the last runs as a sparkline; it is empty where there are fewer than two.

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
