"""Rows of frames, and frames from the cache: what one reader's page does to them is not seen by another."""

import math

import msgspec
import pandas as pd
import pytest

from dashboard import data
from dashboard.data import snapshot
from dashboard.data.frames import iter_rows, rows_by
from dashboard.screens.runs import records
from dashboard.view import ViewSelection
from store import query
from store.ingest import ingest


def test_a_row_has_the_values_of_its_columns_as_python_has_them():
    moment = pd.Timestamp("2026-11-22 05:00")
    frame = pd.DataFrame(
        {"name": ["a", None], "n": [1, 2], "share": [0.5, math.nan], "at": [moment, pd.NaT], "trend": [[1.0], []]}
    ).astype({"name": "str", "at": "datetime64[us]"})
    first, second = iter_rows(frame)
    assert (first.name, first.n, first.share, first.at, first.trend) == ("a", 1, 0.5, moment, [1.0])
    assert (type(first.n), type(first.share)) == (int, float)
    assert all(pd.isna(value) for value in (second.name, second.share, second.at))
    assert getattr(second, "series", "none") == "none"
    assert [row.n for row in iter_rows(frame[::-1])] == [2, 1], "by place, whatever the index"
    assert list(iter_rows(frame.iloc[:0])) == []


def test_only_columns_that_are_read_become_python_values(monkeypatch):
    made = []
    tolist = pd.Series.tolist
    monkeypatch.setattr(pd.Series, "tolist", lambda values: made.append(values.name) or tolist(values))
    assert [row.b for row in iter_rows(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))] == [2]
    assert made == ["b"]


def test_rows_are_found_by_a_key_in_which_missing_values_agree():
    frame = pd.DataFrame({"suite": ["a", "b", "a", None, None], "batch": [4.0, math.nan, 4.0, math.nan, math.nan]})
    frame = frame.assign(n=range(5)).astype({"suite": "str"})
    found = {key: [row.n for row in rows] for key, rows in rows_by(frame, ["suite", "batch"]).items()}
    assert found == {("a", 4.0): [0, 2], ("b", None): [1], (None, None): [3, 4]}
    assert [len(rows) for rows in rows_by(frame, ["batch"]).values()] == [2, 3]
    assert rows_by(frame.iloc[:0], ["suite"]) == {}


@pytest.fixture
def snapshots(factory, tmp_path):
    """Return a snapshot with one run, and the next one with a second run of another label and suite."""
    paths = []
    for label, suite in (("first", "dummy"), ("second", "torchbench")):
        record = factory.make_record(suite=suite, run_id=label)
        record = msgspec.structs.replace(record, run=msgspec.structs.replace(record.run, label=label))
        factory.write_run(tmp_path / label, [record])
        ingest([tmp_path / label], tmp_path / "store")
        paths.append(str(query.current_snapshot(tmp_path / "store")))
        snapshot.connection(paths[-1])  # as of a session that goes on showing it
    return paths


def test_a_new_snapshot_has_its_own_runs_labels_and_choices(snapshots):
    """Each is read before the other is made known, and again after it, as by sessions that show different ones."""
    old, new = snapshots
    for _ in range(2):
        assert [len(data.runs(path)) for path in snapshots] == [1, 2]
        assert data.labels(old) == ("first",)
        assert set(data.labels(new)) == {"first", "second"}
        suites = [data._values(path)[0]["suite"] for path in snapshots]
        assert suites == [("dummy",), ("dummy", "torchbench")]


def test_what_a_page_writes_into_cached_rows_is_not_seen_by_another(snapshots):
    run = data.choices(snapshots[0]).newest
    for read in (
        lambda: data.runs(snapshots[0]),
        lambda: data.rows(snapshots[0], "experiments", ViewSelection(run, "x")),
    ):
        mine = read()
        mine["run_id"] = "changed"
        mine["added"] = 1
        assert list(read()["run_id"]) == [run]
        assert "added" not in read().columns


def test_the_matrix_joins_statuses_of_one_cell_and_sorts_models_and_series():
    names = ("suite", "model", "test", "accelerator", "series", "status", "verification_code")
    rows = [
        ("s", "b", "eval", "cpu", "x", "ok", None),
        ("s", "b", "eval", "cpu", "x", "oom", None),
        ("s", "a", "eval", "cpu", "x", "ok", "FAIL"),
        ("s", "a", "eval", "cpu", "e", "ok", "PASS"),
        ("s", "c", "eval", None, "e", "ok", None),
    ]
    wide, series = records._matrix(pd.DataFrame(rows, columns=names))
    assert series == ["e", "x"]
    assert wide["model"].tolist() == ["a", "b"]
    assert wide["x"].tolist() == ["wrong answer", "ok / out of memory"]
    assert wide["e"].isna().tolist() == [False, True]
