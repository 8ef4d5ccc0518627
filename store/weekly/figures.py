"""The charts of the review: what passed over the last runs, how speedups went, what moved."""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from store.query import Filters, fetch, named, with_baseline
from store.report.ratio_plot import colour
from store.report.render import Figure
from store.weekly.counts import order
from store.weekly.speed import CONFIRMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from store.query import Connection
    from store.weekly.lanes import Lane
    from store.weekly.results import Row
    from store.weekly.speed import Speed, SpeedChange


WIDTH, WIDE = 600, 1240
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 150, 12, 30
_HEIGHT = 250
_ROW = 24
_MOST_TICKS = 8
"""Most ticks of a logarithmic axis: more would overlap."""
_LABEL_GAP = 14
_NAMES = 380
"""Room for names left of the intervals."""
_CHARACTER = 6.4
"""Width of a character of the font, about."""
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


class FigureLine(NamedTuple):
    """A series; `points` has one value per run, or None. Lines of one colour differ in their dashes."""

    name: str
    colour: str
    points: Sequence[float | None]
    dash: int = 0


class FigureRatio(NamedTuple):
    """A ratio above 0 with its interval; `tone` is `good` or `bad`, `certain` fills the dot."""

    name: str
    low: float
    value: float
    high: float
    tone: str
    certain: bool


def lines(
    title: str, runs: Sequence[str], found: Sequence[FigureLine], *, log: bool = False, whole: bool = False
) -> str:
    """Return lines over runs, each named at its end; `log` puts 1 in sight and ratios on a logarithmic axis."""
    known = [value for line in found for value in line.points if value is not None] + ([1.0] if log else [])
    low, high = _range(known, log=log, whole=whole)
    y = _scale(low, high, _HEIGHT - _BOTTOM, _TOP, log=log)
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(runs) - 1)
    marks = [
        f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in _ticks(low, high, log=log, whole=whole)
    ]
    if log:
        marks.append(f'<line class="one" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(1):.1f}" y2="{y(1):.1f}"/>')
    marks += [
        f'<text x="{_LEFT + step * index:.1f}" y="{_HEIGHT - 8}" text-anchor="{_anchor(index, len(runs))}">'
        f"{escape(run)}</text>"
        for index, run in enumerate(runs)
        if index in _labelled(len(runs))
    ]
    ends = _spread([y(_last(line)) for line in found])
    marks += [_line(line, step, y, end) for line, end in zip(found, ends, strict=True)]
    return _svg(title, (WIDTH, _HEIGHT), marks)


def _svg(title: str, size: tuple[float, float], marks: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {size[0]:g} {size[1]:g}" role="img" aria-label="{escape(title)}">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *marks, "</svg>"])


def _line(line: FigureLine, step: float, y: Callable[[float], float], end: float) -> str:
    places = [(_LEFT + step * index, y(value)) for index, value in enumerate(line.points) if value is not None]
    path = " ".join(f"{x:.1f},{at:.1f}" for x, at in places)
    dash = f' stroke-dasharray="{_DASHES[line.dash % len(_DASHES)]}"' if line.dash else ""
    drawn = f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="2"{dash}/>'
    dots = "".join(f'<circle cx="{x:.1f}" cy="{at:.1f}" r="3" fill="{line.colour}"/>' for x, at in places)
    x = WIDTH - _RIGHT + 10
    name = f'<circle cx="{x}" cy="{end:.1f}" r="4" fill="{line.colour}"/>'
    return f'{drawn}{dots}{name}<text class="name" x="{x + 9}" y="{end + 4:.1f}">{_short(line.name, 130)}</text>'


def _last(line: FigureLine) -> float:
    return next((value for value in reversed(line.points) if value is not None), 1.0)


def _spread(places: Sequence[float]) -> list[float]:
    """Return the places of labels, moved apart so far that all can be read."""
    found = list(places)
    before = -math.inf
    for index in sorted(range(len(places)), key=lambda index: places[index]):
        found[index] = before = max(places[index], before + _LABEL_GAP)
    return found


def _anchor(index: int, count: int) -> str:
    return "middle" if 0 < index < count - 1 or count == 1 else "start" if index == 0 else "end"


def _labelled(count: int) -> set[int]:
    """Return which runs are named below: the ends, and one or two between where there is room."""
    return {round(part * (count - 1) / 3) for part in range(4)} if count > 3 else set(range(count))  # noqa: PLR2004


def _range(values: Sequence[float], *, log: bool, whole: bool) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if log:
        reach = max(math.log(1.1), *(abs(math.log(value)) for value in (low, high)))
        return math.exp(-1.1 * reach), math.exp(1.1 * reach)
    room = max(0.6, 0.1 * (high - low)) if whole else 0.1 * (high - low) or 1.0
    return max(0.0, low - room), high + room


def _scale(low: float, high: float, start: float, end: float, *, log: bool) -> Callable[[float], float]:
    form = math.log if log else float
    return lambda value: start + (form(value) - form(low)) / (form(high) - form(low)) * (end - start)


def _ticks(low: float, high: float, *, log: bool, whole: bool = False) -> list[float]:
    """Return round numbers within the range; on a logarithmic axis ratios and their inverses' neighbours."""
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        dense = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        fine = (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75)
        sets = [dense, *([10.0**power for power in powers if power % apart == 0] for apart in (1, 2, 4))]
        inside = [[tick for tick in ticks if low <= tick <= high] for ticks in sets]
        found = next((ticks for ticks in inside if len(ticks) <= _MOST_TICKS), inside[-1])
        return found if len(found) > 3 else [tick for tick in fine if low <= tick <= high] or [1.0]  # noqa: PLR2004
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    step = max(step, 1.0) if whole else step
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step) + 1)]


