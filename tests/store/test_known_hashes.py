"""What is said to be new is new: no record that was loaded, and none that stands twice in a batch."""

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.ingest.load import KnownHashes


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        con.execute("CREATE TABLE records AS SELECT 'r' || range AS record_id FROM range(100)")
        yield con


def _hashes(con, *ids):
    found = con.execute("SELECT hash(unnest($ids::VARCHAR[])) AS h", {"ids": list(ids)}).fetchnumpy()["h"]
    return np.asarray(found, np.uint64)


def test_a_record_of_the_index_is_not_new(con):
    known_hashes = KnownHashes(con)
    assert not known_hashes.add(_hashes(con, "a", "b")), "of a small first batch the index is asked"
    assert not known_hashes.add(_hashes(con, "c", "r99"))
    assert not known_hashes.add(_hashes(con, "a"))
    assert known_hashes.add(_hashes(con, "d"))


@given(batches=st.lists(st.lists(st.integers(0, 400), min_size=1), max_size=30))
def test_new_is_said_of_whole_batches_of_new_records_only(con, batches):
    known = set(_hashes(con, *(f"r{number}" for number in range(100))).tolist())
    known_hashes = KnownHashes(con)
    for number, batch in enumerate(batches):
        hashes = np.array(batch, np.uint64)
        is_new = len(set(batch)) == len(batch) and known.isdisjoint(batch)
        assert known_hashes.add(hashes) == (is_new and number > 0), "of a small first batch the index is asked"
        known.update(batch)
