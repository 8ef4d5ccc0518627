"""Ctrl+K, saved views, and what a browser keeps: the name of a person and the pinned label."""

from __future__ import annotations

import re

from harness import PATHS, complaints, in_address, redrawn, running_server, settled
from playwright.sync_api import expect


def _find(page, words):
    page.keyboard.press("Control+k")
    box = page.get_by_role("dialog").get_by_role("combobox")
    expect(box).to_be_focused()
    page.keyboard.type(words)
    page.get_by_role("option", name=re.compile(words)).first.wait_for()
    page.keyboard.press("Enter")


def test_ctrl_k_finds_a_model_and_a_saved_view_and_the_browser_knows_who_saved_it(page, factory, tmp_path):
    found = complaints(page)
    with running_server(factory.demo_store(tmp_path)) as url:
        page.goto(f"{url}/compare?review=true")
        settled(page, "Compare")
        name = page.get_by_role("textbox", name=re.compile("Your name|Launch as")).first
        name.fill("Ann Lee")
        name.press("Enter")
        page.wait_for_function("() => document.cookie.includes('Ann')")
        page.goto(f"{url}/speedup?test=eval&backend=inductor")
        settled(page, PATHS["/speedup"])
        page.get_by_role("button", name="Share").click()
        page.get_by_role("textbox", name="Save this view as").fill("Monday")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Monday (speedup, Ann Lee)")).to_be_visible()
        expect(page.get_by_role("textbox", name="Save this view as")).to_be_focused()
        _find(page, "vgg16")
        settled(page, PATHS["/model"])
        in_address(page, {"model": ["vgg16"]}, others=True)
        page.get_by_test_id("stSidebar").get_by_role("combobox", name="Run").first.focus()
        _find(page, "Monday")
        settled(page, PATHS["/speedup"])
        in_address(page, {"test": ["eval"], "backend": ["inductor"]})
        assert found == []


def test_a_saved_view_takes_off_what_the_reader_chose_since(page, review_url):
    """The newest run of all labels and the usual chart were saved, and the reader shows another label and chart."""
    page.goto(f"{review_url}/speedup")
    settled(page, PATHS["/speedup"])
    page.get_by_role("button", name="Share").click()
    page.get_by_role("textbox", name="Save this view as").fill("Newest")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Newest (speedup, ")).to_be_visible()
    page.goto(f"{review_url}/speedup?labelled=nightly&run=oldest&chart=Distribution&test=eval")
    settled(page, PATHS["/speedup"])
    _find(page, "Newest")
    expect(page.get_by_role("radio", name="Models", exact=True)).to_be_checked()
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name="Runs labelled")
    expect(box).to_have_value("All labels")
    in_address(page, {})


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
