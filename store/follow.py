"""Ingest what is being written: often enough to watch it, rarely enough to cost nothing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from store.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.ingest import IngestReport

PUBLISH_EVERY_S = 5.0
_SHARE = 10.0
"""An ingest may take at most a tenth of the time between two."""


@dataclass
class Follower:
    """Ingests what `source` holds into `store_dir` when asked, but not sooner than its own cost allows."""

    source: Path | Sequence[Path]
    store_dir: Path
    records_n: int = 0
    """New records so far."""
    _next: float = 0.0
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "ingest"))

    def tell(self) -> None:
        """Say that there is something new."""
        if time.monotonic() >= self._next:
            self.finish()

    def finish(self) -> IngestReport:
        """Ingest what there is, now."""
        began = time.monotonic()
        sources = [self.source] if isinstance(self.source, Path) else self.source
        # In the main thread DuckDB's queries swallow a signal that comes meanwhile.
        report = self._thread.submit(ingest, sources, self.store_dir).result()
        self.records_n += report.records_n
        spent = time.monotonic() - began
        self._next = began + spent + max(PUBLISH_EVERY_S, _SHARE * spent)
        return report

    def wait(self) -> None:
        """Wait until the next ingest may begin."""
        time.sleep(max(0.0, self._next - time.monotonic()))
