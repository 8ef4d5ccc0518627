"""Ctrl+K, saved views, and what a browser keeps: the name of a person and the pinned label."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from harness import PATHS, complaints, in_address, redrawn, settled
from playwright.sync_api import expect


def _find(page, words):
    page.keyboard.press("Control+k")
    box = page.get_by_role("dialog").get_by_role("combobox")
    expect(box).to_be_focused()
    page.keyboard.type(words)
    page.get_by_role("option", name=re.compile(words)).first.wait_for()
    page.keyboard.press("Enter")


def _saved(page, name):
    """Save the view that is shown, from what shares it; return the link that is offered there to copy."""
    page.get_by_role("button", name="Share").click()
    block = page.locator(".xl-copy").filter(has_text="http")
    block.get_by_role("button", name="Copy").click()
    expect(block.locator("button[data-state=done]")).to_be_visible()
    link = page.evaluate("getSelection().toString()").strip()
    page.get_by_role("textbox", name="Save this view as").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"{name} (speedup, Ann Lee)")).to_be_visible()
    expect(page.get_by_role("textbox", name="Save this view as")).to_be_focused()
    return parse_qs(urlsplit(link).query)


def test_ctrl_k_finds_a_model_and_a_saved_view_which_takes_off_what_the_reader_chose_since(page, review_url):
    """The browser knows who saved it, as test_compare.py shows, and which label was pinned meanwhile."""
    found = complaints(page)
    page.context.add_cookies([{"name": "xlabench_name", "value": "Ann%20Lee", "url": review_url}])
    page.goto(f"{review_url}/speedup?test=eval")
    settled(page, PATHS["/speedup"])
    link = _saved(page, "Monday")
    assert link["test"] == ["eval"]
    _find(page, "BertTiny")
    settled(page, PATHS["/model"])
    in_address(page, {"model": ["BertTiny"]}, others=True)
    page.goto(f"{review_url}/speedup?labelled=nightly&run=oldest&chart=Distribution&test=train")
    settled(page, PATHS["/speedup"])
    with redrawn(page):
        page.get_by_role("button", name="Pin this label").click()
    page.wait_for_function("() => document.cookie.includes('nightly')")
    page.goto(f"{review_url}/speedup?chart=Distribution&test=train")
    label = page.get_by_test_id("stSidebar").get_by_role("combobox", name="Runs labelled")
    expect(label).to_have_value("nightly")
    with redrawn(page):
        page.get_by_role("button", name="Unpin nightly").click()
    label.focus()
    _find(page, "Monday")
    in_address(page, {"test": ["eval"]})
    expect(label).to_have_value("All labels")
    expect(page.get_by_role("radio", name="Models", exact=True)).to_be_checked()
    assert found == []


@pytest.mark.thorough
def test_a_pinned_label_is_chosen_when_the_browser_comes_back_until_it_is_unpinned(page, review_url):
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name="Runs labelled")
    pin, unpin = (page.get_by_role("button", name=name) for name in ("Pin this label", "Unpin nightly"))
    page.goto(review_url)
    settled(page, PATHS["/"])
    with redrawn(page):
        box.click()
        page.get_by_role("option", name="nightly", exact=True).click()
    with redrawn(page):
        pin.click()
    expect(unpin).to_be_visible()
    page.goto(review_url)
    expect(box).to_have_value("nightly")
    with redrawn(page):
        unpin.click()
    expect(pin).to_be_visible()
    page.goto(review_url)
    expect(box).to_have_value("All labels")
    expect(unpin).to_have_count(0)
