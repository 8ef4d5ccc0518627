"""Tell records that are certainly new from those that may be known, without asking the index for each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

    Hashes = npt.NDArray[np.uint64]

_SMALL = 1000
"""Records of a batch for which it is quicker to ask the index."""


class Seen:
    """Hashes of the record_ids that were ever loaded; of removed ones, too, so that it never calls a known one new.

    They stand in sorted arrays, each at least twice as long as the next: a hash is sorted anew only a few times.
    Where the first batch is small, it may be the only one: the index is asked for it, and no hash is read.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._sorted: list[Hashes] = []
        self._first: Hashes = np.zeros(0, np.uint64)
        self._batches_n = 0

    def add(self, hashes: Hashes) -> bool:
        """Take in a batch; say whether each of its records is new and stands in it once."""
        self._batches_n += 1
        if self._batches_n == 1 and len(hashes) <= _SMALL:
            self._first = hashes
            return False
        if not self._sorted:
            # The first batch may not stand in the index yet.
            self._sorted = [np.sort(np.concatenate((self._held(), self._first)))]
        batch = np.sort(hashes)
        new = not (batch[1:] == batch[:-1]).any() and not any(_meet(batch, each) for each in self._sorted)
        self._sorted.append(batch)
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            last = self._sorted.pop()
            self._sorted[-1] = np.sort(np.concatenate((self._sorted[-1], last)))
        return new

    def _held(self) -> Hashes:
        found = self._con.execute("SELECT hash(record_id) AS id_hash FROM records").fetchnumpy()["id_hash"]
        return np.asarray(found, np.uint64)


def _meet(batch: Hashes, held: Hashes) -> bool:
    """Say whether two sorted arrays have an element in common."""
    if not held.size:
        return False
    places = np.minimum(np.searchsorted(held, batch), held.size - 1)
    return bool((held[places] == batch).any())
