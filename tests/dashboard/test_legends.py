"""A legend has as many columns as its longest name leaves room for."""

import re

import pytest

from store.charts.drawing import legend

CHART_PX = 860
"""Of a chart beside a sidebar in a window of 1440."""


def columns(names, width=CHART_PX, *, phone=False):
    """What the browser makes of the expression."""
    narrow, wide = re.search(r"\? (\d+) : (\d+)", legend(names).columns.expr).groups()
    return max(1, width // int(narrow if phone else wide))


@pytest.mark.parametrize(
    ("longest", "px"),
    [("openxla+lazytensor", 123), ("openxla+lazytensor · bfloat16", 175), ("x" * 400, 350)],
    ids=["backend", "with a dtype", "cut"],
)
def test_columns_fit_beside_each_other(longest, px):
    """The widths are those that a browser drew, with the mark; what is left over is less than a column."""
    found = columns(["eager", longest])
    assert CHART_PX - px < (found + 1) * px
    assert found * px <= CHART_PX


def test_a_narrow_chart_has_one_column():
    assert columns(["openxla+lazytensor · bfloat16"], width=200) == 1
    assert columns([]) >= 1


def test_on_a_telephone_backends_stand_in_two_columns():
    assert columns(["eager", "inductor", "openxla+lazytensor", "openxla+dynamo"], width=237, phone=True) == 2
