"""What a reader does with tables and charts by hand: sort, search, hide columns, select a row or a point."""

import re

import pytest
from harness import choose_row, in_address, mark, open_row, settled
from playwright.sync_api import expect

MATRIX = "run=2af2f9b8-ad8b-4935-a560-fac9eedfb34c&test=eval&suite=torchbench"
TABLE = "Compile times of each result"
SIDES = "Backends side by side"


@pytest.fixture
def table(page, review_url):
    """The table of all results of page Compile time."""
    page.goto(f"{review_url}/compile-time?{MATRIX}&compile_chart=Break-even")
    settled(page, "Compile time")
    found = page.get_by_test_id("stDataFrame").last
    found.scroll_into_view_if_needed()
    return found


def cell(table, row, column):
    """Return a cell of what readers who cannot see the table are told, counted from 1."""
    return table.locator(f"canvas tr[aria-rowindex='{row + 1}'] td[aria-colindex='{column}']")


def tool(page, table, name):
    table.hover()
    return page.get_by_role("button", name=f"{name}: {TABLE}")


@pytest.mark.thorough
def test_a_row_of_a_sorted_table_opens_its_own_model(page, table):
    first = cell(table, 1, 1)
    expect(first).to_have_text("alexnet")
    for last in ("alexnet", "squeezenet1_1"):  # upwards, then downwards
        table.click(position={"x": 100, "y": 17})
        expect(first).to_have_text(last)
    open_row(table, 0, page.get_by_text(SIDES))
    settled(page, "Model")
    in_address(page, {"model": ["squeezenet1_1"], "test": ["eval"]}, others=True)


def test_a_box_chooses_for_what_is_measured_again_columns_are_hidden_and_a_point_opens_its_model(page, table):
    choose_row(table, 0, page.get_by_role("button", name="Open alexnet"))
    page.get_by_role("button", name="Measure again").last.click()
    again = page.get_by_test_id("stPopoverBody")
    expect(again.get_by_text("alexnet eval").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(again).to_have_count(0)
    hidden = table.locator("canvas [role=columnheader]", has_text="Graphs")
    expect(hidden).to_have_count(1)
    tool(page, table, "Show/hide columns").click()
    page.get_by_role("checkbox", name="Graphs").first.dispatch_event("click")
    page.keyboard.press("Escape")
    expect(hidden).to_have_count(0)
    tool(page, table, "Search").click()
    page.keyboard.type("soft_actor")
    expect(page.get_by_text(re.compile(r"1 of \d+ results?")).last).to_be_visible()
    expect(table.locator("canvas td[aria-selected=true]").first).to_have_text(re.compile("soft_actor"))
    mark(page.get_by_test_id("stVegaLiteChart").first, "Model: dcgan").click(force=True)
    expect(page.get_by_text(SIDES)).to_be_visible()
    in_address(page, {"model": ["dcgan"], "suite": ["torchbench"], "test": ["eval"]}, others=True)


@pytest.mark.thorough
def test_a_row_is_opened_by_the_keyboard_alone(page, table):
    table.locator("canvas").first.focus()
    for key in ("ArrowDown", "ArrowDown", "Shift+Space"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Open alexnet").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(SIDES)).to_be_visible()
    in_address(page, {"model": ["alexnet"]}, others=True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("page_of", "title", "chart"),
    [
        ("speedup", "Speedup", "Models"),
        ("speedup", "Speedup", "A+against+B"),
        ("", "Overview", "Models"),
    ],
)
def test_a_selected_point_opens_its_model(page, review_url, page_of, title, chart):
    page.goto(f"{review_url}/{page_of}?{MATRIX}&chart={chart}")
    settled(page, title)
    mark(page.get_by_test_id("stVegaLiteChart").first, "Model: dcgan").click(force=True)
    expect(page.get_by_text(SIDES)).to_be_visible()
    in_address(page, {"model": ["dcgan"], "suite": ["torchbench"], "test": ["eval"]}, others=True)
