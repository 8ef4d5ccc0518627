"""What the store, the reports and the pages say of the committed runs stays as it was before the redesign."""

import json

import pytest

from tests import golden
from tests.tiers import first_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    from store.ingest import ingest

    folder = tmp_path_factory.mktemp("golden") / "store"
    ingest(golden.RUNS, folder)
    return folder


@pytest.mark.parametrize(
    ("forms", "pages"),
    first_of([(["json"], []), (list(golden.FORMS), list(golden.PAGES))]),
    ids=["reports-as-json", "all-reports-and-pages"],
)
def test_every_value_is_as_it_was(store, forms, pages):
    """Thorough: reports as CSV, too, which has the same numbers, and the pages, which ask for what the tables hold."""
    kept = json.loads(golden.KEPT.read_text())
    left_out = tuple(f"page {page} " for page in golden.PAGES if page not in pages)
    asked = {
        name: was
        for name, was in kept.items()
        if (not name.startswith("report ") or name.endswith(tuple(forms))) and not name.startswith(left_out or "-")
    }
    assert {name.split()[1] for name in asked if name.startswith("page ")} == set(pages)
    found = golden.everything(store, forms, pages)
    changed = [
        name for name, was in asked.items() if name not in found or golden.summary(found[name], was["columns"]) != was
    ]
    assert changed == [], "if they were meant to change: python tests/golden.py, and say why in the commit"
