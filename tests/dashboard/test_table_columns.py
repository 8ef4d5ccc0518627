"""A table leaves out a column that its rows have not: so what a table names is what its query asks for."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import data, settings
from dashboard.data.frames import with_series
from dashboard.screens import compile_time, model, speedup
from dashboard.screens.runs import records
from dashboard.view import ViewSelection
from store import query
from tests.dashboard.opened import seen

VIEW = SimpleNamespace(baseline_text="inductor")
TABLES = {
    "speedups": (speedup._columns(VIEW), {"interval", "trend", "rerun"}),
    "sides": (model._sides_columns(VIEW), {"interval", "why", "doubt", "verification"}),
    "results": (compile_time._columns(), {"why"}),
    "experiments": (records._experiments_columns(), {"doubt"}),
}
"""Query → columns of its table, and those that the page makes itself."""


@pytest.mark.parametrize("name", TABLES)
def test_a_query_has_every_column_of_its_table(demo, name):
    columns, made = TABLES[name]
    shown = str(query.current_snapshot(demo))
    found = with_series(data.rows(shown, name, ViewSelection(run_id=None, baseline="inductor")))
    assert set(columns) - made <= set(found.columns)


NUMBERS = {"ratio", "ms", "seconds", "number", "decimal", "MiB", "percent"}


def test_every_number_of_a_table_says_what_it_is():
    """Columns of the registry have its definition; of the others each has its own."""
    root, silent = Path(settings.__file__).parent, []
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("TableColumn", "tables.TableColumn"):
                given = [part.value for part in node.args if isinstance(part, ast.Constant)]
                if NUMBERS & set(given[1:]) and "help" not in {word.arg for word in node.keywords}:
                    silent.append(f"{path.relative_to(root)}: {given[0]}")
    assert silent == []


@pytest.mark.parametrize("page", ["overview", "speedup", "compile-time", "fallback-ops", "model", "runs"])
def test_no_two_columns_of_a_table_have_one_name(demo, page):
    at = seen(demo, page, unfolded=["numbers", "moved"], suite=["torchbench"], model=["resnet18"], test=["eval"])
    assert len(at.dataframe)
    for table in at.dataframe:
        columns = json.loads(table.proto.columns)
        shown = list(table.proto.column_order) or list(table.value)
        labels = [columns[name].get("label") or name for name in shown if name in columns]
        assert len(labels) == len(set(labels)), labels


def test_a_large_count_has_the_commas_of_sentences_and_the_number_of_a_job_has_none():
    frame = pd.DataFrame({"planned_n": [7, 2834], "ran_n": [7, 834], "job": [1, 2834], "change_n": [-1, 2834]})

    def table():
        import streamlit as st

        from dashboard.data import TableSource
        from dashboard.ui import tables

        columns = {name: tables.TableColumn(name, "number") for name in st.session_state["frame"]}
        tables.show(st.session_state["frame"], columns, TableSource("a"), key="a", alt="a")

    at = AppTest.from_function(table)
    at.session_state["frame"] = frame
    [shown] = at.run().dataframe
    columns = json.loads(shown.proto.columns)
    formats = {name: columns[name]["type_config"]["format"] for name in frame}
    assert formats == {"planned_n": "accounting", **dict.fromkeys(("ran_n", "job", "change_n"), "%d")}
    assert shown.value["planned_n"].tolist() == [7, 2834]
