"""The faults of the runs under tests/data/review."""

import pytest

from store import query
from store.repro.find import faults


@pytest.fixture(scope="module")
def con(review_store):
    with query.connect(query.current_snapshot(review_store)) as opened:
        yield opened


@pytest.fixture(scope="module")
def found(con):
    return faults(con)
