"""What the store, the reports and the pages say of the committed runs stays as it was before the redesign."""

from __future__ import annotations

import json

import pytest

from tests import golden

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    from store.ingest import ingest

    store = tmp_path_factory.mktemp("golden") / "store"
    ingest(golden.RUNS, store)
    return golden.everything(store)


def test_every_value_is_as_it_was(found):
    kept = json.loads(golden.KEPT.read_text())
    changed = [
        name for name, was in kept.items() if name not in found or golden.summary(found[name], was["columns"]) != was
    ]
    assert changed == [], "if they were meant to change: python tests/golden.py, and say why in the commit"
