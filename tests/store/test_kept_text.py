"""What the index keeps of another tool's line: it leaves out what columns hold, and both give the whole line again."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import query
from store.database.owner import owner
from store.ingest import ingest, kept
from store.ingest.kept import kept_text
from tests.store.peer_records import peer_record, write_peer

VIEWS = Path(query.__file__).parent / "views" / "base.sql"
MARK = "@records.block_total_s"
KEPT = {
    "plain": (peer_record(), ["total_time", "per_iter_time"]),
    "of XLA": (
        peer_record(
            backend="openxla+lazytensor",
            load_time_s=[0.25],
            peak_memory_bytes=[2**33],
            xla_CompileTime_time_s=[1.5, 0.0, 0.0, 0.0, 0.0],
            xla_ExecuteTime_time_s=[0.1, 1e-5, 0.1, 0.1, 0.1],
            trace_per_iter_time=[0.5, 0.25, 0.25, 0.25, 1e-7],
            xla_CompileTime_number=[1, 1, 1, 1, 1],
        ),
        [
            *("total_time", "per_iter_time", "trace_per_iter_time", "xla_CompileTime_time_s"),
            *("xla_ExecuteTime_time_s", "load_time_s", "peak_memory_bytes"),
        ],
    ),
    "of three iterations": (
        peer_record()
        | {"iterations_per_run": 3, "metrics": {"total_time": [0.1, 0.7], "per_iter_time": [0.1 / 3, 0.7 / 3]}},
        ["total_time", "per_iter_time"],
    ),
    "of no known number of iterations": (peer_record() | {"iterations_per_run": None}, ["total_time", "per_iter_time"]),
    "whose iterations are no quotients": (
        peer_record() | {"metrics": {"total_time": [0.1, 0.7], "per_iter_time": [0.2, 0.7]}},
        ["total_time"],
    ),
    "of dynamo": (
        peer_record(dynamo_compile_time_s=[1.1]),
        ["total_time", "per_iter_time", "dynamo_compile_time_s"],
    ),
    "of dynamo, twice": (peer_record(dynamo_compile_time_s=[1.1, 0.5]), ["total_time", "per_iter_time"]),
    "of no dynamo": (
        peer_record(backend="openxla+lazytensor", dynamo_compile_time_s=[1.1]),
        ["total_time", "per_iter_time"],
    ),
    "with integers": (peer_record(total_time=(15, 1, 1, 1)), []),
    "with an integer among fractions": (peer_record(total_time=(15.0, 1, 1.5, 1.5)), []),
    "with a list of another length": (
        peer_record(xla_CompileTime_time_s=[1.5], load_time_s=[0.5, 0.5], peak_memory_bytes=[2**60]),
        ["total_time", "per_iter_time"],
    ),
    "with bare numbers": (peer_record(total_time=None, load_time_s=0.5, peak_memory_bytes=4), []),
    "that failed": (peer_record(total_time=None, error="Traceback\nboom"), []),
    "without blocks": (peer_record(total_time=()), []),
    "with the word for a column elsewhere": (peer_record(note=MARK), []),
    "with the word for a column as a metric": (peer_record() | {"metrics": {"total_time": MARK}}, None),
    "with the word for a column in a text": (peer_record(total_time=None, error=f'said "{MARK}" and died'), []),
}
"""Lines, and the metrics that the index keeps as columns only; None: such a line is no record."""


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The index of these lines, a file for each."""
    folder = tmp_path_factory.mktemp("kept")
    for number, (record, _) in enumerate(KEPT.values()):
        write_peer(folder / "runs" / str(number) / "results.jsonl", [record])
    ingest([folder], folder / "store")
    with query.connect(query.current_snapshot(folder / "store")) as con:
        yield con


def texts(con, text):
    """Return the one text of each file, by its number."""
    sql = (
        f"SELECT regexp_extract(s.path, '([0-9]+)/results', 1)::INTEGER, {text} "
        f"FROM records AS r JOIN record_sources AS s USING (record_id)"
    )
    return dict(con.execute(sql).fetchall())


def test_the_whole_line_comes_back_and_what_columns_hold_is_not_kept_twice(index):
    kept, whole = texts(index, "r.record"), texts(index, "whole_text(r)")
    assert len(kept) == sum(held is not None for _, held in KEPT.values())
    for number, (name, (record, held)) in enumerate(KEPT.items()):
        if held is None:
            continue
        assert json.dumps(json.loads(whole[number])) == json.dumps(record), name
        metrics = json.loads(kept[number])["metrics"]
        marks = {key for key, value in metrics.items() if str(value).startswith("@records.")}
        assert marks - {"note"} == set(held), name


def test_every_list_that_is_left_out_is_put_back():
    macro = next(text for text in VIEWS.read_text().split(";\n") if "MACRO whole_text" in text)
    assert [held.mark for held in kept._HELD.values() if f'"{held.mark}"\', ' not in macro] == []


def test_view_results_gives_the_whole_line(index):
    written = {json.dumps(record) for record, _ in KEPT.values()}
    shown = [json.dumps(json.loads(text)) for (text,) in index.execute("SELECT record FROM results").fetchall() if text]
    assert len(shown) >= 2
    assert set(shown) <= written


def test_a_line_that_an_earlier_version_kept_whole_is_known(tmp_path):
    """Its text differs from what is kept now, and says the same."""
    write_peer(tmp_path / "runs" / "one" / "results.jsonl", [peer_record()])
    ingest([tmp_path], tmp_path / "store")
    with owner(tmp_path / "store") as work:
        work.con.execute("UPDATE records SET record = $text", {"text": json.dumps(peer_record())})
    write_peer(tmp_path / "runs" / "copy" / "results.jsonl", [peer_record(), peer_record(model="other")])
    found = ingest([tmp_path], tmp_path / "store")
    assert (found.records_n, found.known_n, found.rejected) == (1, 1, [])


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=6), st.integers(1, 7), st.booleans())
def test_every_list_of_fractions_is_told_from_one_that_the_column_does_not_hold(totals, per_run, near):
    """Of the time of an iteration the column holds the quotients, bit by bit."""
    per_iter = [total / per_run for total in totals]
    if near:
        per_iter[-1] = per_iter[-1] * (1 + 2**-52) + 5e-324
    metrics = {"total_time": totals, "per_iter_time": per_iter}
    record = peer_record() | {"iterations_per_run": per_run, "metrics": metrics}
    kept = json.loads(kept_text(json.dumps(record).encode(), record))["metrics"]
    assert kept["total_time"] == MARK
    assert (kept["per_iter_time"] == "@records.block_per_iter_s") == (per_iter == [total / per_run for total in totals])
