"""Tables fit into a window of 1440 pixels: numbers and names whole, long texts cut, the rest in a table's menu."""

import json

import pandas as pd
import pytest
import streamlit as st

from dashboard.ui import tables, widths
from dashboard.ui.tables import NARROW_COOKIE, TableColumn, display
from store.advice import finding
from store.ingest import ingest
from tests.dashboard.opened import open_page, seen

FALLBACKS = "e065a9cb-9d6c-4852-956d-b8d1b4592a62"
MATRIX = "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
NIGHTLY = "9f8ed5b7-d73d-4573-a4f0-ed97573cfbb4"
FORMATS = {"ratio": "%.2f\N{MULTIPLICATION SIGN}", "decimal": "%.4g"}


def fitted(frame, room=widths.ROOM_PX, **kinds):
    facts = {name: widths.ColumnFacts(name, kind, pinned=name == "model", at_least=0) for name, kind in kinds.items()}
    return widths.fitted(frame, facts, FORMATS, room)


def test_a_name_is_as_wide_as_the_browser_draws_it():
    """Measured in a picture: 107 pixels."""
    assert widths.text_px("openxla+lazytensor") == pytest.approx(107, rel=0.05)


def test_a_long_number_far_down_is_never_cut():
    short, long = pd.DataFrame({"speedup": [1.0] * 50}), pd.DataFrame({"speedup": [1.0] * 50 + [12394.66]})
    found = fitted(long, speedup="ratio")["speedup"] - fitted(short, speedup="ratio")["speedup"]
    assert found > 0
    assert fitted(long, room=10, speedup="ratio") == fitted(long, speedup="ratio")


def test_texts_make_room_the_longest_first_and_names_last():
    frame = pd.DataFrame({"model": ["m" * 20], "why": ["because " * 20], "test": ["eval"]})
    whole = fitted(frame, room=5000, model="text", why="text", test="text")
    tight = fitted(frame, room=500, model="text", why="text", test="text")
    assert sum(tight.values()) <= 500
    assert tight["why"] < whole["why"]
    assert {name: tight[name] for name in ("model", "test")} == {name: whole[name] for name in ("model", "test")}
    narrow = fitted(frame, room=10, model="text", why="text", test="text")
    assert (narrow["model"], narrow["why"]) == (widths.SHORTEST_NAME_PX, widths.SHORTEST_PX)


def test_a_long_text_has_the_room_that_is_left():
    frame = pd.DataFrame({"model": ["resnet18"], "why": ["because " * 14], "test": ["eval"]})
    found = fitted(frame, room=1000, model="text", why="text", test="text")
    assert widths.LONGEST_PX < widths.text_px("because " * 14) < found["why"] < 1000
    longer = fitted(frame.assign(why="because " * 40), room=1000, model="text", why="text", test="text")
    assert sum(longer.values()) == 1000


def test_the_name_of_a_backend_is_never_cut():
    frame = pd.DataFrame({"model": ["openxla+lazytensor"], "why": ["because " * 20]})
    narrow = fitted(frame, room=10, model="text", why="text")
    assert narrow["model"] >= widths.text_px("openxla+lazytensor")


def test_a_verdict_with_its_numbers_is_cut_after_every_text():
    frame = pd.DataFrame({"moved": ["~ unchanged, 0.60 -> 0.60 times"], "why": ["because " * 4]})
    whole = fitted(frame, room=5000, moved="verdict", why="text")
    tight = fitted(frame, room=whole["moved"] + 100, moved="verdict", why="text")
    assert tight["moved"] == whole["moved"]
    assert tight["why"] < whole["why"]


def test_a_column_without_values_has_room_for_its_head():
    frame = pd.DataFrame({"model": [None], "speedup": [float("nan")]})
    assert fitted(frame, model="text", speedup="ratio")["speedup"] >= widths.text_px("speedup")


def test_on_a_telephone_the_browser_keeps_names_pinned(monkeypatch, demo):
    """It pins none if they need more than 60 % of the width of the table."""
    names = widths.narrow_names({"test": 55, "suite": 105, "series": 150, "n": 40}, ["test", "suite", "series"])
    assert names["test"] == 55
    assert set(names) == {"test", "series"}
    monkeypatch.setattr(type(st.context), "cookies", {NARROW_COOKIE: "1"})
    at = open_page(monkeypatch, demo, "speedup")
    columns = json.loads(next(table for table in at.dataframe if "speedup" in table.value).proto.columns)
    pinned = {name: column["width"] for name, column in columns.items() if column.get("pinned")}
    assert set(pinned) == {"model", "series"}
    assert sum(pinned.values()) <= widths.NARROW_PX


