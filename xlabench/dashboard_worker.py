"""A worker beside the dashboard: it ends with the dashboard, its jobs do not; one that dies is started again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from runner.jobs.owners import owner

if TYPE_CHECKING:
    from pathlib import Path

_AGAIN_S = 2.0
"""After a worker has ended, or while another one works."""
_END_S = 10.0


@dataclass
class DashboardWorker:
    """A context in which the home has a worker: one of ours, as long as nobody else's works."""

    home: Path
    database: Path | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _popen: subprocess.Popen[bytes] | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        # One thread starts every worker and lives as long as the dashboard: the worker's end hangs on its starter's.
        self._thread = threading.Thread(target=self._keep, name="worker", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._popen is not None:
            self._popen.terminate()
        if self._thread is not None:
            self._thread.join(_END_S)

    def _keep(self) -> None:
        while not self._over.is_set():
            if owner(self.home) is None:
                self._popen = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL)
                if self._over.is_set():  # it was not there yet when everything was asked to end
                    self._popen.terminate()
                self._popen.wait()
            self._over.wait(_AGAIN_S)

    def _command(self) -> list[str]:
        words = [sys.executable, "-m", "xlabench", "worker", "--home", str(self.home), "--parent", str(os.getpid())]
        return words + (["--database", str(self.database)] if self.database else [])
