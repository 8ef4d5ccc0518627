"""The questions of the query benchmark can be asked, and leave out no view."""

import pytest

from store import query
from tests.performance.store_parts.benchmark_queries import asks
from tests.store.relations import RELATIONS

MAY_BE_EMPTY = {
    "epochs",
    "findings",
    "series_changes",
    "dropped",
    "structural_differences",
    "what_differs",
    "aa_pairs",
    "noise_floors",
    "hud_reported",
    "operators",
    "operator_speedups",
    "operator_totals",
    "page: model_findings",
    "page: profiles_of_others",
    "page: operators",
    "page: operator_totals",
    "page: operator_runs",
    "page: operator_fallbacks",
    "page: operator_newest_run",
    "reported_speedups",
    "reported_geomeans",
    "payoffs",
    "geomean_steps",
    "page: trend_steps",
    "fallback_payoffs",
}
"""The demonstration has none of these."""


def test_every_view_is_asked(demo_con):
    assert set(RELATIONS) <= {ask.name for ask in asks(demo_con)}


@pytest.mark.thorough
def test_every_question_has_an_answer(demo_con):
    """In short: test_calibration.py asks every view for all of its rows, and tests of pages ask what pages ask."""
    answers = {ask.name: len(query.select(demo_con, ask.sql, ask.params)) for ask in asks(demo_con)}
    empty = {name for name, rows in answers.items() if not rows}
    assert empty <= MAY_BE_EMPTY
