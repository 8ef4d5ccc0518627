"""Fallback ops in a browser: an op that is chosen by a row or a cell is in the address, and a file holds its rows."""

import csv
import re

import pytest
from harness import choose_row, settled
from playwright.sync_api import expect

WAIT_MS = 60_000
FALLBACKS = "run=e065a9cb-9d6c-4852-956d-b8d1b4592a62"


def heading(page, text):
    return page.get_by_role("heading", name=text, exact=True)


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
