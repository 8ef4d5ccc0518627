"""The pages in a real browser: links restore the view, and new results appear without a restart."""

import re

import pytest
from harness import choose_row, in_address, running_server, settled
from playwright.sync_api import expect

GAP = """() => {
    const box = (part) => {
        const range = document.createRange();
        range.selectNodeContents(part);
        return range.getBoundingClientRect();
    };
    return box(document.querySelector('[data-testid=stMain] p')).top - box(document.querySelector('h1')).bottom;
}"""
"""Pixels between the title and the text below it."""


def origin(page):
    """Return the line that says where the numbers come from."""
    return page.get_by_test_id("stCaptionContainer").filter(has_text="of run").first


@pytest.mark.thorough
def test_a_row_of_the_runs_table_chooses_the_run(page, demo_url):
    page.goto(demo_url + "/runs")
    settled(page, "Runs & jobs")
    older = page.get_by_test_id("stCaptionContainer").filter(has_text="2025-10-09 08:53 UTC").first
    choose_row(page.get_by_test_id("stDataFrame").first, 1, older)
    page.wait_for_url(re.compile("run="))


@pytest.mark.thorough
def test_a_typed_run_that_does_not_exist_is_reported(page, demo_url):
    page.goto(demo_url + "/runs")
    settled(page, "Runs & jobs")
    page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("Run")).first.fill("no such run")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("no such run")
    expect(origin(page)).to_contain_text("(newest)")


def test_a_store_fills_without_a_restart_and_a_new_run_is_announced_and_appears_after_the_click(
    page, factory, tmp_path
):
    """The first visitor after a start may come by any link, and on a telephone."""
    from store.ingest import ingest

    store = tmp_path / "store"
    with running_server(store) as url:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(url + "/speedup")
        settled(page, "Speedup")
        expect(page.get_by_text("--smoke")).to_be_visible()
        assert page.evaluate(GAP) >= 8
        page.set_viewport_size({"width": 1440, "height": 900})
        factory.demo_store(tmp_path)
        page.get_by_role("button", name="Show", exact=True).click()
        expect(origin(page)).to_contain_text("48 results of run nightly")
        page.get_by_role("radio", name="Distribution", exact=True).click()
        page.wait_for_url(re.compile("chart=Distribution"))
        later = factory.RUN_START + 2 * factory.DAY
        records = factory.demo_records("33333333-cccc", later, 0.8, "weekly")
        factory.write_run(tmp_path / "runs" / "33333333-cccc", records)
        ingest([tmp_path], store)
        expect(page.get_by_text("New results: 1 run weekly.")).to_be_visible()
        expect(origin(page)).to_contain_text("run nightly")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(origin(page)).to_contain_text("run weekly (newest)")
        in_address(page, {"chart": ["Distribution"]})
        expect(page.get_by_text("New results")).to_have_count(0)
