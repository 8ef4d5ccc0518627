"""How far each source file was read, as table `ingested_files` has it."""

from __future__ import annotations

import msgspec

from store.database.snapshot import Connection

JSONL, RUN, PACKED, PRUNED = "jsonl", "run", "packed", "pruned"
"""Kinds of files that have rules of their own; of any other kind the file is read whole again when it changed."""


class Watermark(msgspec.Struct, frozen=True, kw_only=True):
    """How far a file was consumed, and how to tell that it is still the same file."""

    path: str
    kind: str
    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    consumed_bytes: int
    lines_n: int
    tail_hash: str
    plain: bool | None = False
    """Whether each line so far is a record of ours in standard JSON."""

    def midway(self) -> Watermark:
        """Return the watermark of a file of which more is to be read: it never passes for an untouched one."""
        return msgspec.structs.replace(self, size_bytes=self.consumed_bytes if self.kind == JSONL else -1)


def watermarks(con: Connection) -> dict[str, Watermark]:
    """Return how far each file was consumed, by its path."""
    fields = Watermark.__struct_fields__
    rows = con.execute(f"SELECT {', '.join(fields)} FROM ingested_files").fetchall()  # noqa: S608 (ours)
    return {row[0]: Watermark(**dict(zip(fields, row, strict=True))) for row in rows}
