"""Name the files of an instrumented run: what kind each is, and of which repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.record import Artifact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from runner.instrument.limit import Limit

CUT = "cut at the byte limit"
_MOST_CUT = 20
_KINDS = {
    "hlo": "hlo",
    "ir": "ir",
    "dynamo-counters": "dynamo_counters",
    "pytorch-xla-metrics": "pytorch_xla_metrics",
    "trace": "chrome_trace",
    "pytorch-profile": "pytorch_profile",
    "xplane": "xplane",
    "output": "output",
    "inductor": "inductor",
    "memory-snapshot": "memory_snapshot",
    "minify": "minify",
}
"""Name of the file, or of its folder, up to the first dot → its kind."""


def artifacts(folder: Path, written: Iterable[Path], cut: Sequence[Path]) -> list[Artifact]:
    """List files with their size, then those that were cut: the first 20 of them, the warning says how many."""
    found = [_artifact(folder, path, path.stat().st_size, None) for path in sorted(written)]
    return found + [_artifact(folder, path, 0, CUT) for path in cut[:_MOST_CUT]]


def salvaged(limit: Limit) -> list[Artifact]:
    """List what a process left that died or was killed; nobody has kept the limit after it."""
    limit.enforce()
    return artifacts(limit.folder, limit.written(), limit.cut)


def _artifact(folder: Path, path: Path, size: int, note: str | None) -> Artifact:
    relative = path.relative_to(folder)
    first, *rest = relative.parts
    repeat = int(first) if first.isdigit() and rest else None
    name = rest[0] if repeat is not None else first
    stem = name.split(".", maxsplit=1)[0]
    return Artifact(kind=_KINDS.get(stem, stem), path=str(relative), repeat=repeat, bytes=size, note=note)
