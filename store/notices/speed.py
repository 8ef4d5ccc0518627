"""Series that got slower: suspected between two runs, confirmed or denied in turns, and those that are back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache, partial
from typing import Any

import msgspec

from store.compare import Cell, Side
from store.errors import UsageError
from store.metrics.text import interval_text
from store.notices.runs import NoticedRun, compare_page
from store.query import Connection, fetch, named
from store.review import common_lanes
from store.state.notices import Kind, Notice
from store.weekly.lanes import base_of
from store.weekly.speed import CONFIRMED, NOT_CONFIRMED, speed_of


class JudgedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A series in the newer run."""

    word: str
    """slower, faster, same, ambiguous or not comparable."""
    certainty: str
    """For slower and faster: confirmed, suspected or not confirmed; otherwise empty."""
    cell: Cell
    """The better evidence."""
    row: dict[str, Any]
    """Its result in the newer run."""
    place: str
    """The accelerator as people know it."""


def judged(con: Connection, old: str, new: str) -> dict[str, JudgedSeries]:
    """Return the verdicts of two runs by series; nothing where the newer one measured nothing."""
    try:
        parts = common_lanes(con, Side(text=old, run_id=old), Side(text=new, run_id=new))
    except UsageError:
        return {}
    rows = {
        (row["experiment_id"], row["environment"]): (row, part.lane.name) for part in parts for row in part.now.values()
    }
    speed = speed_of(con, [part.lane for part in parts])
    cells: list[tuple[Cell, Cell, str, str]] = [
        (cell, cell, cell.verdict.word, "") for comparison in speed.comparisons for cell in comparison.cells
    ]
    cells += [(change.before, change.shown, change.word, change.certainty) for change in speed.changes]
    by_series = {}
    for cell, shown, word, certainty in cells:
        row, place = rows.get((cell.experiment_id, cell.environment or "default"), (None, ""))
        if row is not None:
            by_series[str(row["series_id"])] = JudgedSeries(
                word=word, certainty=certainty, cell=shown, row=row, place=place
            )
    return by_series


Compared = Callable[[str, str], dict[str, JudgedSeries]]
_SUSPECTED: Kind = "suspected regression"
_CONFIRMED: Kind = "confirmed regression"
_REGRESSIONS = (_SUSPECTED, _CONFIRMED)
_BACK = ("same", "faster")
_DOUBTED = timedelta(days=14)
"""How long a confirming run is looked for."""
_REMEMBERED = timedelta(days=30)
"""How long a recovery is reported: later the result is compared with other runs."""


def regressions(
    con: Connection, fresh: Sequence[str], runs: Mapping[str, NoticedRun], known: Mapping[str, Notice]
) -> Iterator[Notice]:
    """Yield what got slower in the runs `fresh`, what confirming runs say of it, and what is as fast as before again.

    A series that people know to be slower is told of again only if it gets slower still.

    Args:
        con: a snapshot.
        fresh: runs to look at, the oldest first.
        runs: all of the snapshot.
        known: the newest notice of each subject.
    """
    compared = cache(partial(judged, con))
    standing = dict(known)
    for run in (None, *fresh):
        made = _settled(compared, runs, standing) if run is None else _of_run(con, compared, run, runs, standing)
        for notice in made:
            standing[notice.subject] = notice
            yield notice


def _settled(compared: Compared, runs: Mapping[str, NoticedRun], standing: Mapping[str, Notice]) -> Iterator[Notice]:
    """Yield what confirming runs that have come since say of suspicions."""
    newest = max((noticed.started for noticed in runs.values()), default=None)
    for notice in list(standing.values()):
        sides = _sides(notice, runs)
        if notice.kind != _SUSPECTED or sides is None or newest is None or newest - sides[1].started > _DOUBTED:
            continue
        series = compared(sides[0].run_id, sides[1].run_id).get(_series(notice))
        if series is not None and series.word == "slower" and series.certainty == CONFIRMED:
            yield _slower(series, notice.subject, *sides)
        elif series is not None and series.word == "slower" and series.certainty == NOT_CONFIRMED:
            yield _recovered(series, notice, sides[1], "not confirmed: both sides were measured again, interleaved")


