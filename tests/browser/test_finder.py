"""Ctrl-K, saved views and the name of a person: by the keyboard, and after the session is over."""

from __future__ import annotations

import re

from harness import PATHS, complaints, in_address, running_server, settled
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
        page.keyboard.press("Escape")
        expect(page.get_by_role("textbox", name="Save this view as")).to_be_hidden()
        _find(page, "vgg16")
        settled(page, PATHS["/model"])
        in_address(page, {"model": ["vgg16"]}, others=True)
        _find(page, "Monday")
        settled(page, PATHS["/speedup"])
        in_address(page, {"test": ["eval"], "backend": ["inductor"]})
        assert found == []
