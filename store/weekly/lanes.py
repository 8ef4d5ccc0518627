"""Which runs the review compares, and their results: on each machine the newest of a label, and one a week older."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from store.choose import run_named
from store.errors import UsageError
from store.query import Connection, fetch, named
from store.report.table import Column

WEEK = timedelta(days=7)
_SLACK = timedelta(hours=12)
"""The nightly run of a week before may have begun some hours later in the day."""
_HISTORY = 12
"""Runs that a chart shows at most."""


class RunRef(msgspec.Struct, frozen=True):
    """A run; `started` is UTC."""

    run_id: str
    label: str
    started: datetime

    def text(self) -> str:
        return f"{self.label} of {self.started:%Y-%m-%d %H:%M} UTC ({self.run_id})"


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One machine's accelerator, and its two runs; `last` is None where there is nothing to compare with."""

    accelerator: str
    accelerator_model: str | None
    host: str | None
    now: RunRef
    last: RunRef | None
    history: tuple[RunRef, ...]
    """Runs of this label here, the oldest first; `now` is the last of them."""
    note: str = ""
    """Why `last` is not what was asked for."""

    @property
    def name(self) -> str:
        """Return the accelerator as people know it."""
        return self.accelerator_model or self.accelerator

    @property
    def runs(self) -> list[str]:
        return [run.run_id for run in (self.last, self.now) if run is not None]


class _RunOnDevice(msgspec.Struct, frozen=True):
    run: RunRef
    key: tuple[str | None, ...]
    host: str | None
    planned_n: int


def lanes(con: Connection, runs: Sequence[str] = (), since: str | None = None) -> tuple[Lane, ...]:
    """Return what to review, one lane per accelerator and machine.

    Args:
        con: a snapshot.
        runs: the runs of this week: ids, or a label, of which the newest run in each place counts; none: of the label
            of the newest run that is no mere rerun of a few models, in each place the newest of the last week.
        since: what to compare with: a time (the newest run of the same label at or before it) or a run; None: a week
            before.

    Raises:
        UsageError: there is no run, or none of that name, or it measured nothing that can be reviewed.
    """
    places = [_place(row) for row in fetch(con, named("weekly_runs"))]
    if not places:
        raise UsageError("The store has no run. Measure with `xlabench run`, or `xlabench ingest PATH`.")
    moment, run = _since(con, since)
    reviewed = [_lane(now, places, moment, run) for now in _newest(con, places, runs)]
    return tuple(sorted(reviewed, key=lambda lane: (lane.accelerator, lane.name, lane.now.label, lane.host or "")))


def between(con: Connection, old: str, new: str) -> tuple[Lane, ...]:
    """Return two runs as they are named, whatever their machines: one lane per accelerator of the new one.

    Raises:
        UsageError: the new run measured nothing.
    """
    places = [_place(row) for row in fetch(con, named("weekly_runs"))]
    elsewhere = {place.key[0]: place.run for place in places if place.run.run_id == old}
    reviewed = []
    for now in (place for place in places if place.run.run_id == new):
        lane = _lane(now, places, None, old)
        last = lane.last or elsewhere.get(now.key[0])
        reviewed.append(
            msgspec.structs.replace(
                lane, last=last, note="" if last else f"Run {old} measured nothing on this machine."
            )
        )
    if not reviewed:
        raise UsageError(f"Run {new} measured nothing that can be compared. Name a run with results.")
    return tuple(reviewed)


def base_of(con: Connection, run: str) -> str | None:
    """Return the run that one compares with: on its machine the newest earlier one of its label and size, else of any.

    None where the machine measured nothing before.
    """
    places = [_place(row) for row in fetch(con, named("weekly_runs"))]
    now = next((place for place in places if place.run.run_id == run), None)
    if now is None:
        return None
    before = [place for place in places if place.key == now.key and place.run.started < now.run.started]
    alike = [place for place in _whole(before, now.planned_n) if place.run.label == now.run.label]
    base = next(iter([*alike, *before]), None)
    return base.run.run_id if base else None


def _place(row: dict[str, Any]) -> _RunOnDevice:
    key = (row["accelerator"], row["accelerator_model"], row["machine_id"])
    return _RunOnDevice(RunRef(row["run_id"], row["label"], row["started"]), key, row["host"], row["planned_n"])


def _newest(con: Connection, places: Sequence[_RunOnDevice], runs: Sequence[str]) -> list[_RunOnDevice]:
    if not runs:
        newest = places[0].run.started
        week = _whole([place for place in places if place.run.started > newest - WEEK])
        return _of_label(week, week[0].run.label)
    chosen: list[_RunOnDevice] = []
    for text in runs:
        found = _of_run(places, text) or _of_label(places, text) or _of_run(places, run_named(con, text))
        if not found:
            raise UsageError(f"{text} measured nothing that can be reviewed. Name a run with results.")
        chosen += found
    return list(dict.fromkeys(chosen))


def _whole(places: Sequence[_RunOnDevice], planned_n: int = 0) -> list[_RunOnDevice]:
    """Leave out runs of a few models, as a rerun of what failed: they plan under half of what others there do."""
    most: dict[tuple[str | None, ...], int] = {}
    for place in places:
        most[place.key] = planned_n or max(place.planned_n, most.get(place.key, 0))
    return [place for place in places if 2 * place.planned_n >= most[place.key]]


