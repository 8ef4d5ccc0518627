"""Speedup, Compile time and Fallback ops in a browser: choices are in the address, files hold what is shown."""

from __future__ import annotations

import csv
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from harness import choose_row, open_row, settled
from playwright.sync_api import expect

WAIT_MS = 60_000
FALLBACKS = "run=e065a9cb-9d6c-4852-956d-b8d1b4592a62"


def query(page):
    return parse_qs(urlsplit(page.url).query)


def heading(page, text):
    return page.get_by_role("heading", name=text, exact=True)


@pytest.mark.thorough
def test_a_chart_is_in_the_address_and_a_reload_shows_it_again(page, demo_url):
    seen = page.get_by_text("A hollow mark never regains its compile time")
    page.goto(demo_url + "/compile-time")
    settled(page, "Compile time")
    page.get_by_role("radio", name="Break-even", exact=True).click()
    page.wait_for_url(re.compile("chart=Break-even"))
    expect(seen).to_be_visible(timeout=WAIT_MS)
    page.reload()
    settled(page, "Compile time")
    expect(seen).to_be_visible(timeout=WAIT_MS)


@pytest.mark.thorough
def test_a_and_b_are_in_the_address_and_a_row_opens_the_model(page, demo_url):
    page.goto(demo_url + "/speedup?chart=A+against+B&series_a=eager&series_b=openxla%2Bdynamo&test=eval")
    settled(page, "Speedup")
    for label, backend in (("A", "eager"), ("B", "openxla+dynamo")):
        expect(page.get_by_role("combobox", name=label, exact=True)).to_have_value(backend)
    open_row(page.get_by_test_id("stDataFrame").first, 0, page.get_by_text("Backends side by side"))
    settled(page, "Model")
    page.wait_for_url(re.compile("/model"))
    asked = query(page)
    assert (asked["model"], asked["suite"], asked["test"]) == (["alexnet"], ["torchbench"], ["eval"])
    page.get_by_role("link", name="Speedup").click()
    settled(page, "Speedup")
    page.wait_for_url(re.compile("/speedup"))


def test_the_op_of_a_row_is_in_the_address_for_a_reload_and_a_file_holds_its_rows(page, review_url):
    """Of all ops, a button leads back to: tests/dashboard/test_fallback_page.py."""
    page.goto(f"{review_url}/fallback-ops?{FALLBACKS}")
    settled(page, "Fallback ops")
    choose_row(page.get_by_test_id("stDataFrame").first, 0, heading(page, "Over the runs"))
    page.wait_for_url(re.compile("op=_unique2"))
    page.reload()
    settled(page, "Fallback ops")
    said = page.get_by_text(re.compile(r"is called in steady iterations of \d+ model")).first
    expect(said).to_be_visible(timeout=WAIT_MS)
    models = int(re.search(r"iterations of (\d+) model", said.inner_text()).group(1))
    page.get_by_role("button", name=re.compile("rows? · files")).first.click()
    with page.expect_download() as waiting:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="CSV").click()
    with open(waiting.value.path(), newline="") as file:  # noqa: PTH123 - playwright's path is a text on some systems
        assert len({(row["suite"], row["model"]) for row in csv.DictReader(file)}) == models


@pytest.mark.thorough
def test_the_colour_of_the_heat_map_is_in_the_address_and_a_reload_shows_it_again(page, demo_url):
    page.goto(demo_url + "/fallback-ops")
    settled(page, "Fallback ops")
    seen = page.get_by_text("without a profile pass have no number")
    page.get_by_role("radio", name="Share of time", exact=True).click()
    page.wait_for_url(re.compile("colour=Share"))
    expect(seen).to_be_visible(timeout=WAIT_MS)
    page.reload()
    settled(page, "Fallback ops")
    expect(seen).to_be_visible(timeout=WAIT_MS)


@pytest.mark.thorough
def test_a_cell_of_the_heat_map_opens_its_op(page, demo_url):
    page.goto(demo_url + "/fallback-ops?backend=openxla%2Bdynamo&test=eval")
    settled(page, "Fallback ops")
    chart = page.get_by_test_id("stVegaLiteChart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.wait_for_timeout(500)
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 88)
    expect(heading(page, "Over the runs")).to_be_visible(timeout=WAIT_MS)
    page.wait_for_url(re.compile("op=upsample_bicubic2d"))


@pytest.mark.thorough
def test_the_file_of_the_ranking_holds_the_rows_that_are_shown(page, demo_url):
    page.goto(demo_url + "/fallback-ops?backend=openxla%2Blazytensor")
    settled(page, "Fallback ops")
    page.get_by_role("button", name="files, SQL").first.click()
    with page.expect_download() as waiting:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="CSV").click()
    with open(waiting.value.path(), newline="") as file:  # noqa: PTH123 - playwright's path is a text on some systems
        rows = list(csv.DictReader(file))
    assert [row["op"] for row in rows] == ["nonzero", "upsample_bicubic2d", "_local_scalar_dense"]
    assert [row["ranked_by"] for row in rows] == ["time", "calls", "calls"]


@pytest.mark.thorough
def test_the_model_of_the_first_blocks_is_in_the_address(page, demo_url):
    page.goto(demo_url + "/compile-time?compile_chart=First+blocks&test=eval")
    settled(page, "Compile time")
    page.get_by_role("combobox", name=re.compile("^Model")).last.click()
    page.get_by_role("option", name="alexnet · eval · torchbench", exact=True).click()
    page.wait_for_url(re.compile("blocks_of=alexnet"))
    page.reload()
    settled(page, "Compile time")
    box = page.get_by_role("combobox", name="Model", exact=True).last
    expect(box).to_have_value("alexnet · eval · torchbench", timeout=WAIT_MS)
