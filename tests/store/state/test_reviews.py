"""What people say of findings is kept whole, with name and time; the newest word counts."""

from datetime import datetime, timedelta

import pytest

from store.errors import UsageError
from store.state import marks, reviews
from store.state.database import backup, opened

AT = datetime(2026, 11, 21, 14)  # noqa: DTZ001 (UTC)
SLOWER = reviews.Subject(run_id="run-2", series="c0ffee", finding="speed")
OTHER = reviews.Subject(run_id="run-2", series="c0ffee", finding="failure")


def entry(subject=SLOWER, **words):
    words = {"who": "ann", "verified": False, "created_at": AT} | words
    return reviews.Entry(subject=subject, what="vgg16 eval", **words)


def test_everything_is_read_as_it_was_written(tmp_path):
    state = tmp_path / "state.sqlite"
    note = "it's <b>known</b>; DROP TABLE reviews\n🙂"
    reviews.add(state, [entry(state="filed", reference="#7", assignee="bob", note=note, verified=True)])
    [found] = reviews.listed(state)
    assert found == entry(entry_id=1, state="filed", reference="#7", assignee="bob", note=note, verified=True)


def test_a_double_click_is_one_entry(tmp_path):
    state = tmp_path / "state.sqlite"
    known = entry(state="known", note="a driver")
    reviews.add(state, [known])
    reviews.add(state, [known])
    reviews.add(state, [entry(note="a driver", created_at=AT + timedelta(seconds=2))])
    assert len(reviews.listed(state)) == 1


@pytest.mark.parametrize(
    "words",
    [{"who": "bob"}, {"note": "another"}, {"subject": OTHER}, {"created_at": AT + timedelta(minutes=1)}],
    ids=["another person", "another word", "another finding", "later"],
)
def test_the_same_state_with_anything_else_is_said_again(tmp_path, words):
    state = tmp_path / "state.sqlite"
    reviews.add(state, [entry(state="known")])
    reviews.add(state, [entry(**({"state": "known"} | words))])
    assert len(reviews.listed(state)) == 2


def test_the_newest_word_counts_and_older_ones_stay_in_the_history(tmp_path):
    state = tmp_path / "state.sqlite"
    words = [
        entry(state="filed", reference="#7"),
        entry(assignee="bob", who="cid"),
        entry(note="a driver"),
        entry(state="known"),
        entry(OTHER, note="of something else"),
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
    reviews.add(state, [entry(assignee="bob"), entry(assignee="")])
    assert reviews.standings(reviews.listed(state))[SLOWER].assignee is None


def test_a_home_without_a_state_has_no_entries(tmp_path):
    assert reviews.listed(tmp_path / "none.sqlite") == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({}, "The entry is empty"),
        ({"note": "x", "who": "  "}, "name is missing"),
        ({"state": "filed"}, "needs a reference"),
        ({"state": "gone"}, "is not a state"),
        ({"note": "x" * 4001}, "at most 4000"),
        ({"assignee": "x" * 201}, "at most 200"),
    ],
)
def test_what_nobody_could_read_later_is_refused_as_a_whole(tmp_path, words, complaint):
    state = tmp_path / "state.sqlite"
    with pytest.raises(UsageError, match=complaint):
        reviews.add(state, [entry(note="fine"), entry(**words)])
    assert reviews.listed(state) == []


def test_a_file_with_marks_only_is_brought_up_to_date(tmp_path):
    state = tmp_path / "state.sqlite"
    mark = marks.add(state, marks.Mark(marked_at=AT, text="new driver", who="ann", created_at=AT))
    with opened(state) as con:
        con.execute("DROP TABLE reviews")
        con.execute("DELETE FROM migrations WHERE name = '0002_reviews.sql'")
    reviews.add(state, [entry(note="seen")])
    assert [entry.note for entry in reviews.listed(state)] == ["seen"]
    assert marks.listed(state) == [mark]


def test_a_backup_has_what_was_said(tmp_path):
    reviews.add(tmp_path / "state.sqlite", [entry(note="seen")])
    backup(tmp_path / "state.sqlite", tmp_path / "copy.sqlite")
    assert [entry.note for entry in reviews.listed(tmp_path / "copy.sqlite")] == ["seen"]