def _of_run(
    con: Connection, compared: Compared, run: str, runs: Mapping[str, NoticedRun], standing: Mapping[str, Notice]
) -> Iterator[Notice]:
    """Yield what is back in a run, then what got slower in it."""
    new, base = runs[run], base_of(con, run)
    measured = {row["series_id"] for row in fetch(con, named("notice_series"), {"run": run})}
    for notice in list(standing.values()):
        sides = _sides(notice, runs)
        if notice.kind not in _REGRESSIONS or _series(notice) not in measured or sides is None:
            continue
        if timedelta(0) < new.started - sides[1].started <= _REMEMBERED:
            back = _back(compared, notice, sides, new)
            if back is not None:
                yield back
    if base is None:
        return
    for series, moved in compared(base, run).items():
        subject = f"speed {series}"
        last = standing.get(subject)
        # Against the run that people were told of, or a later one, it is slower still.
        further = last is None or last.kind not in _REGRESSIONS or runs[base].happened_at >= last.happened_at
        if moved.word == "slower" and moved.certainty != NOT_CONFIRMED and further:
            yield _slower(moved, subject, runs[base], new)


def _sides(notice: Notice, runs: Mapping[str, NoticedRun]) -> tuple[NoticedRun, NoticedRun] | None:
    """Return the runs behind a notice, while the store has them."""
    old, new = (runs.get(run or "") for run in (notice.base_run_id, notice.run_id))
    return None if old is None or new is None else (old, new)


def _series(notice: Notice) -> str:
    return notice.subject.removeprefix("speed ")


def _back(compared: Compared, notice: Notice, sides: tuple[NoticedRun, NoticedRun], new: NoticedRun) -> Notice | None:
    """Return that a series is as fast as before: by its verdict, or faster than then and not slower than before."""
    before = compared(sides[0].run_id, new.run_id).get(_series(notice))
    if before is None or before.word not in (*_BACK, "ambiguous"):
        return None
    if before.word == "ambiguous":
        then = compared(sides[1].run_id, new.run_id).get(_series(notice))
        if then is None or then.word != "faster":
            return None
        return _recovered(
            before, notice, new, "faster than in the slow run, and no longer clearly slower than before it"
        )
    return _recovered(
        before, notice, new, f"{before.word} as before" if before.word == "same" else "faster than before"
    )


def _slower(series: JudgedSeries, subject: str, old: NoticedRun, new: NoticedRun) -> Notice:
    kind = _CONFIRMED if series.certainty == CONFIRMED else _SUSPECTED
    return Notice(
        key=f"{kind} {subject} {new.run_id}",
        kind=kind,
        subject=subject,
        title=f"{kind.capitalize()}: {_what(series)}, {_moved(series)}",
        text=_text(series, old, new),
        page=compare_page(old.run_id, new.run_id),
        run_id=new.run_id,
        base_run_id=old.run_id,
        happened_at=new.happened_at,
    )


def _recovered(series: JudgedSeries, slower: Notice, new: NoticedRun, how: str) -> Notice:
    return Notice(
        key=f"recovered {slower.subject} {slower.run_id}",
        kind="recovered",
        subject=slower.subject,
        title=f"Recovered: {_what(series)}, {how}",
        text=f"The notice was: {slower.title}\n{_evidence(series)}\nNow: {new.text()}",
        page=compare_page(str(slower.base_run_id), new.run_id),
        run_id=new.run_id,
        base_run_id=slower.base_run_id,
        happened_at=new.happened_at,
    )


def _what(series: JudgedSeries) -> str:
    row = series.row
    return f"{row['suite']}/{row['model']} {row['test']} {row['variant']} on {series.place}"


def _moved(series: JudgedSeries) -> str:
    cell = series.cell
    if cell.old_s is None or cell.new_s is None:
        return "slower"
    return f"{1e3 * cell.old_s:.3g} ms to {1e3 * cell.new_s:.3g} ms"


def _evidence(series: JudgedSeries) -> str:
    verdict = series.cell.verdict
    if verdict.ratio is None:
        return f"{verdict.reason}."
    interval = (
        ""
        if verdict.low is None or verdict.high is None
        else f", interval {interval_text(verdict.low, verdict.high, ' to ')}"
    )
    return f"Old / new {verdict.ratio:.3f}{interval}, n = {verdict.processes} processes: {verdict.reason}."


def _text(series: JudgedSeries, old: NoticedRun, new: NoticedRun) -> str:
    return (
        f"{_evidence(series)}\nBefore: {old.text()}\nNow: {new.text()}\n"
        f"Look: xlabench compare {old.run_id} {new.run_id}"
        + ("" if series.certainty == CONFIRMED else "; --confirm measures both sides again, interleaved")
    )
