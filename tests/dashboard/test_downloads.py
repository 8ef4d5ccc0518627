"""The files under a table hold its rows, and addresses keep the selection."""

import io
import json
from datetime import datetime
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest

from dashboard.data import query_text
from dashboard.ui import downloads
from dashboard.view import ViewSelection, links
from tests.dashboard.opened import open_page

FRAME = pd.DataFrame(
    {
        "model": ["<script>x</script>", 'it\'s, "so"\n😀'],
        "latency_s": [0.1 + 0.2, np.nan],
        "n": pd.array([3, None], dtype="Int64"),
        "models": [["a", "b"], None],
        "at": [datetime(2026, 1, 2, 3, 4, 5), None],  # noqa: DTZ001 - the store's times are UTC without a zone
    }
)


def test_csv_has_every_digit_and_empty_fields_for_what_is_missing():
    read = pd.read_csv(io.BytesIO(downloads.as_csv(FRAME)))
    assert read["latency_s"][0] == 0.1 + 0.2
    assert read["model"].tolist() == FRAME["model"].tolist()
    assert read.loc[1, ["latency_s", "n", "models", "at"]].isna().all()


def test_markdown_has_names_for_lists_and_no_sparklines():
    frame = FRAME.assign(trend=[[0.25, np.float64(0.5)], None], models=[np.array(["a", "b"]), None])
    head, _, first, _ = downloads.as_markdown(frame).splitlines()
    assert head == "| model | latency_s | n | models | at |"
    assert first.split(" | ")[1:4] == ["0.3", "3", "a, b"]


def test_parquet_keeps_types_and_lists():
    read = pd.read_parquet(io.BytesIO(downloads.as_parquet(FRAME)))
    assert read["latency_s"][0] == 0.1 + 0.2
    assert list(read["models"][0]) == ["a", "b"]
    assert read["at"][0] == FRAME["at"][0]


def test_json_is_an_array_of_objects_with_null_for_what_is_missing():
    first, second = json.loads(downloads.as_json(FRAME))
    assert first["latency_s"] == pytest.approx(0.3, abs=1e-15)
    assert first["at"].startswith("2026-01-02T03:04:05")
    assert second["model"] == FRAME["model"][1]
    assert [second[name] for name in ("latency_s", "n", "models", "at")] == [None] * 4


def test_literals_are_written_so_that_no_value_ends_its_quotes():
    text = query_text.written_out(
        "SELECT $a, $b, $c, $d", {"a": "it's'; DROP TABLE x --", "b": [1, "q'"], "c": None, "d": True}
    )
    assert text == "SELECT 'it''s''; DROP TABLE x --', [1, 'q'''], NULL, true"


def test_a_name_that_looks_like_a_parameter_is_not_replaced():
    assert query_text.written_out("SELECT $a, $b", {"a": "$b", "b": "x"}) == "SELECT '$b', 'x'"


def test_address_keeps_the_selection_and_puts_parameters_in_place_of_its_own():
    chosen = ViewSelection(
        run_id="r", baseline="eager", baseline_point="oldest", model=("a", "b&c"), only=("no graph breaks",)
    )
    found = links.parameters(chosen, model="d", op="nonzero", baseline=None)
    assert found == {
        "run": ["r"],
        "baseline_run": ["oldest"],
        "only": ["no graph breaks"],
        "model": ["d"],
        "op": ["nonzero"],
    }


class Shown:
    """What an address needs of a view."""

    selection = ViewSelection(run_id="r", baseline="inductor", suite=("a b&c=<d>",))


@pytest.mark.parametrize(("page", "begins"), [("speedup", "speedup?"), ("", "./?")])
def test_address_is_relative_and_escaped(page, begins):
    found = links.href(Shown, page)
    assert found.startswith(begins)
    assert parse_qs(found.partition("?")[2])["suite"] == ["a b&c=<d>"]
    assert "<" not in found


def test_a_table_can_be_copied_as_markdown():
    frame = pd.DataFrame({"model": ["a|b", None], "speedup": [1.23456, float("nan")], "n": [3, 4]})
    assert (
        downloads.as_markdown(frame)
        == "| model | speedup | n |\n| --- | --- | --- |\n| a\\|b | 1.235 | 3 |\n|  |  | 4 |"
    )


def test_the_rows_of_a_page_are_offered_as_markdown(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "speedup", unfolded=("speedups-files",))
    [copied] = [block.value for block in at.code if block.language == "markdown"]
    assert copied.startswith("| ")
    assert " vgg16 " in copied
