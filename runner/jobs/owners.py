"""Which worker of this host carries out the jobs of a home."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from runner.schedule import devices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.schedule.devices import Owner


LOCAL = "local"


EXECUTORS = (LOCAL, "ray")


def owner(home: Path, executor: str = LOCAL) -> Owner | None:
    """Return the worker of a home on this host that has this executor; None where none runs."""
    return devices.owner(_lock(home, executor))


def has_worker(home: Path) -> bool:
    """Say whether anybody on this host carries a home's jobs out, here or on a cluster."""
    return any(owner(home, executor) is not None for executor in EXECUTORS)


def lacks_confirmer(home: Path) -> bool:
    """Say whether a home's jobs are carried out on a cluster alone: nobody there has the store to compare in."""
    return has_worker(home) and owner(home) is None


@contextlib.contextmanager
def only_one(home: Path, executor: str = LOCAL) -> Iterator[str | None]:
    """Be the worker of a home on this host with this executor while the block runs; gives None, else who is."""
    got = devices.take([_lock(home, executor)], f"worker of {home.resolve()}")
    if isinstance(got, str):
        found = owner(home, executor)
        yield f"process {found.pid}" if found else "another process"
        return
    try:
        yield None
    finally:
        devices.release(got)


def _lock(home: Path, executor: str) -> str:
    kind = "" if executor == LOCAL else f"{executor}-"
    return devices.of_worker(kind + hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:16])
