"""Tell records that are certainly new from those that may be known, without a query for each batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from store.database.snapshot import Connection

Hashes = npt.NDArray[np.uint64]

_SMALL = 1000
"""For a first batch of at most so many records a query of the index is quicker."""


class KnownHashes:
    """Hashes of all record_ids that were ever loaded, removed ones included, so that no known record is called new.

    The hashes are in sorted arrays, each at least twice as long as the next, so that each is sorted only a few times.
    A small first batch may be the only one: `add` reads no hashes for it and leaves the decision to the index.
    """

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._sorted: list[Hashes] = []
        self._first: Hashes = np.zeros(0, np.uint64)
        self._batches_n = 0

    def add(self, hashes: Hashes) -> bool:
        """Add a batch; tell whether all of its records are certainly new and distinct."""
        self._batches_n += 1
        if self._batches_n == 1 and len(hashes) <= _SMALL:
            self._first = hashes
            return False
        if not self._sorted:
            # The index may not contain the first batch yet.
            self._sorted = [np.sort(np.concatenate((self._of_index(), self._first)))]
        batch = np.sort(hashes)
        new = not (batch[1:] == batch[:-1]).any() and not any(_meet(batch, older) for older in self._sorted)
        self._sorted.append(batch)
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            last = self._sorted.pop()
            self._sorted[-1] = np.sort(np.concatenate((self._sorted[-1], last)))
        return new

    def _of_index(self) -> Hashes:
        hashes = self._con.execute("SELECT hash(record_id) AS id_hash FROM records").fetchnumpy()["id_hash"]
        return np.asarray(hashes, np.uint64)


def _meet(batch: Hashes, hashes: Hashes) -> bool:
    """Tell whether two sorted arrays have an element in common."""
    if not hashes.size:
        return False
    places = np.minimum(np.searchsorted(hashes, batch), hashes.size - 1)
    return bool((hashes[places] == batch).any())
