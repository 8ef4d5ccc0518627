"""A new index begins as a copy of one that an owner has made before, in tests and in processes that they fork.

Its tables and views take more than half a second; most commands of tests have a home of their own.
"""

import os
import shutil
from pathlib import Path

from store.database import owner, snapshot

PLACE = "XLABENCH_TEST_MIGRATED"
"""Variable with the path of that index, which the first who needs it makes."""


def begin_as_copies() -> None:
    """Have new indexes of this process, and of those that are forked from it, begin as copies."""
    open_index, open_rebuilt = owner._open, owner._connect_unlogged

    def open_copy(store_dir: Path, work: Path, known: owner.Ledger) -> owner.Connection:
        if PLACE in os.environ and not work.exists() and snapshot.current(store_dir) is None:
            # Whoever is killed meanwhile leaves no part of a copy where an index is looked for.
            own = work.with_suffix(f".{os.getpid()}")
            shutil.copyfile(_made(Path(os.environ[PLACE])), own)
            own.replace(work)
        return open_index(store_dir, work, known)

    def rebuild_copy(work: Path) -> owner.Connection:
        if PLACE in os.environ:
            shutil.copyfile(_made(Path(os.environ[PLACE])), work)
        return open_rebuilt(work)

    def _made(place: Path) -> Path:
        if not place.exists():
            own = place.with_suffix(f".{os.getpid()}")
            con = open_index(place.parent, own, owner.Ledger())
            owner.migrate(con)
            con.execute("CHECKPOINT")
            con.close()
            own.replace(place)
        return place

    owner._open, owner._connect_unlogged = open_copy, rebuild_copy
