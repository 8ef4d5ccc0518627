"""The ingest: what is new in each file, then a snapshot if anything changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from store.database import room, snapshot
from store.database.owner import owner
from store.database.watermarks import Watermark, watermarks
from store.ingest.batches import Tally, bring_in
from store.ingest.discover import discover
from store.ingest.pieces import Knowledge, is_untouched, new_bytes
from store.ingest.report import IngestReport

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from store.database.owner import Index
    from store.ingest.discover import Source


def ingest(
    paths: Iterable[str | os.PathLike[str]],
    store_dir: str | os.PathLike[str],
    *,
    rebuild: bool = False,
    wait_s: float = 600.0,
) -> IngestReport:
    """Bring the index up to date with the files under `paths` and publish a snapshot if anything changed.

    Repeating it adds nothing. Only one process writes the index: a second ingest waits up to `wait_s` seconds.

    Args:
        paths: run folders, JSONL files, files of other tools, patterns, or folders of them.
        store_dir: folder of the index; created if need be.
        rebuild: start from an empty index, from `paths` and every file that the old one knew and that still exists.
        wait_s: how long to wait for another ingest.

    Raises:
        NoSuchSource: a path does not exist.
        OwnerBusy: another ingest held the index for longer than `wait_s`.
        StorageError: the index belongs to a later version.
    """
    sources = discover([Path(path) for path in paths])
    folder = Path(store_dir)
    before = snapshot.current(folder)
    with owner(folder, rebuild=rebuild, wait_s=wait_s) as index:
        if index.before:
            known_files = [path for name in index.before if (path := Path(name)).is_file()]
            sources = discover([*(source.path for source in sources), *known_files])
        tally, pending = _bring_in(index, folder, sources)
    return IngestReport(
        files_n=len(sources),
        changed_files_n=len(tally.changed),
        records_n=tally.records_n,
        known_n=tally.known_n,
        rejected=tally.rejected,
        pending=pending,
        snapshot=snapshot.current(folder),
        published=snapshot.current(folder) != before,
    )


def _bring_in(index: Index, folder: Path, sources: Sequence[Source]) -> tuple[Tally, list[str]]:
    """Write what is new; return what that was, and the files whose last line is still being written."""
    known = Knowledge(watermarks(index.con), index.before)
    new = [source for source in sources if not is_untouched(source, known)]
    room.require(folder, sum(new_bytes(source, known) for source in new))
    tally = bring_in(index.con, new, known) if new else Tally()
    marks = watermarks(index.con)
    return tally, [path for source in sources if (path := str(source.path)) in marks and _is_pending(marks[path])]


def _is_pending(mark: Watermark) -> bool:
    return mark.consumed_bytes < mark.size_bytes
