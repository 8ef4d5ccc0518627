"""From Overview to a rerun of one of its cells by the keyboard alone."""

from __future__ import annotations

import re
import sys

from harness import PATHS, complaints, running_server, settled
from playwright.sync_api import expect

MOST_TABS = 150


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


def _press(page, target):
    _to(page, target)
    page.keyboard.press("Enter")


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
        _press(page, page.locator(".xl-matrix td[data-backend='openxla+dynamo'] a"))
        settled(page, PATHS["/speedup"])
        _press(page, page.get_by_role("button", name="Measure again"))
        _to(page, page.get_by_test_id("stPopoverBody").get_by_role("combobox", name="Results"))
        page.keyboard.type("nonzero")
        page.get_by_role("option", name=re.compile("nonzero")).wait_for()
        page.keyboard.press("Enter")
        page.get_by_text("2 experiments", exact=True).wait_for()
        _to(page, page.get_by_role("textbox", name="Launch as"))
        page.keyboard.type("ann")
        page.keyboard.press("Enter")
        _press(page, page.get_by_role("button", name="Queue 2 experiments"))
        _press(page, page.get_by_role("button", name="Open the job"))
        settled(page, PATHS["/runs"])
        expect(page.get_by_role("heading", name=re.compile("again nightly"))).to_be_visible()
        assert found == []
