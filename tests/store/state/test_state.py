"""What people typed survives, is refused where it could not, and can be copied while it is in use."""

import sqlite3
import threading
from datetime import datetime

import pytest

from store.errors import StateError, UsageError
from store.state import marks
from store.state.database import backup, file_system, opened

AT = datetime(2026, 11, 21, 14)  # noqa: DTZ001 (UTC)


def a_mark(text="new driver", **names):
    return marks.Mark(marked_at=AT, text=text, who="ann", created_at=AT, **names)


def test_a_mark_is_read_as_it_was_written(tmp_path):
    text = "it's new; DROP TABLE marks"
    written = marks.add(tmp_path / "state.sqlite", a_mark(text, model="vgg16", run_id="run-1"))
    assert written.mark_id == 1
    assert marks.listed(tmp_path / "state.sqlite") == [written]


def test_numbers_of_removed_marks_are_not_used_again(tmp_path):
    state = tmp_path / "state.sqlite"
    first, second = marks.add(state, a_mark("a")), marks.add(state, a_mark("b"))
    assert marks.remove(state, second.mark_id) == second
    assert marks.add(state, a_mark("c")).mark_id == 3
    assert [mark.mark_id for mark in marks.listed(state)] == [first.mark_id, 3]
    with pytest.raises(StateError, match="no mark 2"):
        marks.remove(state, 2)


def test_looking_makes_no_file(tmp_path):
    assert marks.listed(tmp_path / "state.sqlite") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("attempt", range(10))
def test_writers_wait_for_each_other(tmp_path, attempt):
    """The first ones also make the file: SQLite refused one of two that did so at once, in 3 of 150 attempts."""
    state = tmp_path / "state.sqlite"
    threads = [threading.Thread(target=marks.add, args=(state, a_mark(str(n)))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(mark.text for mark in marks.listed(state)) == [str(n) for n in range(8)]


def test_what_fails_midway_leaves_nothing(tmp_path):
    state = tmp_path / "state.sqlite"
    with pytest.raises(StateError, match="NOT NULL"):
        _write_twice(state)
    assert marks.listed(state) == []


def _write_twice(state):
    with opened(state) as con:
        con.execute("INSERT INTO marks (marked_at, text, who, created_at) VALUES ('2026', 'x', 'y', '2026')")
        con.execute("INSERT INTO marks (text) VALUES ('no time')")


def test_the_log_is_written_ahead(tmp_path):
    with opened(tmp_path / "state.sqlite") as con:
        assert con.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_a_file_of_a_later_version_is_refused(tmp_path):
    state = tmp_path / "state.sqlite"
    with opened(state) as con:
        con.execute("INSERT INTO migrations VALUES ('0999_later.sql')")
    with pytest.raises(StateError, match=r"later version \(it has 0999_later.sql\)"):
        marks.listed(state)


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "state.sqlite").write_text("hello " * 1000)
    with pytest.raises(StateError, match="cannot be used"):
        marks.listed(tmp_path / "state.sqlite")


def test_a_network_file_system_is_refused_with_its_kind(tmp_path, monkeypatch):
    table = tmp_path / "mounts"
    table.write_text(f"disk / ext4 rw 0 0\nserver:/x {tmp_path}/net nfs4 rw 0 0\n")
    (tmp_path / "net").mkdir()
    monkeypatch.setattr("store.state.database._MOUNTS", table)
    assert file_system(tmp_path / "net" / "home") == "nfs4"
    assert file_system(tmp_path) == "ext4"
    with pytest.raises(StateError, match=r"network file system \(nfs4\)"):
        marks.add(tmp_path / "net" / "state.sqlite", a_mark())
    assert list((tmp_path / "net").iterdir()) == []


def test_a_copy_is_whole_while_another_writes(tmp_path):
    state, copy = tmp_path / "state.sqlite", tmp_path / "copy.sqlite"
    marks.add(state, a_mark("kept"))
    with opened(state) as con:
        con.execute("DELETE FROM marks")
        backup(state, copy)
    assert [mark.text for mark in marks.listed(copy)] == ["kept"]
    with pytest.raises(StateError, match="exists"):
        backup(state, copy)


def test_without_anything_typed_there_is_nothing_to_copy(tmp_path):
    with pytest.raises(StateError, match="nothing to back up yet"):
        backup(tmp_path / "state.sqlite", tmp_path / "copy.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_cannot_be_written_is_one_sentence(tmp_path):
    state = tmp_path / "state.sqlite"
    marks.add(state, a_mark())
    with pytest.raises(StateError, match="There is no folder"):
        backup(state, tmp_path / "absent" / "copy.sqlite")
    state.write_bytes(b"no database" * 100)
    with pytest.raises(StateError, match="cannot be copied"):
        backup(state, tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists(), "nothing is left that looks like a backup"


def test_a_full_disk_is_named(tmp_path):
    state = tmp_path / "state.sqlite"
    marks.add(state, a_mark())

    def fill():
        with opened(state) as con:
            con.execute("PRAGMA max_page_count = 1")
            con.execute("UPDATE marks SET text = hex(zeroblob(1000000))")

    with pytest.raises(StateError, match="Free some space"):
        fill()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T14:00", AT),
        ("2026-11-21 14:00:00", AT),
        ("2026-11-21T15:00+01:00", AT),
        ("2026-11-21", datetime(2026, 11, 21)),  # noqa: DTZ001 (UTC)
    ],
)
def test_a_time_without_a_zone_is_utc(text, expected):
    assert marks.moment(text) == expected


def test_what_is_no_time_is_told():
    with pytest.raises(UsageError, match="'yesterday' is not a time"):
        marks.moment("yesterday")


def test_the_file_is_plain_sqlite(tmp_path):
    marks.add(tmp_path / "state.sqlite", a_mark())
    with sqlite3.connect(tmp_path / "state.sqlite") as con:
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    con.close()
