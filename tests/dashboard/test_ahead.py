"""What is asked ahead is asked once, is what the page then reads, and says nothing where it fails."""

from __future__ import annotations

import logging
import threading

import pytest

from dashboard import ahead, data, snapshot
from dashboard.selection import Selection
from store import query


@pytest.fixture
def asked(demo, monkeypatch):
    """Return the demonstration's snapshot, a selection, and the statements that reach the store, with their thread."""
    shown = query.current_snapshot(demo)
    run = str(query.runs(snapshot.connection(str(shown)))["run_id"].iloc[0])
    seen, select = [], query.select

    def counted(con, sql, params=None):
        seen.append(threading.current_thread().name)
        return select(con, sql, params)

    data._rows.clear()
    ahead._pool.clear()
    monkeypatch.setattr(query, "select", counted)
    yield str(shown), Selection(run_id=run, baseline="inductor"), seen
    ahead._pool.clear()


def finished():
    ahead._pool()._threads.shutdown(wait=True)


def test_a_page_reads_what_was_asked_ahead(asked):
    shown, selection, seen = asked
    for _ in range(2):
        ahead.begin(shown, selection, {"counts": {}, "geomeans": {}})
    finished()
    assert len(seen) == 2
    assert all(name.startswith("ahead") for name in seen)
    assert len(data.rows(shown, "geomeans", selection)) == len(data.geomeans(shown, selection)) > 0
    assert len(seen) == 2


def test_a_thread_that_shows_nothing_warns_of_nothing(asked, caplog):
    shown, selection, seen = asked
    with caplog.at_level(logging.WARNING):
        ahead.begin(shown, selection, {"memory_ratios": {}})
        finished()
    assert len(seen) == 1
    assert not [each for each in caplog.records if each.threadName.startswith("ahead")]


def test_a_fault_is_left_to_the_page(asked):
    shown, selection, _ = asked
    ahead.begin(shown, selection, {"geomean_changes": {}})  # lacks its parameter `before`
    finished()
    with pytest.raises(KeyError):
        data.rows(shown, "geomean_changes", selection)
