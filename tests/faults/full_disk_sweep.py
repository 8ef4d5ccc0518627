"""Ingest onto a small disk with less and less room left; the program of test_full_disk.py, in a mount namespace.

`python tests/faults/full_disk_sweep.py HOME DISK LAST_KIB STEPS KIND`: HOME has run folders, `store`, which lacks the
newest of them, and `expected`, which has it; DISK is a small disk; KIND is one of `KINDS`. From no room to LAST_KIB, it
prints a line of JSON for each amount.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from store.database import owner, snapshot
from store.errors import NoRoom
from store.ingest import ingest
from tests.store.contents import contents

KINDS = ("ingest", "join", "rebuild")
"""A publication, one that joins row groups, and a rebuild."""


def _fill(disk: Path, left_kib: int) -> Path:
    filler = disk / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(4096, shutil.disk_usage(disk).free - left_kib * 1024))
    return filler


def _tried(home: Path, disk: Path, left_kib: int, *, rebuild: bool) -> dict[str, object]:
    store = shutil.copytree(home / "store", disk / "store")
    before = contents(store)
    filler, named = _fill(disk, left_kib), ""
    try:
        ingest([home / "runs"], store, rebuild=rebuild)
        ended = "ingested"
    except NoRoom as error:
        ended, named = "no room", str(error)
    except Exception as error:  # noqa: BLE001 - it is told, and the test asserts that there is none
        ended, named = type(error).__name__, str(error)
    readable = contents(store)
    whole = readable in (before, contents(home / "expected"))
    filler.unlink()
    ingest([home / "runs"], store)
    same = contents(store) == contents(home / "expected")
    left = sorted(path.name for path in store.iterdir() if path.name.endswith((".tmp", ".wal")))
    shutil.rmtree(store)
    return {"kib": left_kib, "ended": ended, "said": named, "readable": whole, "same": same, "left": left}


def main() -> None:
    """Try each amount of room."""
    home, disk, (last, steps), kind = Path(sys.argv[1]), Path(sys.argv[2]), map(int, sys.argv[3:5]), sys.argv[5]
    # What the ingest checks beforehand would end it before any of its phases begins.
    snapshot.require_room = lambda *_: None
    snapshot.has_room = lambda *_: True
    if kind == "join":
        owner.JOIN_EVERY = 0
    for step in range(steps):
        left_kib = last * step // max(1, steps - 1)
        print(json.dumps(_tried(home, disk, left_kib, rebuild=kind == "rebuild")), flush=True)


if __name__ == "__main__":
    main()
