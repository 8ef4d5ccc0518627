"""Know a file again: how far it was read, and whether it is still the same one."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, BinaryIO

from store.database.watermarks import JSONL, RUN, Watermark

if TYPE_CHECKING:
    import os
    from pathlib import Path

_TAIL_BYTES = 4096


def tail_hash(file: BinaryIO, end: int, limit: int = _TAIL_BYTES) -> str:
    """Return the hash of the last `limit` bytes before `end`."""
    start = max(0, end - limit)
    file.seek(start)
    return hashlib.blake2b(file.read(end - start), digest_size=16).hexdigest()


def untouched(mark: Watermark | None, stat: os.stat_result) -> bool:
    """Tell a file that nobody wrote to since the watermark."""
    return (
        mark is not None
        and _same_file(mark, stat)
        and mark.size_bytes == stat.st_size
        and (mark.modified_ns == stat.st_mtime_ns)
    )


def appended(mark: Watermark | None, stat: os.stat_result, file: BinaryIO) -> bool:
    """Tell a file that still begins with what was consumed; a replaced, cut or edited one is read anew."""
    return (
        mark is not None
        and _same_file(mark, stat)
        and stat.st_size >= mark.consumed_bytes
        and stat.st_size != mark.size_bytes
        and tail_hash(file, mark.consumed_bytes) == mark.tail_hash
    )


def _same_file(mark: Watermark, stat: os.stat_result) -> bool:
    return (mark.device, mark.inode) == (stat.st_dev, stat.st_ino)


def mark_of(path: Path, kind: str, file: BinaryIO, stat: os.stat_result, consumed: int, lines: int) -> Watermark:
    """Return the watermark after `consumed` bytes; `stat` is from before reading, so later growth is seen next time."""
    return Watermark(
        path=str(path),
        kind=kind,
        device=stat.st_dev,
        inode=stat.st_ino,
        size_bytes=stat.st_size,
        modified_ns=stat.st_mtime_ns,
        consumed_bytes=consumed,
        lines_n=lines,
        tail_hash=tail_hash(file, consumed, consumed if kind == RUN else _TAIL_BYTES),
        plain=kind == JSONL,
    )