def _of_run(places: Sequence[_RunOnDevice], run_id: str) -> list[_RunOnDevice]:
    return [place for place in places if place.run.run_id == run_id]


def _of_label(places: Sequence[_RunOnDevice], label: str) -> list[_RunOnDevice]:
    """Return the newest run of a label in each place."""
    by_place: dict[tuple[str | None, ...], _RunOnDevice] = {}
    for place in places:
        if place.run.label == label:
            by_place.setdefault(place.key, place)
    return list(by_place.values())


def _since(con: Connection, text: str | None) -> tuple[datetime | None, str | None]:
    """Return the moment, or the run, that the word names."""
    if text is None:
        return None, None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None, _since_run(con, text)
    return (moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment), None


def _since_run(con: Connection, text: str) -> str:
    try:
        return run_named(con, text)
    except UsageError as error:
        raise UsageError(f"--since takes a date, such as 2026-11-16, or a run. {error}") from None


def _lane(now: _RunOnDevice, places: Sequence[_RunOnDevice], moment: datetime | None, run: str | None) -> Lane:
    before = [place for place in places if place.key == now.key and place.run.started < now.run.started]
    alike = [each.run for each in _whole(before, now.planned_n) if each.run.label == now.run.label]
    if run is not None:
        last = next((each.run for each in before if each.run.run_id == run), None)
        note = "" if last else f"Run {run} is not an earlier run on this machine, so nothing is compared."
    else:
        last, note = _at_or_before(alike, moment or now.run.started - WEEK + _SLACK)
    return Lane(
        accelerator=str(now.key[0]),
        accelerator_model=now.key[1],
        host=now.host,
        now=now.run,
        last=last,
        history=tuple(reversed([now.run, *alike][:_HISTORY])),
        note=note,
    )


def _at_or_before(runs: Sequence[RunRef], moment: datetime) -> tuple[RunRef | None, str]:
    """Return the newest run that is old enough, else the oldest there is."""
    if not runs:
        return None, "There is no earlier run of this label and size on this machine, so nothing is compared."
    old_enough = [run for run in runs if run.started <= moment]
    if old_enough:
        return old_enough[0], ""
    return runs[-1], f"No run started at or before {moment:%Y-%m-%d %H:%M} UTC, so the oldest run is used."


PAGE = Column(title="page", link=True)


class Pages(msgspec.Struct, frozen=True):
    """The dashboard at `address`; without one there are no links."""

    address: str | None = None

    def __post_init__(self) -> None:
        """Refuse an address that is neither http nor https.

        Raises:
            UsageError: it is no http address.
        """
        if self.address is not None and not self.address.startswith(("http://", "https://")):
            raise UsageError(f"{self.address} is not the address of a dashboard. Pass it as http://HOST:PORT.")

    def of(self, run: str, suite: str, model: str, test: str) -> str | None:
        """Return the page of a model in a run."""
        if self.address is None:
            return None
        chosen = urlencode({"run": run, "suite": suite, "model": model, "test": test})
        return f"{self.address.rstrip('/')}/speedup?{chosen}"


Row = dict[str, Any]
Key = tuple[Any, ...]
"""Key that a result shares with the one it is compared with: for two runs, experiment and environment."""
PASSED, FAILED = "P", "F"


class LaneSides(msgspec.Struct, frozen=True):
    """The results of both runs of a lane by the key that they share; `last` is empty without an earlier run."""

    lane: Lane
    now: dict[Key, Row]
    last: dict[Key, Row]

    def both(self, outcome: str) -> list[Key]:
        return [key for key in self.now if self.outcome(key) == outcome == self.outcome_before(key)]

    def keys(self) -> tuple[dict[tuple[str, str, str], Key], dict[tuple[str, str, str], Key]]:
        """Return the keys of both sides, now and last, by run, experiment and environment."""
        now, last = (
            {(row["run_id"], row["experiment_id"], row["environment"]): key for key, row in side.items()}
            for side in (self.now, self.last)
        )
        return now, last

    def outcome(self, key: Key) -> str | None:
        return self.now[key]["outcome"] if key in self.now else None

    def outcome_before(self, key: Key) -> str | None:
        return self.last[key]["outcome"] if key in self.last else None


def sides_of(con: Connection, lane: Lane) -> LaneSides:
    """Read both runs of a lane."""
    by_run: dict[str, dict[Key, Row]] = {run: {} for run in lane.runs}
    for row in fetch(con, named("weekly_results"), {"runs": lane.runs, "accelerator": lane.accelerator}):
        by_run[row["run_id"]][row["experiment_id"], row["environment"]] = row
    now = by_run[lane.now.run_id]
    return LaneSides(lane, now, _named_as(by_run[lane.last.run_id], now) if lane.last else {})


def _named_as(last: dict[Key, Row], now: dict[Key, Row]) -> dict[Key, Row]:
    """Return the last run's results under the name of this one's environment, where each run has a single one."""
    theirs, ours = ({environment for _, environment in side} for side in (last, now))
    if theirs == ours or len(theirs) != 1 or len(ours) != 1:
        return last
    (name,) = ours
    return {(experiment, name): row for (experiment, _), row in last.items()}