def test_on_a_telephone_the_first_number_is_next_to_the_names(monkeypatch, demo):
    """There, a third column is seen, and hardly a fourth."""
    wide = _order(open_page(monkeypatch, demo, "speedup"))
    assert wide[:3] == ["model", "series", "doubt"]
    monkeypatch.setattr(type(st.context), "cookies", {NARROW_COOKIE: "1"})
    narrow = _order(open_page(monkeypatch, demo, "speedup"))
    assert narrow[:6] == ["model", "series", "test", "speedup", "interval", "doubt"]
    assert sorted(narrow) == sorted(wide)


def test_on_a_telephone_the_marks_of_warnings_are_before_the_names(monkeypatch, factory, tmp_path):
    """The column of the warnings is out of sight there."""
    records = [factory.make_record(model=model, backend=name) for model in ("a", "b") for name in ("eager", "inductor")]
    for record in records:
        record.verification_code = "PASS" if record.model.model_name == "a" else None
    records[0].findings = records[2].findings = [finding("few_blocks", n=3, wanted=6)]
    factory.write_run(tmp_path / "run", records)
    ingest([tmp_path], tmp_path / "store")
    wide, narrow = {}, {}
    for found in (wide, narrow):
        rows = _speedups(open_page(monkeypatch, tmp_path / "store", "speedup")).value.fillna("")
        found |= dict(zip(rows["doubt"], rows["model"], strict=True))
        monkeypatch.setattr(type(st.context), "cookies", {NARROW_COOKIE: "1"})
    marks = {"": "", "° not verified": "° ", "† few blocks": "† ", "° not verified +1": "°† "}
    assert narrow == {words: f"{mark}{wide[words]}" for words, mark in marks.items()}
    assert set(wide.values()) == {"a", "b"}


def test_a_verdict_stays_before_the_number_and_an_interval_with_its_own_number():
    kinds = {
        "model": "text",
        "suite": "text",
        "test": "text",
        "word": "verdict",
        "latency": "ms",
        "n": "number",
        "speedup": "ratio",
    }
    columns = {name: TableColumn(name, kind) for name, kind in kinds.items()} | {"interval": TableColumn("95 % CI")}
    ordered = tables._number_first(list(columns), ["model"], columns)
    assert ordered == ["model", "test", "word", "latency", "n", "suite", "speedup", "interval"]


def _order(at):
    return list(_speedups(at).proto.column_order)


def _speedups(at):
    return next(table for table in at.dataframe if "speedup" in table.value)


def test_a_code_is_never_cut():
    frame = pd.DataFrame({"code": ["VERIFIER_SKIPPED"], "why": ["because " * 20]})
    whole, tight = (fitted(frame, room=room, code="code", why="text") for room in (5000, 250))
    assert tight["code"] == whole["code"] >= widths.text_px("VERIFIER_SKIPPED")
    assert tight["why"] < whole["why"]


def test_a_dash_is_a_missing_value_to_the_table():
    frame = pd.DataFrame({"interval": ["\N{EM DASH}", "1.00\N{EN DASH}2.00"]})
    assert display(frame, {"interval": TableColumn("95 % CI")})["interval"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("page", "run"),
    [
        *(("fallback-ops", FALLBACKS), ("compile-time", MATRIX), ("speedup", MATRIX), ("runs", NIGHTLY)),
        *(("overview", NIGHTLY), ("compare", NIGHTLY)),
    ],
)
def test_no_table_needs_scrolling_sideways(review_store, page, run):
    found = [
        (list(table.proto.column_order) or list(table.value), json.loads(table.proto.columns))
        for table in seen(review_store, page, run=[run]).dataframe
    ]
    assert found
    room = widths.PAGE_PX if page == "overview" else widths.ROOM_PX
    for order, columns in found:
        assert sum(columns[name]["width"] for name in order) <= room, order


@pytest.mark.parametrize(
    ("page", "run", "column", "hidden"),
    [
        (
            *("fallback-ops", FALLBACKS, "payoff_said"),
            {"ranked_by", "calls_compile", "results_n", "time_n", "blocked_models"},
        ),
        (
            "compile-time",
            MATRIX,
            "runtime_start_s",
            {"compile_peer_s", "compiler_source", "runtime_start_s", "start", "status"},
        ),
    ],
)
def test_rare_columns_are_in_the_menu(review_store, page, run, column, hidden):
    at = seen(review_store, page, run=[run])
    table = next(each for each in at.dataframe if column in each.value)
    assert set(table.value) - set(table.proto.column_order) == hidden


def test_a_test_that_all_compile_times_share_leaves_its_room_to_names(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "compile-time", test=["eval"])
    table = next(each for each in at.dataframe if {"model", "time_to_steady_s"} <= set(each.value))
    assert "test" not in table.value
    width = json.loads(table.proto.columns)["model"]["width"]
    assert all(width >= widths.text_px(name) for name in table.value["model"])
