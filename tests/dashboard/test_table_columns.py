"""A table leaves out a column that its rows have not: so what a table names is what its query asks for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dashboard import data
from dashboard.rows import with_series
from dashboard.screens.compile_time import table as compile_time
from dashboard.screens.model import sides
from dashboard.screens.runs import experiments
from dashboard.screens.speedup import table as speedup
from dashboard.selection import Selection
from store import query

VIEW = SimpleNamespace(baseline_text="inductor")
TABLES = {
    "speedups": (speedup._columns(VIEW), {"interval"}),
    "sides": (sides._columns(VIEW), {"interval", "why"}),
    "results": (compile_time._columns(), {"why"}),
    "experiments": (experiments._columns(), set()),
}
"""Query → columns of its table, and those that the page makes itself."""


@pytest.mark.parametrize("name", TABLES)
def test_a_query_has_every_column_of_its_table(demo, name):
    columns, made = TABLES[name]
    shown = str(query.current_snapshot(demo))
    found = with_series(data.rows(shown, name, Selection(run_id=None, baseline="inductor")))
    assert set(columns) - made <= set(found.columns)
