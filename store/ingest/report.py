"""What an ingest did."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Rejected(msgspec.Struct, frozen=True):
    """A line that is no record; `line_number` counts from 1."""

    path: str
    line_number: int
    byte_offset: int
    reason: str


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
