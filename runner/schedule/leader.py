"""Lead one measuring process from its start to its end, and say how it ended."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner import failure
from runner.schedule.conversation import Conversation
from runner.schedule.follow_log import LogFollower
from runner.schedule.outcome import Outcome
from runner.schedule.pool import ChildGone, Pool, Process, ServerGone, TimedOut, tail
from runner.schedule.watch_memory import MemoryExceeded, MemoryWatch, of_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.messages import Settings
    from runner.schedule.conversation import Lines
    from runner.schedule.progress import ProgressView

_SERVER_TRIES = 2


@dataclass(frozen=True, kw_only=True)
class Leader:
    """Starts processes of one environment and leads them through their lines."""

    pool: Pool
    settings: Settings
    progress: ProgressView

    def lead(self, lines: Lines, variables: Mapping[str, str], log: Path, ready: Callable[[], None]) -> Outcome:
        """Lead one process; a death of the fork server is not the experiment's fault, so it is tried once more.

        Args:
            lines: what is asked, in order.
            variables: of the process's environment.
            log: what it prints goes there.
            ready: called before each try.
        """
        for _ in range(_SERVER_TRIES):
            ready()
            try:
                self.pool.prepare(self.settings.start)
                follower = LogFollower(log, self.progress.note)
                requested_at = time.monotonic()
                process = self.pool.spawn(variables, log, self.settings.start)
                return self._converse(process, lines.requested(requested_at), follower)
            except ServerGone:
                self.pool.stop()
        message = f"the fork server died {_SERVER_TRIES} times during this experiment"
        return Outcome(status="crashed", error=failure.describe("load", RuntimeError(message)))

    def _converse(self, process: Process, lines: Lines, follower: LogFollower) -> Outcome:
        """Lead the process through its phases."""
        settings = self.settings
        deadline = time.monotonic() + settings.timeout_s
        talk = Conversation(self.pool, process, deadline, self.progress.phase, self._watch(process, follower))
        try:
            return lines.lead(talk, settings)
        except TimedOut:
            self.pool.kill(process)
            error = failure.of_timeout(_phase(process), settings.timeout_s, tail(process.log))
            return Outcome(status="timeout", error=error, loaded=talk.loaded)
        except MemoryExceeded as exceeded:
            self.pool.kill(process)
            error = of_memory(_phase(process), exceeded, tail(process.log))
            return Outcome(status="oom", error=error, loaded=talk.loaded)
        except ChildGone:
            return self._gone(process, talk)
        except BaseException:
            self.pool.kill(process)
            raise
        finally:
            talk.exit_status = self.pool.end(process) if talk.exit_status is None else talk.exit_status
            if settings.print_subprocess:
                follower.rest()

    def _watch(self, process: Process, follower: LogFollower) -> Callable[[], None]:
        memory = MemoryWatch(self.settings.memory_limit_bytes)

        def look() -> None:
            memory.check(process.pid)
            if self.settings.print_subprocess:
                follower.new()

        return look

    def _gone(self, process: Process, talk: Conversation) -> Outcome:
        status_known = self.pool.end(process)
        talk.exit_status = status_known or 0
        killed_for_memory = failure.kernel_oom_kills() > talk.oom_kills_before
        status, error = failure.of_exit(_phase(process), status_known, tail(process.log), oom_kill=killed_for_memory)
        return Outcome(status=status, error=error, loaded=talk.loaded)


def _phase(process: Process) -> Any:
    return process.phase
