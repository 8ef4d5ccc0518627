"""Why a result changed: a row of the programs that differ opens both sides, aligned and folded."""

import pytest
from harness import choose_row, complaints, running_server, settled
from playwright.sync_api import expect

from tests.dashboard.test_programs import store_of_programs


@pytest.fixture
def url(factory, tmp_path):
    with running_server(store_of_programs(factory, tmp_path)) as served:
        yield served


def test_a_row_opens_both_programs_side_by_side_and_what_both_have_unfolds(page, url):
    found = complaints(page)
    page.goto(f"{url}/compare?a=run-old&b=run-new")
    settled(page, "Compare")
    page.get_by_text("Programs that differ (1)").click()
    both = page.locator(".xl-diff")
    choose_row(page.get_by_test_id("stDataFrame").filter(has=page.get_by_text("Other fingerprints")).first, 0, both)
    expect(page.get_by_text("1 line of A became 1 of B")).to_be_visible()
    expect(page.get_by_test_id("stVegaLiteChart").get_by_text("convolution")).to_be_visible()
    left, right = both.locator(".xl-pair.differs pre").all()
    expect(left).to_contain_text("dot(a, <b>)")
    expect(right).to_contain_text("convolution(a, b)")
    a, b = left.bounding_box(), right.bounding_box()
    assert (a["y"], a["x"] + a["width"] <= b["x"]) == (b["y"], True)
    folded = both.get_by_text("%add.20 = f32[2] add(a, b)").first
    expect(folded).to_be_hidden()
    both.get_by_text("38 lines are the same").click()
    expect(folded).to_be_visible()
    assert found == []
