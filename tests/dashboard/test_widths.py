"""Wide tables fit into a window of 1440 pixels: what is seen at first has its place, the rest a table's menu."""

import json

import pytest

from tests.dashboard.opened import open_page

ROOM_PX = 1083
"""Of a table beside the sidebar."""
BOX_PX = 35
"""Where a row is selected."""
FALLBACKS = "e065a9cb-9d6c-4852-956d-b8d1b4592a62"
MATRIX = "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"


@pytest.mark.parametrize(
    ("page", "run", "column", "hidden"),
    [
        ("fallback-ops", FALLBACKS, "payoff_said", {"calls_compile", "results_n", "time_n", "blocked_models"}),
        ("fallback-ops", FALLBACKS, "call_sites", set()),
        ("compile-time", MATRIX, "runtime_start_s", {"compile_peer_s", "compiler_source", "runtime_start_s", "start"}),
    ],
)
def test_a_table_needs_no_scrolling_sideways(monkeypatch, review_store, page, run, column, hidden):
    at = open_page(monkeypatch, review_store, page, run=[run])
    table = next(each for each in at.dataframe if column in each.value)
    shown = list(table.proto.column_order)
    assert set(table.value) - set(shown) == hidden
    columns = json.loads(table.proto.columns)
    assert BOX_PX + sum(columns[name]["width"] for name in shown) <= ROOM_PX
