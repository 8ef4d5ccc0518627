"""What people say of findings is kept whole, with name and time; the newest word counts."""

from datetime import datetime

import pytest

from store.errors import UsageError
from store.state import marks, reviews
from store.state.database import backup, opened

AT = datetime(2026, 11, 21, 14)  # noqa: DTZ001 (UTC)
SLOWER = reviews.Subject(run_id="run-2", series="c0ffee", finding="speed")
OTHER = reviews.Subject(run_id="run-2", series="c0ffee", finding="failure")


def said(subject=SLOWER, **words):
    return reviews.Entry(subject=subject, what="vgg16 eval", created_at=AT, **{"who": "ann", "verified": False} | words)


def test_everything_is_read_as_it_was_written(tmp_path):
    state = tmp_path / "state.sqlite"
    note = "it's <b>known</b>; DROP TABLE reviews\n🙂"
    reviews.add(state, [said(state="filed", reference="#7", assignee="bob", note=note, verified=True)])
    [found] = reviews.listed(state)
    assert found == said(entry_id=1, state="filed", reference="#7", assignee="bob", note=note, verified=True)


def test_the_newest_word_counts_and_older_ones_stay_in_the_history(tmp_path):
    state = tmp_path / "state.sqlite"
    words = [
        said(state="filed", reference="#7"),
        said(assignee="bob", who="cid"),
        said(note="a driver"),
        said(state="known"),
        said(OTHER, note="of something else"),
    ]
    for each in words:
        reviews.add(state, [each])
    found = reviews.standings(reviews.listed(state))
    standing = found[SLOWER]
    assert (standing.state, standing.reference, standing.assignee, standing.note) == ("known", None, "bob", "a driver")
    assert [entry.who for entry in standing.entries] == ["ann", "cid", "ann", "ann"]
    assert found[OTHER].state == "open"


def test_an_empty_assignee_takes_the_assignee_away(tmp_path):
    state = tmp_path / "state.sqlite"
    reviews.add(state, [said(assignee="bob"), said(assignee="")])
    assert reviews.standings(reviews.listed(state))[SLOWER].assignee is None


def test_only_the_runs_that_are_asked_for_are_read(tmp_path):
    state = tmp_path / "state.sqlite"
    later = reviews.Subject(run_id="run-3", series="c0ffee", finding="speed")
    reviews.add(state, [said(note="a"), said(later, note="b")])
    assert [entry.note for entry in reviews.listed(state, ["run-3"])] == ["b"]
    assert reviews.listed(state, []) == []
    assert reviews.listed(tmp_path / "none.sqlite") == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({}, "Nothing was said"),
        ({"note": "x", "who": "  "}, "name is missing"),
        ({"state": "filed"}, "needs its reference"),
        ({"state": "gone"}, "is no state"),
        ({"note": "x" * 4001}, "at most 4000"),
        ({"assignee": "x" * 201}, "at most 200"),
    ],
)
def test_what_nobody_could_read_later_is_refused_as_a_whole(tmp_path, words, complaint):
    state = tmp_path / "state.sqlite"
    with pytest.raises(UsageError, match=complaint):
        reviews.add(state, [said(note="fine"), said(**words)])
    assert reviews.listed(state) == []


def test_a_file_with_marks_only_is_brought_up_to_date(tmp_path):
    state = tmp_path / "state.sqlite"
    mark = marks.add(state, marks.Mark(marked_at=AT, text="new driver", who="ann", created_at=AT))
    with opened(state) as con:
        con.execute("DROP TABLE reviews")
        con.execute("DELETE FROM migrations WHERE name = '0002_reviews.sql'")
    reviews.add(state, [said(note="seen")])
    assert [entry.note for entry in reviews.listed(state)] == ["seen"]
    assert marks.listed(state) == [mark]


def test_a_backup_has_what_was_said(tmp_path):
    reviews.add(tmp_path / "state.sqlite", [said(note="seen")])
    backup(tmp_path / "state.sqlite", tmp_path / "copy.sqlite")
    assert [entry.note for entry in reviews.listed(tmp_path / "copy.sqlite")] == ["seen"]
