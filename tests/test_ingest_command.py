"""`xlabench ingest` as a user calls it."""

import signal
import tempfile

import duckdb
import pytest

from store import query
from store.errors import StorageError
from store.ingest.relation import GIVEN_UP, Rejected
from tests import warm
from tests.command import xlabench
from tests.store.factory import make_record, write_lines
from xlabench.ingest import _print_rejected

OFTEN = """
import sys
from store.ingest import run
from xlabench import main
run.PUBLISH_EVERY_S, run._SHARE = 0.2, 1.0
sys.exit(main())
"""


def test_watch_follows_what_is_written_until_it_is_interrupted(tmp_path):
    """Also into a folder that holds nothing yet; it looks often, not every five seconds."""
    path = tmp_path / "runs" / "a.jsonl"
    path.parent.mkdir()
    with tempfile.TemporaryFile() as said:
        words = ["ingest", path.parent, "--watch", "--database", tmp_path / "store"]
        watching = warm.serve("-c", [OFTEN, *words], said, imports=None)
        watching.says("0 new records")
        write_lines(path, [make_record()])
        watching.says("1 new record ")
        write_lines(tmp_path / "more", [make_record(model="vgg16")])
        with path.open("ab") as file:
            file.write((tmp_path / "more").read_bytes())
        watching.says("1 new record ", 2)
        with query.connect(query.current_snapshot(tmp_path / "store")) as con:
            assert con.execute("SELECT count(*) FROM records").fetchone() == (2,)
        watching.send_signal(signal.SIGINT)
        text, _ = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert text.endswith("\nxlabench: Interrupted.\n")
    assert text.count("xlabench: ") == 1


def test_rejected_lines_are_named_up_to_a_limit_and_the_exit_code_is_3(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{bad\n" * 25)
    ended = xlabench("ingest", path, "--database", tmp_path / "store", code=3)
    assert "25 rejected" in ended.stdout
    assert f"{path}, line 2 (byte 5): not JSON" in ended.stderr
    assert ended.stderr.rstrip().endswith("Table rejected_lines lists 5 more rejected lines.")


def test_a_file_that_is_not_read_on_is_named_before_its_rejected_lines(capsys):
    lines = [Rejected("a.jsonl", number, number, "not JSON", "") for number in range(1, 31)]
    _print_rejected([*lines, Rejected("a.jsonl", 31, 31, GIVEN_UP, "")])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"xlabench: a.jsonl, line 31 (byte 31): {GIVEN_UP}"
    assert said[1].endswith("line 1 (byte 1): not JSON")
    assert said[20:] == ["xlabench: Table rejected_lines lists 11 more rejected lines."]


def test_what_is_not_read_is_named(tmp_path):
    (tmp_path / "notes.json").write_bytes(b'{"of": 1}')
    write_lines(tmp_path / "a.jsonl", [make_record()])
    ended = xlabench("ingest", tmp_path, "--database", tmp_path / "store")
    assert ended.stderr == ""
    assert f"Skipped files of unknown format: {tmp_path / 'notes.json'}." in ended.stdout
    ended = xlabench("ingest", tmp_path / "notes.json", "--database", tmp_path / "store", code=3)
    assert "1 unfinished line left for later" in ended.stdout
    assert f"{tmp_path / 'notes.json'}, line 1 (byte 0): the line does not end in a newline" in ended.stderr


def test_files_stand_on_both_sides_of_a_flag(tmp_path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_lines(a, [make_record()])
    write_lines(b, [make_record(backend="eager")])
    ended = xlabench("ingest", a, "--database", tmp_path / "store", b)
    assert "Ingested 2 new records (0 known, 0 rejected) from 2 files into index " in ended.stdout


def test_a_folder_with_nothing_to_ingest_is_an_error(tmp_path):
    (tmp_path / "empty" / "deeper").mkdir(parents=True)
    write_lines(tmp_path / "a.jsonl", [make_record()])
    refused = xlabench("ingest", tmp_path / "a.jsonl", tmp_path / "empty", "--database", tmp_path / "store", code=2)
    assert f"{tmp_path / 'empty'} contains no run.json" in refused.stderr


def test_an_index_of_another_version_is_brought_to_this_one_where_its_files_are_elsewhere(tmp_path):
    """What a page then asks for, `xlabench ingest` without a path, in a home that has no runs of its own."""
    write_lines(tmp_path / "elsewhere.jsonl", [make_record()])
    home = tmp_path / "home"
    nothing = xlabench("ingest", "--home", home, code=2)
    assert "does not exist. Name a run folder" in nothing.stderr
    xlabench("ingest", tmp_path / "elsewhere.jsonl", "--home", home)
    _make_old(query.current_snapshot(home / "store"), home / "store" / "work.duckdb")
    with pytest.raises(StorageError, match="Run `xlabench ingest` once"):
        query.connect(query.current_snapshot(home / "store"))
    xlabench("ingest", "--home", home)
    with query.connect(query.current_snapshot(home / "store")) as con:
        assert con.execute("SELECT count(*) FROM results").fetchone() == (1,)


def test_a_damaged_pointer_is_named_and_written_again_where_the_files_are_elsewhere(tmp_path):
    write_lines(tmp_path / "elsewhere.jsonl", [make_record()])
    home = tmp_path / "home"
    xlabench("ingest", tmp_path / "elsewhere.jsonl", "--home", home)
    (home / "store" / "CURRENT").write_bytes(b"")
    refused = xlabench("sql", "SELECT count(*) FROM results", "--home", home, code=2).stderr
    assert f"The file {home / 'store' / 'CURRENT'} is damaged" in refused
    assert "There is no index" not in refused
    xlabench("ingest", "--home", home)
    assert "1" in xlabench("sql", "SELECT count(*) FROM results", "--home", home).stdout


def _make_old(*indexes):
    for index in indexes:
        with duckdb.connect(str(index)) as con:
            con.execute("UPDATE index_facts SET value = 'older' WHERE name = 'views'")
