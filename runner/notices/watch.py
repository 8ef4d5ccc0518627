"""When to check for notices: after results were published, when a run is overdue, and when one must be sent again.

The check is a separate process: it opens the index, which a worker does not, and a slow server delays nothing else.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.jobs import check, recurring
from runner.jobs.recurring import NOTICED_WITHIN_S
from runner.schedule import devices
from store.state import FILE_NAME, notices, schedules
from store.state.database import opened
from store.state.schedules import Schedule

_POINTER = "CURRENT"
"""The file of the store's folder that names the newest snapshot."""
LEFT_TO_ANOTHER = 3
"""Exit code of a check that did nothing, because another process was checking."""
AGAIN_S = 30.0
"""Minimum seconds between two checks."""
_QUIET_S = 3700.0
"""Seconds until a run counts as over, because nothing of it arrived for an hour; then it is checked again."""


@dataclass
class NoticeWatch:
    """Starts a check whenever there may be a new notice; `step` is called every few seconds and is cheap."""

    home: Path
    store: Path
    """Folder of the index."""
    command: Sequence[str]
    """The command that looks for notices once."""
    clock: Callable[[], float] = time.time
    _running: subprocess.Popen[bytes] | None = None
    _looked_at: float = 0.0
    _seen: dict[str, object] = field(default_factory=dict)
    _seen_before: dict[str, object] = field(default_factory=dict)
    """The state at the check before the last one."""

    def step(self) -> None:
        """Start a check if there is a reason for one and none is running."""
        now = self.clock()
        code = None if self._running is None else self._running.poll()
        if (self._running is not None and code is None) or 0 <= now - self._looked_at < AGAIN_S:
            return
        if code == LEFT_TO_ANOTHER:  # the other check may have started before this change
            self._seen = self._seen_before
        with opened(self.home / FILE_NAME) as con:
            state, next_at = self._state(con, now), notices.next_at(con)
        waits = next_at is None or now < next_at <= now + notices.LONGEST_WAIT_S
        if state == self._seen and waits:
            return
        self._seen_before, self._seen, self._looked_at = self._seen, state, now
        self._running = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)

    def _state(self, con: sqlite3.Connection, now: float) -> dict[str, object]:
        """Return the values that must change for another check, without those that are None."""
        over = con.execute("SELECT max(finished_at) FROM jobs").fetchone()[0]
        # Results that a run publishes while it measures are checked after its end: a check would disturb it.
        published = self._seen.get("published") if devices.measured_on() else self._published()
        passed = max((moment for moment in self._moments(con, now) if moment <= now), default=None)
        refused = con.execute("SELECT max(due_at) FROM schedule_ticks WHERE job_id IS NULL").fetchone()[0]
        state = {"over": over, "published": published, "passed": passed, "refused": refused}
        return {name: value for name, value in state.items() if value is not None}

    def _published(self) -> tuple[str, float] | None:
        """Return which snapshot is the newest, and since when."""
        path = self.store / _POINTER
        try:
            return path.read_text(encoding="utf-8"), path.stat().st_mtime
        except (OSError, UnicodeDecodeError):
            return None

    def _moments(self, con: sqlite3.Connection, now: float) -> Iterator[float]:
        """Yield times at which a notice may be due although nothing happens."""
        for schedule in schedules.active(con):
            with contextlib.suppress(check.BadRequest):  # a forged row
                yield from _of_schedule(schedule, now)
        published = self._published()
        if published is not None:
            yield published[1] + _QUIET_S


def _of_schedule(schedule: Schedule, now: float) -> Iterator[float]:
    """Yield when a run that was due last is missing, and late."""
    for after_s in (NOTICED_WITHIN_S, schedule.late_after_s):
        # The due time that becomes missing or late now may be earlier than the last one.
        due_at = recurring.due_before(schedule.cron, now - after_s)
        if due_at > schedule.created_at:
            yield due_at + after_s
