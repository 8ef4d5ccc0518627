"""The questions of the query benchmark can be asked, and leave out no view."""

import pytest

from store import query
from tests.performance.store_parts.asked import asks
from tests.store.relations import RELATIONS
from tests.tiers import first_of

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
    "fallback_payoffs",
}
"""The demonstration has none of these."""


def test_every_view_is_asked(demo_con):
    assert set(RELATIONS) <= {ask.name for ask in asks(demo_con)}


@pytest.mark.parametrize("of_pages", first_of([False, True]))
def test_every_question_has_an_answer(demo_con, of_pages):
    """Those of the pages are asked by the tests of the pages, too."""
    asked = [ask for ask in asks(demo_con) if ask.name.startswith("page: ") is of_pages]
    answers = {ask.name: len(query.select(demo_con, ask.sql, ask.params)) for ask in asked}
    assert len(asked) > 10
    empty = {name for name, rows in answers.items() if not rows}
    assert empty <= MAY_BE_EMPTY
