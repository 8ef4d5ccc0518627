"""What an ingest did."""

from __future__ import annotations

from pathlib import Path

import msgspec

from store.ingest.relation import Rejected


class IngestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an ingest did; `snapshot` is what readers see now, None where nothing was ever ingested."""

    files_n: int
    changed_files_n: int
    records_n: int
    """New records."""
    known_n: int
    """Records read that the index already had."""
    rejected: list[Rejected]
    pending: list[str]
    """Files whose last line is still being written."""
    snapshot: Path | None
    published: bool

    @property
    def exit_code(self) -> int:
        """3 where lines were rejected, else 0."""
        return 3 if self.rejected else 0
