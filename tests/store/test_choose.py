"""Which run a word names, for every command that takes one."""

import re

import pytest

from store import choose, query
from store.choose import find_run, require_series, run_named
from store.errors import UsageError
from store.ingest import ingest
from tests.store.factory import DAY, RUN_START, make_record, write_run

RUNS = (("old-run", "nightly"), ("new-run", "nightly"), ("odd-run", "old-run"), ("odd-day", "weekly"))
"""Id and label of each run, a day apart; the label of one is the id of another."""


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for number, (run_id, label) in enumerate(RUNS):
        record = make_record(run_id=run_id, label=label, timestamp=RUN_START + number * DAY)
        write_run(folder / run_id, [record])
    calibrated = make_record(run_id="floor", label="calibration", purpose="calibration", timestamp=RUN_START + 9 * DAY)
    write_run(folder / "floor", [calibrated])
    with query.connect(ingest([folder], folder / "store").snapshot) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "run_id"),
    [
        ("nightly", "new-run"),
        ("old-run", "old-run"),
        ("new-", "new-run"),
        ("latest", "odd-day"),
        ("previous", "odd-run"),
        ("calibration", "floor"),
    ],
)
def test_a_run_is_named_by_its_id_its_label_or_its_place(con, text, run_id):
    """Of a label the newest run counts; an id comes before a label that reads alike."""
    assert run_named(con, text) == find_run(con, text) == run_id


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nightyl", "The store has no run 'nightyl'. Did you mean nightly? `xlabench sql "),
        ("new-rum", "The store has no run 'new-rum'. Did you mean new-run"),
        ("", "The store has no run ''. `xlabench sql "),
        ("odd", "The store has no run 'odd'."),
        ("odd-", "'odd-' names 2 runs: odd-day (2025-10-12 08:53:20), odd-run ("),
    ],
)
def test_what_names_no_run_is_answered_with_the_names_close_to_it(con, text, says):
    with pytest.raises(UsageError) as caught:
        run_named(con, text)
    assert str(caught.value).startswith(says)


def test_where_names_are_too_many_to_list_the_error_gives_a_query_that_lists_them(con, monkeypatch):
    monkeypatch.setattr(choose, "_LISTED", 0)
    with pytest.raises(UsageError) as caught:
        require_series(con, {"machine_id": "unlike any"})
    found = re.search('`xlabench sql "(.+)"` lists the names', str(caught.value))
    assert found is not None
    assert len(con.execute(found[1]).fetchall()) == 1
