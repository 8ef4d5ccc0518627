"""Which experiments newly pass, newly fail, or are gone, each with its cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from store.query import Connection, fetch, named
from store.report.table import Cell, Column, Table, text_columns
from store.weekly.lanes import FAILED, PAGE, PASSED, LaneSides, Pages, Row, RunRef

COUNTS = "yes"
"""A new failure counts when the automatic retry failed, too."""
NOT_RETRIED = "no: not retried"
_LOOKED_AT = 10
"""Newest answers of a series that query `weekly_states` looks at."""
_WHAT = text_columns("accelerator", "suite", "model", "test", "variant")


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment whose outcome is not what it was."""

    place: str
    now: Row | None
    last: Row | None
    counts: str = ""
    """Whether a new failure counts."""
    state: str | None = None
    """State of its series over the last runs, with the outcomes from the newest on."""
    since: str | None = None
    """The first run of those in a row that failed."""

    def what(self) -> tuple[Cell, ...]:
        row = self.now or self.last or {}
        return (self.place, row["suite"], row["model"], row["test"], row["variant"])


class Flips(msgspec.Struct, frozen=True, kw_only=True):
    """All changed outcomes of a review."""

    failing: tuple[Flip, ...]
    passing: tuple[Flip, ...]
    flaky: tuple[Flip, ...]
    """Pass, but on a retry only, or passed last time and failed in between."""
    gone: tuple[Flip, ...]
    """Passed or failed last time, and were not tried this time."""
    added: tuple[Flip, ...]
    still: tuple[Flip, ...]
    """Experiments that failed in both runs."""


def flips_of(con: Connection, lanes: Iterable[LaneSides]) -> Flips:
    """Return what flipped in all lanes."""
    by_kind: dict[str, list[Flip]] = {name: [] for name in Flips.__struct_fields__}
    for sides in lanes:
        _of_lane(con, sides, by_kind)
    by_kind["failing"].sort(key=lambda flip: flip.counts != COUNTS)
    return Flips(**{name: tuple(flips) for name, flips in by_kind.items()})


def _of_lane(con: Connection, sides: LaneSides, by_kind: dict[str, list[Flip]]) -> None:
    place = sides.lane.name
    tries = {
        (row["experiment_id"], row["environment"]): row
        for row in fetch(con, named("weekly_attempts"), {"run": sides.lane.now.run_id})
    }
    states = {row["series_id"]: row for row in fetch(con, named("weekly_states"), {"until": sides.lane.now.started})}
    for key, now in sides.now.items():
        before, after = sides.outcome_before(key), sides.outcome(key)
        last = sides.last.get(key)
        state = states.get(now["series_id"], {})
        failed_since = _failed_since(state, sides.lane.last)
        tried = tries.get((now["experiment_id"], now["environment"]), {})
        if after == PASSED and (failed_since if before == PASSED else tried.get("failed_n")):
            by_kind["flaky"].append(Flip(place=place, now=now, last=last, state=_state(state)))
        if sides.lane.last is None:
            continue
        if after == FAILED and before == PASSED:
            by_kind["failing"].append(_failing(place, now, last, tried, state))
        elif after == PASSED and before == FAILED:
            by_kind["passing"].append(Flip(place=place, now=now, last=last))
        elif after == FAILED and before == FAILED:
            by_kind["still"].append(_failing(place, now, last, tried, state))
        elif after is not None and before is None:
            by_kind["added"].append(Flip(place=place, now=now, last=last))
    for key, last in sides.last.items():
        if sides.outcome_before(key) is not None and sides.outcome(key) is None:
            by_kind["gone"].append(Flip(place=place, now=sides.now.get(key), last=last))


def _failed_since(state: Row, last: RunRef | None) -> bool:
    """Tell whether an answer of a run after `last` failed, or needed a retry; a series has no answer of some runs."""
    if not state or last is None:
        return False
    answers = zip(state["pattern"], state["pattern_started"], strict=True)
    return any(letter in "FR" and started > last.started for letter, started in answers)


def _failing(place: str, now: Row, last: Row | None, tries: Row, state: Row) -> Flip:
    return Flip(
        place=place,
        now=now,
        last=last,
        counts=COUNTS if tries.get("failed_n", 0) > 1 else NOT_RETRIED,
        state=_state(state),
        since=since_of(state),
    )


def since_of(state: Row) -> str | None:
    """Return the first run of those that failed in a row; all that were looked at may not be all that failed."""
    if not state:
        return None
    run = f"{state['since_run_id']} ({state['since_started']:%Y-%m-%d})"
    return f"{run} or earlier" if state["pattern"] == "F" * _LOOKED_AT else run


def _state(state: Row) -> str | None:
    """Return what the last runs say, as `flaky, failed 2 of 5 (RPFPP)`."""
    if not state:
        return None
    return f"{state['state']}, failed {state['failed_n']} of {state['answered_n']} ({state['pattern']})"


def cause(row: Row) -> str:
    """Return why a result failed, in one line."""
    if row["verification_code"] == "FAIL":
        return "wrong answer"
    where = f" ({row['failure_phase']})" if row["failure_phase"] else ""
    return f"{row['status']}{where}: {row['reason']}" if row["reason"] else f"{row['status']}{where}"


def tables(flips: Flips, pages: Pages) -> tuple[Table, ...]:
    """Return all of it, what a reader acts on first."""
    return (
        _table(
            "Newly failing",
            flips.failing,
            ("counts", "cause", "last runs", "failing since", "reproduce", PAGE),
            lambda flip: (
                flip.counts,
                cause(flip.now),
                flip.state,
                flip.since,
                flip.now["reproduce"],
                pages.of(*(flip.now[name] for name in ("run_id", "suite", "model", "test"))),
            ),
        ),
        _table("Newly passing", flips.passing, ("failed because",), lambda flip: (cause(flip.last),)),
        _table(
            "Flaky: passes now, but not always",
            flips.flaky,
            ("attempt that passed", "last runs"),
            lambda flip: (int(flip.now["attempt"]), flip.state),
        ),
        _table("No longer tried", flips.gone, ("because",), lambda flip: (gone_because(flip),)),
        _table("New in the plan", flips.added, ("outcome",), lambda flip: (_outcome(flip.now),)),
        _causes(flips.failing),
    )


def _table(title: str, flips: Sequence[Flip], columns: Sequence[str | Column], cells: Any) -> Table:
    rows = tuple((*flip.what(), *cells(flip)) for flip in flips)
    more = (column if isinstance(column, Column) else Column(title=column) for column in columns)
    return Table(title=title, columns=(*_WHAT, *more), rows=rows)


def gone_because(flip: Flip) -> str:
    """Return why an experiment is no longer tried."""
    if flip.now is None:
        return "no longer in the plan"
    return f"{flip.now['status'].replace('_', ' ')}: {flip.now['reason']}"


def _outcome(row: Row) -> str:
    return "passes" if row["outcome"] == PASSED else f"fails: {cause(row)}"


def _causes(failing: Sequence[Flip]) -> Table:
    """Return one row per cause that new failures share: one bug often breaks many models."""
    by_cause: dict[str, list[str]] = {}
    for flip in failing:
        row = flip.now or {}
        by_cause.setdefault(row["error_signature"] or cause(row), []).append(f"{row['model']} {row['test']}")
    shared = sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0]))
    columns = (
        Column(title="cause, with names and numbers removed"),
        Column(title="n", numeric=True),
        Column(title="results"),
    )
    rows = tuple((text, len(names), ", ".join(sorted(set(names)))) for text, names in shared)
    return Table(title="Causes of new failures", columns=columns, rows=rows)
