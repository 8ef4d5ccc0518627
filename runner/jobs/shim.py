"""The process that leads one attempt: starts the command, ends it in time or when asked, writes down how it ended.

It needs neither worker nor dashboard: both may die meanwhile. Its own death kills the command. It sleeps until
something happens, as a measurement runs beside it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import processes
from runner.jobs.folder import VARIABLE, AttemptFolder

_EXIT_NOT_STARTED = 127
_HEARD = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LONGEST_S = 3600.0


def main(folder: AttemptFolder) -> None:
    """Lead the attempt of this folder to its end."""
    order = folder.order()
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    if order.get("parent"):  # its death asks the command to end, with its grace period
        processes.die_with_parent(order["parent"], signal.SIGTERM)
    processes.become_subreaper()
    # This is written before the command starts, so that nobody sees the command without its leader. A request to end
    # that arrives meanwhile is handled once the command runs.
    folder.record_start(os.getpid(), processes.start_time(os.getpid()))
    try:
        command = _start(folder, order)
    except OSError as error:
        folder.log.write_text(f"xlabench: the command cannot be started: {error}\n")
        folder.record_end(_EXIT_NOT_STARTED, "ended")
        return
    code, reason = Leader(command, order["timeout_s"], order["grace_s"]).lead()
    # All processes that the command left behind are killed, in any session, also stopped ones.
    processes.kill_tagged(str(folder.path), tag=VARIABLE)
    folder.record_end(code, reason)


def _start(folder: AttemptFolder, order: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    me = os.getpid()

    def begin() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        processes.die_with_parent(me)

    with folder.log.open("ab") as log:
        return subprocess.Popen(
            order["argv"],
            cwd=order["cwd"],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            pass_fds=order["devices"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=begin,  # noqa: PLW1509 - this process has one thread
        )


@dataclass
class Leader:
    """Waits for a command; on a time limit or a request, it sends SIGTERM, and SIGKILL after the grace period."""

    command: subprocess.Popen[bytes]
    timeout_s: float
    grace_s: float
    reason: str = "ended"

    def lead(self) -> tuple[int | None, str]:
        """Return exit code and reason."""
        deadline = time.monotonic() + self.timeout_s
        while (code := self.command.poll()) is None:
            left = min(deadline - time.monotonic(), _LONGEST_S)
            heard = signal.sigtimedwait(_HEARD, left) if left > 0 else None
            if heard is not None and heard.si_signo != signal.SIGCHLD and self.reason == "ended":
                deadline = self._ask("stopped")
            elif time.monotonic() >= deadline:
                if self.reason != "ended":
                    processes.kill_tree(self.command.pid)
                    self.command.wait()
                    return None, self.reason
                deadline = self._ask("timeout")
            processes.reap_orphans(frozenset({self.command.pid}))
        return code, self.reason

    def _ask(self, reason: str) -> float:
        """Ask the command to end; returns until when it may take."""
        self.reason = reason
        self.command.send_signal(signal.SIGTERM)
        return time.monotonic() + self.grace_s


if __name__ == "__main__":
    main(AttemptFolder(Path(sys.argv[1])))
