"""What every page shares, in a real browser: switches and links in the URL, jumps to other pages, downloads."""

import re

import pytest
from harness import in_address, patient, settled
from playwright.sync_api import expect


def origin(page):
    return page.get_by_test_id("stCaptionContainer").filter(has_text="of run").first


def opened(page, url, title="Overview"):
    page.goto(url)
    settled(page, title)


@pytest.mark.thorough
def test_switch_for_clean_models_is_in_the_url_and_a_reload_restores_it(page, demo_url):
    opened(page, demo_url + "/?test=eval")
    page.get_by_test_id("stSidebar").get_by_role("button", name="no fallback ops").click()
    expect(origin(page)).to_contain_text("12 results")
    page.wait_for_url(re.compile("only="))
    in_address(page, {"test": ["eval"], "only": ["no fallback ops"]})
    page.reload()
    settled(page, "Overview")
    expect(origin(page)).to_contain_text("12 results")
    in_address(page, {"test": ["eval"], "only": ["no fallback ops"]})


@pytest.mark.thorough
def test_rule_is_in_the_url_and_comes_back_from_other_pages(page, demo_url):
    opened(page, demo_url + "/")
    page.get_by_role("radio", name="HUD").click()
    expect(page.get_by_text("Compilers", exact=True)).to_be_visible()
    page.wait_for_url(re.compile("rule=HUD"))
    page.get_by_role("link", name="Speedup").click()
    settled(page, "Speedup")
    page.get_by_role("link", name="Overview").click()
    settled(page, "Overview")
    expect(page.get_by_text("Compilers", exact=True)).to_be_visible()


@pytest.mark.thorough
def test_point_of_the_baseline_is_in_the_url(page, demo_url):
    opened(page, demo_url + "/")
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("Baseline measured in"))
    box.click()
    page.get_by_role("option", name="Oldest results", exact=True).click()
    expect(origin(page)).to_contain_text("oldest result of each series")
    page.wait_for_url(re.compile("baseline_run=Oldest"))
    page.reload()
    settled(page, "Overview")
    expect(origin(page)).to_contain_text("oldest result of each series")


@pytest.mark.thorough
def test_a_line_of_the_attention_list_opens_its_page_with_both_runs_in_the_url(page, demo_url):
    opened(page, demo_url + "/?test=eval")
    page.get_by_role("button", name=re.compile("Compare with nightly")).click()
    settled(page, "Compare")
    page.wait_for_url(re.compile(r"/compare\?"))
    in_address(page, {"test": ["eval"]}, others=True)
    in_address(page, {"b": ["22222222-bbbb"]}, others=True)
    page.reload()
    settled(page, "Compare")
    first = page.get_by_role("combobox", name="A: before")
    expect(first).to_have_value("nightly · 2025-10-09 08:53 UTC · torch 2.9.1 · 46 of 48 so far · 11111111")


@pytest.mark.thorough
def test_the_link_to_copy_opens_the_same_view(page, window, demo_url):
    """The other page is as one of another browser: nothing is stored there."""
    opened(page, demo_url + "/?test=eval&baseline=eager&rule=HUD")
    page.get_by_role("button", name="Share").click()
    block = page.locator(".xl-copy").filter(has_text="http")
    block.get_by_role("button", name="Copy").click()
    expect(block.locator("button[data-state=done]")).to_be_visible()
    link = page.evaluate("getSelection().toString()").strip()
    window.clear_cookies()
    page.evaluate("localStorage.clear()")
    other = patient(window.new_page())
    opened(other, link)
    expect(origin(other)).to_contain_text("24 results of run nightly")
    expect(origin(other)).to_contain_text("baseline eager")
    expect(other.get_by_text("Compilers", exact=True)).to_be_visible()
    other.close()
