"""Find events of a snapshot that no notice has reported yet: series that newly fail, got slower, or recovered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any
from urllib.parse import urlencode

import msgspec

from store.compare import Cell, Side
from store.errors import UsageError
from store.metrics.text import interval_text, significant
from store.query import Connection, fetch, named
from store.review import common_lanes
from store.state.notices import Kind, Notice
from store.weekly.lanes import base_of
from store.weekly.speed import CONFIRMED, NOT_CONFIRMED, speed_of


class FoundNotices(msgspec.Struct, frozen=True):
    """Notices in the order of their runs, and what was looked at: see `store.state.notices.looks`."""

    notices: tuple[Notice, ...]
    looked: dict[str, str]


def find(con: Connection, known: Mapping[str, Notice], looked: Mapping[str, str], now: datetime) -> FoundNotices:
    """Return what is new in runs that are over, began lately, and have not been looked at as they are.

    Args:
        con: a snapshot.
        known: the newest notice of each subject.
        looked: what the store had of each run when it was looked at last.
        now: UTC, without a zone.
    """
    runs = runs_of(con)
    over = [run for run in runs.values() if run.is_news(now) and run.is_over(now)]
    fresh = [run.run_id for run in over if looked.get(run.run_id) != run.state]
    notices = (*failures(con, fresh, runs, known, now), *regressions(con, fresh, runs, known))
    return FoundNotices(notices, {run: runs[run].state for run in fresh})


def model_page(run_id: str, row: Mapping[str, Any]) -> str:
    """Return the page of a result: `row` names suite, model and test."""
    return f"model?{urlencode({'run': run_id, **{name: row[name] for name in ('suite', 'model', 'test')}})}"


def compare_page(old: str, new: str) -> str:
    """Return the page that compares two runs."""
    return f"compare?{urlencode({'run': new, 'a': old, 'b': new})}"


NEWS = timedelta(days=3)
"""Runs that began earlier, as those of an archive that is ingested now, are no news."""
QUIET = timedelta(hours=1)
"""A run whose plan is not done is over all the same when nothing of it came for so long."""


class NoticedRun(msgspec.Struct, frozen=True):
    """A run; times are UTC without a zone."""

    run_id: str
    label: str
    started: datetime
    complete: bool
    ingested_at: datetime | None
    torch: str | None
    torch_xla: str | None

    def is_over(self, now: datetime) -> bool:
        """Say whether nothing more is to be expected of it."""
        return self.complete or self.ingested_at is None or now - self.ingested_at > QUIET

    def is_news(self, now: datetime) -> bool:
        """Say whether it is new enough to tell people of it."""
        return now - self.started <= NEWS

    @property
    def state(self) -> str:
        """Return a text that changes when more of it has come."""
        return f"{self.ingested_at} {self.complete}"

    @property
    def happened_at(self) -> float:
        return self.started.replace(tzinfo=UTC).timestamp()

    def text(self) -> str:
        """Return it as people name it, with its versions."""
        versions = f"torch {self.torch or 'unknown'}, torch_xla {self.torch_xla or 'none'}"
        return f"{self.label} of {self.started:%Y-%m-%d %H:%M} UTC ({self.run_id}), {versions}"


def runs_of(con: Connection) -> dict[str, NoticedRun]:
    """Return all runs by their id, the oldest first."""
    return {row["run_id"]: NoticedRun(**row) for row in fetch(con, named("notice_runs"))}


def failures(
    con: Connection, fresh: Sequence[str], runs: Mapping[str, NoticedRun], known: Mapping[str, Notice], now: datetime
) -> Iterator[Notice]:
    """Yield what newly fails or has recovered where the newest answer is one of the runs `fresh`.

    A series that people know to fail is told of again only after it has passed. One that never passed is not new, nor
    one that has failed for longer than news are.
    """
    for row in fetch(con, named("notice_failures"), {"runs": list(fresh)}):
        notice = known.get(f"failure {row['series_id']}")
        fails = notice is not None and notice.kind == "newly failing"
        since = runs[row["since_run_id"]]
        if row["pattern"].startswith("F"):
            if not fails and row["before_run_id"] and since.is_news(now):
                before = runs[row["before_run_id"]].text()
                text = f"{_cause(row)}\nFails since {since.text()}; passed before in {before}."
                title = f"Newly failing: {_series_name(row)}"
                yield _notice(row, since, "newly failing", "newly failing", title, text)
        elif fails:
            title, text = f"Recovered: {_series_name(row)} passes again", f"Passes since {since.text()}."
            yield _notice(row, since, "recovered", "recovered failure", title, text)


def _notice(row: dict[str, Any], since: NoticedRun, kind: Kind, event: str, title: str, text: str) -> Notice:
    return Notice(
        key=f"{event} {row['series_id']} {since.run_id}",
        kind=kind,
        subject=f"failure {row['series_id']}",
        title=title,
        text=f"{text}\n{_answers(row)}",
        page=model_page(since.run_id, row),
        run_id=since.run_id,
        base_run_id=row["before_run_id"],
        happened_at=since.happened_at,
    )


def _cause(row: dict[str, Any]) -> str:
    """Return why it fails; a wrong answer of a result that ran has only its reason."""
    if row["failure_status"] == "ok":
        return str(row["failure_reason"])
    phase = f" ({row['failure_phase']})" if row["failure_phase"] else ""
    reason = f": {row['failure_reason']}" if row["failure_reason"] else ""
    return f"{row['failure_status'].replace('_', ' ')}{phase}{reason}"


def _series_name(row: dict[str, Any], place: str | None = None) -> str:
    """Name a series; `place` is its accelerator as people know it."""
    place = place or row["accelerator_model"] or row["accelerator"]
    return f"{row['suite']}/{row['model']} {row['test']} {row['variant']} on {place}"


def _answers(row: dict[str, Any]) -> str:
    return (
        f"{row['failed_n']} of its newest {row['answered_n']} results failed ({row['pattern']}, the newest first; "
        "P passed, F failed, R passed on a retry)."
    )


# Series that got slower: suspected between two runs, confirmed or denied in turns, and those that are back.
class JudgedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A series in the newer run."""

    word: str
    """slower, faster, same, ambiguous or not comparable."""
    certainty: str
    """For slower and faster: confirmed, suspected or not confirmed; otherwise empty."""
    cell: Cell
    """The comparison with the stronger evidence."""
    row: dict[str, Any]
    """The result of the series in the newer run."""
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

    A series that people know to be slower is told of again only if it gets slower still. The oldest run comes first.
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
        title=f"{kind.capitalize()}: {_series_name(series.row, series.place)}, {_moved(series)}",
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
        title=f"Recovered: {_series_name(series.row, series.place)}, {how}",
        text=f"The notice was: {slower.title}\n{_evidence(series)}\nNow: {new.text()}",
        page=compare_page(str(slower.base_run_id), new.run_id),
        run_id=new.run_id,
        base_run_id=slower.base_run_id,
        happened_at=new.happened_at,
    )


def _moved(series: JudgedSeries) -> str:
    cell = series.cell
    if cell.old_s is None or cell.new_s is None:
        return "slower"
    return f"{significant(1e3 * cell.old_s)} ms to {significant(1e3 * cell.new_s)} ms"


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
        f"To compare the two runs: xlabench compare {old.run_id} {new.run_id}"
        + ("" if series.certainty == CONFIRMED else "; --confirm measures both sides again, interleaved")
    )
