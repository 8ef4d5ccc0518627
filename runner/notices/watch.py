"""When to look for notices: after results were published, when a run should have come, when one is to be sent again.

The look is a process of its own: it opens the index, which a worker does without, and nobody waits for a slow server.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.jobs import check, recurring
from runner.jobs.recurring import NOTICED_WITHIN_S
from runner.schedule import devices
from store.state import FILE_NAME, notices, schedules
from store.state.database import opened

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from store.state.schedules import Schedule

_POINTER = "CURRENT"
"""The file of the store's folder that names the newest snapshot."""
LEFT_TO_ANOTHER = 3
"""Exit code of a look that did nothing, as another process was at it."""
AGAIN_S = 30.0
"""Between two looks."""
_QUIET_S = 3700.0
"""A run of which nothing came for an hour is over: it is looked at once more after that."""


@dataclass
class NoticeWatch:
    """Starts a look whenever there may be something to tell; `step` is called every few seconds, and costs little."""

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
    """What the look before the last one had seen."""

    def step(self) -> None:
        """Start a look if there is a reason and none goes on."""
        now = self.clock()
        code = None if self._running is None else self._running.poll()
        if (self._running is not None and code is None) or 0 <= now - self._looked_at < AGAIN_S:
            return
        if code == LEFT_TO_ANOTHER:  # which may have begun before this came
            self._seen = self._seen_before
        with opened(self.home / FILE_NAME) as con:
            state, next_at = self._state(con, now), notices.next_at(con)
        waits = next_at is None or now < next_at <= now + notices.LONGEST_WAIT_S
        if state == self._seen and waits:
            return
        self._seen_before, self._seen, self._looked_at = self._seen, state, now
        self._running = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)

    def _state(self, con: sqlite3.Connection, now: float) -> dict[str, object]:
        """Return what has to change for another look; what there is none of is left out."""
        over = con.execute("SELECT max(finished_at) FROM jobs").fetchone()[0]
        # What a run publishes while it measures waits for its end: a look would disturb it.
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
        """Yield times at which something may have to be told although nothing happens."""
        for schedule in schedules.active(con):
            with contextlib.suppress(check.BadRequest):  # a forged row
                yield from _of_schedule(schedule, now)
        published = self._published()
        if published is not None:
            yield published[1] + _QUIET_S


def _of_schedule(schedule: Schedule, now: float) -> Iterator[float]:
    """Yield when a run that was due last is missing, and late."""
    for after_s in (NOTICED_WITHIN_S, schedule.late_after_s):
        # The time whose turn it is may be an earlier one than the last.
        due_at = recurring.due_before(schedule.cron, now - after_s)
        if due_at > schedule.created_at:
            yield due_at + after_s
