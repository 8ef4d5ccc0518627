"""The SQL that stands under each table of each page, copied and run: it gives the rows and the numbers of the table."""

import numpy as np
import pandas as pd
import pytest

from dashboard.screens import PAGES
from dashboard.ui import downloads
from store import query
from tests.dashboard.opened import open_page
from tests.tiers import first_of

MATRIX = "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
FALLBACKS, NIGHTLY = "e065a9cb-9d6c-4852-956d-b8d1b4592a62", "3c8dcd8d-5463-4b62-972f-1ab8e6356e96"
ONE = {"run": MATRIX, "suite": "timm_models", "model": "test_vit2", "test": "eval", "result": "openxla+dynamo"}
NAMED = [
    ("overview", {"run": NIGHTLY}),
    ("compile-time", {"run": MATRIX, "compile_chart": "Break-even", "only": "no graph breaks"}),
    ("fallback-ops", {"run": FALLBACKS, "op": "nonzero"}),
    ("model", ONE | {"part": "History"}),
    ("speedup", {"run": MATRIX, "chart": "Distribution", "test": "eval"}),
    ("fallback-ops", {"run": FALLBACKS}),
    ("trends", {"run": NIGHTLY}),
    ("runs", {"run": NIGHTLY, "look": "Measurement warnings"}),
    ("speedup", {"run": MATRIX, "chart": "A against B", "backend": "openxla+dynamo"}),
    ("compile-time", {"run": MATRIX, "compile_chart": "First blocks", "suite": "torchbench"}),
    *(("model", ONE | {"part": part}) for part in ("Samples", "Metrics", "Programs")),
    *(("runs", {"run": NIGHTLY, "look": section}) for section in ("What differs", "Records")),
    ("fallback-ops", {"run": FALLBACKS, "backend": "openxla+dynamo", "test": "eval"}),
    ("trends", {"run": NIGHTLY, "backend": "openxla+dynamo", "test": "eval"}),
]
"""Pages whose tables are made in different ways come first; the others, more charts and parts are thorough.

That a statement gives the rows of its query is shown of eleven queries by test_overview.py, too.
"""
ELSEWHERE = {"", "compare", "operators"}
"""Overview, whose path is empty, and pages whose tables are of two runs, or of one that this store lacks."""
OTHERS = [page.url_path for page in PAGES if page.url_path not in {page for page, _ in NAMED} | ELSEWHERE]
VIEWS = [*((page, {"run": MATRIX}) for page in OTHERS), *NAMED]
UNFOLDED = {
    "overview": ("moved", "pairing", "findings"),
    "fallback-ops": ("each-break",),
    "trends": ("part-numbers", "one-model"),
    "model": ("rungs-1", "processes-of-result", "blocks-as-table"),
}
"""Parts that are drawn when they are opened."""


@pytest.fixture
def drawn(monkeypatch):
    """Every table with files under it: its name → its rows and its SQL."""
    found = {}
    monkeypatch.setattr(downloads, "below", lambda frame, key, source: found.update({key: (frame, source.sql)}))
    return found


@pytest.mark.parametrize(
    ("page", "given"), first_of(VIEWS, 4 + len(OTHERS)), ids=lambda part: part if isinstance(part, str) else ""
)
def test_the_sql_under_a_table_gives_its_rows_and_numbers(monkeypatch, review_store, review_con, drawn, page, given):
    asked = {name: [value] for name, value in given.items()}
    at = open_page(monkeypatch, review_store, page, unfolded=UNFOLDED.get(page, ()), **asked)
    assert not at.exception
    assert len(drawn) >= len(at.dataframe) - 4, "the facts of one record come from no query"
    for key, (frame, sql) in drawn.items():
        assert sql, key
        if isinstance(sql, str):
            same(key, frame, query.select(review_con, sql))
        else:
            given_rows = [len(query.select(review_con, part)) for part in sql.values()]
            assert key not in ("overview", "costs", "moves") or given_rows[0] == len(frame), key


def same(key: str, frame: pd.DataFrame, given: pd.DataFrame) -> None:
    """Compare the number of rows, and each column of numbers that the page has not put into words, in any order."""
    assert len(frame) == len(given), key
    for name in set(frame.select_dtypes("number").columns) & set(given.select_dtypes("number").columns):
        sides = (np.sort(each[name].to_numpy(float)) for each in (frame, given))
        assert np.allclose(*sides, equal_nan=True, rtol=1e-12), (key, name)
