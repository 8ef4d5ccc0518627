"""A review by the keyboard, from two clicks in Trends to the report that is taken along."""

import re

import pytest
from harness import in_address, redrawn, running_server, settled
from playwright.sync_api import expect

from tests.command import xlabench


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    from store.ingest import ingest
    from tests.store import weekly_runs

    folder = tmp_path_factory.mktemp("weeks")
    weekly_runs.write_weeks(folder)
    weekly_runs.confirming(folder)
    ingest([folder], folder / "store")
    return folder


@pytest.fixture(scope="module")
def weeks_url(home):
    with running_server(home / "store") as url:
        yield url


@pytest.mark.thorough
def test_a_filter_of_the_findings_is_in_the_url_and_a_reload_restores_it(page, weeks_url):
    page.goto(f"{weeks_url}/compare?a=last-run-0")
    settled(page, "Compare")
    page.get_by_role("button", name="Fallback ops", exact=True).click()
    expect(page.get_by_text("8 rows")).to_be_visible()
    page.wait_for_url(re.compile("findings="))
    page.get_by_text("By time lost").click()
    page.wait_for_url(re.compile("by=By"))
    wanted = {"a": ["last-run-0"], "findings": ["Fallback ops"], "by": ["By time lost"]}
    in_address(page, wanted)
    page.reload()
    settled(page, "Compare")
    expect(page.get_by_text("8 rows")).to_be_visible()
    in_address(page, wanted)


def test_a_review_goes_by_the_keyboard_and_ends_in_the_report_of_the_command(page, weeks_url, home):
    """Its toggle puts the form on the first screen, and a letter right after the toggle counts."""
    page.goto(f"{weeks_url}/compare?a=last-run-0&findings=Slower&findings=Faster")
    settled(page, "Compare")
    page.get_by_text("Review mode").click()
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=5)).to_contain_text("resnet18 train inductor")
    page.keyboard.press("k")
    expect(page.get_by_role("heading", level=5)).to_contain_text("BERT_pytorch eval openxla+dynamo")
    assert page.locator(".st-key-finding [data-testid=stForm]").first.bounding_box()["y"] + 100 <= 900
    page.get_by_role("textbox", name="Your name").fill("Ann Lee")
    page.get_by_role("textbox", name="Note").fill("a <b>driver</b>, 1 of 2; J")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("note: a <b>driver</b>, 1 of 2; J")).to_be_visible()
    page.keyboard.press("1")
    expect(page.get_by_role("heading", level=5)).to_contain_text("resnet18 train inductor")
    page.keyboard.press("2")
    expect(page.get_by_text("All 2 findings are settled")).to_be_visible()
    settled(page, "Compare")
    assert "xlabench_name=Ann%20Lee" in page.evaluate("document.cookie"), "the browser knows who it is next time"
    with page.expect_download() as download:
        page.get_by_role("button", name="Markdown", exact=True).click()
    taken = download.value.path().read_bytes()
    runs = ["--run", "now-run-02", "--since", "last-run-0"]
    assert taken == xlabench("report", "weekly", *runs, "--home", home, "--format", "markdown").stdout.encode()
    assert b"Ann Lee (unverified)" in taken


def test_back_takes_the_selected_finding_off_and_forward_selects_it_again(page, weeks_url):
    """The table keeps its selection by itself; a step through the history is not the reader's click."""
    page.goto(f"{weeks_url}/compare?a=last-run-0")
    settled(page, "Compare")
    table, evidence = page.get_by_test_id("stDataFrame").first, page.locator(".st-key-finding")
    for row in (0, 1):
        with redrawn(page):
            table.click(position={"x": 18, "y": int((row + 1.5) * 35)})
    headings = page.get_by_role("heading", level=5)
    second = headings.inner_text()
    with redrawn(page):
        page.go_back()
    expect(headings).not_to_have_text(second)
    with redrawn(page):
        page.go_back()
    expect(evidence).to_have_count(0)
    with redrawn(page):
        page.go_forward()
    with redrawn(page):
        page.go_forward()
    expect(headings).to_have_text(second)


@pytest.mark.thorough
def test_two_clicked_points_of_trends_open_their_comparison(page, weeks_url):
    """A clicked point of another chart is in test_by_hand.py."""
    page.goto(f"{weeks_url}/trends?model=vgg16&test=eval")
    settled(page, "Trends")
    chart = page.get_by_test_id("stVegaLiteChart").first
    chart.scroll_into_view_if_needed()
    points = chart.locator("g.mark-symbol.role-mark").last.locator("path")
    points.first.click(force=True)
    expect(page.get_by_text("One run is chosen")).to_be_visible()
    points.last.click(force=True)
    settled(page, "Compare")
    page.wait_for_url(re.compile("a=last-run-0"))
    in_address(page, {"model": ["vgg16"], "test": ["eval"], "a": ["last-run-0"], "b": ["now-run-02"]})
