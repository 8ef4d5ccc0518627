"""The index, a snapshot or the runs vanish under a page that is open: it says so, and goes on once they are back."""

import shutil

import pytest

from dashboard import settings
from dashboard.data import snapshot
from dashboard.screens import PAGES
from store.ingest import ingest
from store.query import current_snapshot
from tests.dashboard.opened import open_page
from tests.faults.fault_rows import add_row
from tests.tiers import first_of

ADDRESSES = [each.url_path or "overview" for each in PAGES]
GONE = ("store", "damaged", "snapshot", "pointer", "runs")
CASES = [
    ("store", True, 1),
    ("damaged", False, 1),
    *((what, closed, len(ADDRESSES) if closed else 1) for what in GONE for closed in (True, False)),
]
"""What vanishes, whether nobody holds the old snapshot open any more, as after a restart, and under how many pages."""


@pytest.fixture
def home(factory, tmp_path):
    records = [factory.make_record(model=model, backend=b) for model in ("a", "b") for b in factory.BACKENDS]
    factory.write_run(tmp_path / "runs" / "one", records)
    ingest([tmp_path / "runs"], tmp_path / "store")
    return tmp_path


def take_away(home, what):
    store = home / "store"
    newest = current_snapshot(store)
    if what == "store":
        shutil.rmtree(store)
    elif what == "snapshot":
        newest.unlink()
    elif what == "damaged":
        newest.write_bytes(bytes(newest.stat().st_size))
    elif what == "pointer":
        (store / "CURRENT").write_bytes(b"\xff\xfe")
    else:
        shutil.rmtree(home / "runs")


def look(at):
    assert not at.exception, [each.value for each in at.exception]


@pytest.mark.parametrize(("what", "closed", "pages_n"), first_of(CASES, 2))
def test_a_page_outlives_what_it_shows(monkeypatch, home, what, closed, pages_n):
    opened = [open_page(monkeypatch, home / "store", page) for page in ADDRESSES[:pages_n]]
    take_away(home, what)
    if closed:
        snapshot.connection.clear()
    for at in opened:
        look(at.run())
    if what != "runs":
        ingest([home / "runs"], home / "store")
    for at in opened:
        look(at.run())
    add_row(
        f"under open pages disappears or is damaged: {what}",
        pages_n,
        "a sentence, and the page again after the next ingest",
    )


def test_a_page_that_needs_more_memory_than_its_queries_may_use_says_so(monkeypatch, home):
    monkeypatch.setenv(settings.MEMORY_VARIABLE, "1MB")
    at = open_page(monkeypatch, home / "store")
    look(at)
    [said] = [each.value.replace("\\", "") for each in at.warning]
    assert "more memory than its queries may use (1MB)" in said
    assert "XLABENCH_QUERY_MEMORY=" in said
    monkeypatch.delenv(settings.MEMORY_VARIABLE)
    snapshot.connection.clear()
    look(at.run())
    assert not at.warning
