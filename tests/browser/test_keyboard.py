"""From Overview to a rerun of one of its cells by the keyboard alone."""

import contextlib
import re
import sys

from harness import PATHS, BrowserError, complaints, running_server, settled
from playwright.sync_api import expect

MOST_TABS, MOST_TRIES = 150, 4
KEY_COUNTS_MS = 15_000


def _to(page, target):
    """Press Tab until the element has the focus; it is looked up by its role again only where it was drawn anew.

    A button that waits for the server, such as for the reader's name, takes no focus before it is enabled.
    """
    expect(target).to_be_enabled()
    found = target.element_handle()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if not found.evaluate("element => element.isConnected"):
            found = target.element_handle()
        if found.evaluate("element => element.contains(document.activeElement)"):
            return
    raise AssertionError(f"Tab never reaches {target}")


def _until(page, target, act, holds):
    """Do it on the element, and again if that was drawn anew meanwhile, until this holds."""
    for _ in range(MOST_TRIES):
        _to(page, target)
        act()
        if holds():
            return
    raise AssertionError(f"a key on {target} is never taken")


def _press(page, target, leads_to):
    def is_there():
        with contextlib.suppress(BrowserError):
            leads_to.wait_for(timeout=KEY_COUNTS_MS)
        return leads_to.is_visible()

    _until(page, target, lambda: page.keyboard.press("Enter"), is_there)


def _type(page, box, text):
    def replace():
        page.keyboard.press("Control+a")
        page.keyboard.type(text)

    _until(page, box, replace, lambda: box.input_value() == text)


def _store(factory, home):
    """A run of two models that need no download, on this machine's own interpreter."""
    from store.ingest import ingest

    records = [
        factory.make_record(
            suite="dummy",
            model=model,
            backend=backend,
            environment=factory.make_environment(executable=sys.executable),
        )
        for model in ("dummy", "dummy_nonzero")
        for backend in ("inductor", "openxla+dynamo")
    ]
    factory.write_run(home / "runs" / "first", records)
    ingest([home], home / "store")
    return home / "store"


def test_a_cell_of_overview_is_measured_again_without_a_mouse(page, factory, tmp_path):
    found = complaints(page)
    with running_server(_store(factory, tmp_path)) as url:
        page.goto(url)
        settled(page, PATHS["/"])
        cell = page.locator(".xl-matrix td[data-backend='openxla+dynamo'] a")
        _press(page, cell, page.get_by_role("heading", name=PATHS["/speedup"], level=1))
        settled(page, PATHS["/speedup"])
        results = page.get_by_test_id("stPopoverBody").get_by_role("combobox", name="Results")
        _press(page, page.get_by_role("button", name="Measure again"), results)
        _to(page, results)
        page.keyboard.type("nonzero")
        page.get_by_role("option", name=re.compile("nonzero")).wait_for()
        page.keyboard.press("Enter")
        page.get_by_text("2 experiments", exact=True).wait_for()
        _type(page, page.get_by_role("textbox", name="Launch as"), "ann")
        page.keyboard.press("Enter")
        job = page.get_by_role("button", name="Open the job")
        _press(page, page.get_by_role("button", name="Queue 2 experiments"), job)
        _press(page, job, page.get_by_role("heading", name=re.compile("again nightly")))
        settled(page, PATHS["/runs"])
        assert found == []
