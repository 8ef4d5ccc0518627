"""Look through a snapshot for what people have not been told yet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from store.notices.runs import failures, runs_of
from store.notices.speed import regressions
from store.query import Connection
from store.state.notices import Notice


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
