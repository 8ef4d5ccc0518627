"""`xlabench sql` as a user calls it."""

import io
import signal
import tempfile
import time

import psutil
import pytest

import xlabench
from store.ingest import ingest
from tests import warm
from tests.store.factory import make_record, write_lines
from tests.tiers import first_of

ENDLESS = "SELECT sum(sqrt(i)) FROM range(1000000000000) t(i)"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The store of one record, which no test changes."""
    folder = tmp_path_factory.mktemp("one")
    write_lines(folder / "a.jsonl", [make_record()])
    ingest([folder / "a.jsonl"], folder / "store")
    return folder / "store"


def test_a_user_at_a_terminal_is_asked_for_a_missing_query(monkeypatch, capsys, store):
    """The command waited in silence, also for an empty query."""
    terminal = io.StringIO("SELECT 42")
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    assert xlabench.main(["sql", "", "--database", str(store)]) == 2
    assert "The query is empty." in capsys.readouterr().err
    assert xlabench.main(["sql", "--database", str(store)]) == 0
    out, err = capsys.readouterr()
    assert ("42" in out, err) == (True, "xlabench: Type a query, then press Ctrl-D.\n")


@pytest.mark.parametrize("_attempt", first_of(range(3), 2))
def test_ctrl_c_ends_a_long_query_at_once(store, _attempt):
    """DuckDB itself took notice of about every second signal."""
    with tempfile.TemporaryFile() as said:
        asking = warm.serve("xlabench", ["sql", ENDLESS, "--database", store], said, imports=None)
        until = time.monotonic() + 60
        while psutil.Process(asking.pid).cpu_times().user < 0.5:  # it needs less until it asks
            assert time.monotonic() < until
            time.sleep(0.05)
        asking.send_signal(signal.SIGINT)
        assert asking.communicate(timeout=60)[0] == "xlabench: Interrupted.\n"
    assert asking.returncode == 130


@pytest.mark.parametrize("query", [" ", ";", "-- only a comment"])
def test_a_query_that_asks_nothing_is_answered_with_a_sentence(store, capsys, query):
    assert xlabench.main(["sql", query, "--database", str(store)]) == 2
    assert capsys.readouterr().err.startswith("xlabench: The query is empty. ")


def test_of_two_queries_none_is_answered_in_silence(store, capsys):
    """The rows of the last one were printed, and the others ran for nothing."""
    assert xlabench.main(["sql", "SELECT 1; SELECT 2", "--database", str(store)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "The query has 2 statements, but only the last one would be answered. Pass one." in said.err
    assert xlabench.main(["sql", "SELECT 1;\n-- done", "--database", str(store)]) == 0


def test_lines_of_csv_end_with_a_newline_alone(store, capsys):
    """A shell passes `$(xlabench sql …)` on as it is: a carriage return would belong to the id."""
    assert xlabench.main(["sql", "SELECT run_id FROM runs", "--format", "csv", "--database", str(store)]) == 0
    assert capsys.readouterr().out == f"run_id\n{make_record().run.run_id}\n"