def ratios(title: str, found: Sequence[FigureRatio]) -> str:
    """Return one row per ratio: a dot with its interval on a logarithmic axis; a hollow dot is suspected only."""
    height = _TOP + _ROW * len(found) + _BOTTOM
    low, high = _range([value for each in found for value in (each.low, each.high)], log=True, whole=False)
    x = _scale(low, high, _NAMES, WIDE - 16, log=True)
    marks = [
        f'<line class="{"one" if tick == 1 else "grid"}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" '
        f'y2="{height - _BOTTOM}"/>'
        f'<text x="{x(tick):.1f}" y="{height - 10:g}" text-anchor="middle">{tick:g}</text>'
        for tick in _ticks(low, high, log=True)
    ]
    for index, each in enumerate(found):
        y = _TOP + _ROW * (index + 0.5)
        marks += [
            f'<text class="name" x="{_NAMES - 12}" y="{y + 4:g}" text-anchor="end">',
            f"{_short(each.name, _NAMES - 16)}</text>",
            f'<line class="{each.tone}" stroke-width="2" x1="{x(each.low):.1f}" x2="{x(each.high):.1f}" ',
            f'y1="{y:g}" y2="{y:g}"/>',
            f'<circle class="{each.tone}{"" if each.certain else " hollow"}" stroke-width="2" ',
            f'cx="{x(each.value):.1f}" cy="{y:g}" r="4.5"/>',
        ]
    return _svg(title, (WIDE, height), marks)


def _short(name: str, room: float) -> str:
    """Return a name that fits; the whole of it is there for who points at it."""
    most = int(room / _CHARACTER)
    shown = name if len(name) <= most else f"{name[: most - 1]}…"
    return f"{escape(shown)}<title>{escape(name)}</title>"


_MOST = 24
"""Changes that a chart shows; the table has all."""


def figures(con: Connection, lanes: Sequence[Lane], speed: Speed, baseline: str) -> tuple[Figure, ...]:
    """Return the charts; one of a single run or of nothing is left out."""
    found = [_changes(speed.changes)] if speed.changes else []
    for lane in lanes:
        if len(lane.history) > 1:
            found += [*_passing(con, lane), *_speedups(con, lane, baseline)]
    return tuple(found)


def _passing(con: Connection, lane: Lane) -> list[Figure]:
    parameters = {"runs": [run.run_id for run in lane.history], "accelerator": lane.accelerator}
    rows = fetch(con, named("weekly_history"), parameters)
    made = []
    for (test,), ours in _grouped(rows, "test").items():
        most = max(row["planned_n"] for row in ours)
        title = f"Passing, {test}, {lane.name}"
        drawn = lines(title, _days(lane), _lines(lane, ours, "passed_n"), whole=True)
        made.append(Figure(title, f"Experiments of {most} planned with each variant, over the last runs", drawn))
    return made


def _speedups(con: Connection, lane: Lane, baseline: str) -> list[Figure]:
    chosen = Filters(run=tuple(run.run_id for run in lane.history), accelerator=(lane.accelerator,))
    rows = fetch(con, named("geomeans"), with_baseline(chosen, baseline, None))
    rows = [row for row in rows if row["variant"] != baseline and row["geomean"] is not None]
    made = []
    several = len({row["suite"] for row in rows}) > 1
    for (test, suite), ours in _grouped(rows, "test", "suite").items():
        title = ", ".join([f"Speedup over {baseline}", test, *([suite] if several else []), lane.name])
        counts = sorted({row["n"] for row in ours})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        models = "the one paired model" if n == "1" else f"the {n} paired models"
        drawn = lines(title, _days(lane), _lines(lane, ours, "geomean"), log=True)
        made.append(Figure(title, f"Geometric mean over {models} of each run; log scale", drawn))
    return made


def _grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(str(row[name]) for name in names)].append(row)
    return dict(sorted(found.items()))


def _days(lane: Lane) -> list[str]:
    return [f"{run.started:%m-%d}" for run in lane.history]


def _lines(lane: Lane, rows: Sequence[Row], column: str) -> list[FigureLine]:
    """Return one line per variant, and environment where a variant has several."""
    names = [name for name in ("environment",) if len({row.get(name) for row in rows}) > 1]
    series: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    backends = {}
    for row in rows:
        key = (str(row["variant"]), *(str(row[name]) for name in names))
        series[key][row["run_id"]] = float(row[column])
        backends[key] = str(row["backend"])
    found: list[FigureLine] = []
    for key in sorted(series, key=lambda key: (order(key[0]), key)):
        tone = colour(backends[key])
        points = [series[key].get(run.run_id) for run in lane.history]
        found.append(FigureLine(" ".join(key), tone, points, sum(line.colour == tone for line in found)))
    return found


def _changes(changes: Sequence[SpeedChange]) -> Figure:
    known = [each for each in changes if None not in (each.shown.verdict.low, each.shown.verdict.high)]
    shown = known[:_MOST]
    left = f"; the first {_MOST} of {len(known)}" if len(known) > _MOST else ""
    title = "Slower and faster: last time / time now"
    caption = f"Left of 1 is slower; intervals; filled dots are confirmed, hollow ones suspected{left}"
    return Figure(title, caption, ratios(title, [_ratio(each) for each in shown]), wide=True)


def _ratio(change: SpeedChange) -> FigureRatio:
    cell, verdict = change.before, change.shown.verdict
    low, value, high = verdict.low or 1.0, verdict.ratio or 1.0, verdict.high or 1.0
    tone = "bad" if change.word == "slower" else "good"
    name = f"{cell.model} {cell.test} {cell.variant}"
    return FigureRatio(name, low, value, high, tone, change.certainty == CONFIRMED)
