"""Twenty readers who click while new results are ingested: none may see an error."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from itertools import cycle
from typing import TYPE_CHECKING

from playwright.sync_api import Error

from tests.performance.page_parts import clock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, Page

READERS = 20
LEAST_S = 30.0
_FILTERS = (("Test", "eval"), ("Suite", "torchbench"), ("Backend", "inductor"), ("Test", "train"))
_PATIENCE_MS = 10_000
_TROUBLE = "[data-testid=stException], [data-testid=stConnectionStatus][data-error=true]"


def troubles(browser: Browser, url: str, paths: Sequence[str], home: Path, store: Path) -> list[str]:
    """Let the readers click until the ingest has ended; return what went wrong."""
    found: list[str] = []
    pages = [_reader(browser, url + path, found) for path, _ in zip(cycle(paths), range(READERS), strict=False)]
    words = [sys.executable, "-m", "xlabench", "ingest", str(home), "--database", str(store)]
    ingest = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    began, clicks = time.monotonic(), 0
    for page, (label, value) in zip(cycle(pages), cycle((*_FILTERS, ("", "")[:2])), strict=False):
        if ingest.poll() is not None and time.monotonic() - began > LEAST_S:
            break
        clicks += _click(page, label, value)
    said = ingest.communicate()[0]
    if ingest.returncode:
        found.append(f"ingest ended with {ingest.returncode}: {said}")
    for page in pages:
        found += [each.inner_text() for each in page.locator(_TROUBLE).all()]
        with contextlib.suppress(Error):
            page.close()
    print(f"{READERS} readers, {clicks} clicks in {time.monotonic() - began:.0f} s beside an ingest")
    return found


def _reader(browser: Browser, url: str, found: list[str]) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.on("pageerror", lambda error: found.append(f"{url}: {error}"))
    page.on("console", lambda said: said.type == "error" and found.append(f"{url}: {said.text}"))
    clock.first_paint(page, url)
    return page


def _click(page: Page, label: str, value: str) -> bool:
    """Change a filter, or clear all where no label is given; do not wait for the answer."""
    sidebar = page.get_by_test_id("stSidebar")
    try:
        if not label:
            sidebar.get_by_role("button", name="Clear filters").click(timeout=_PATIENCE_MS)
            return True
        box = sidebar.get_by_role("combobox", name=re.compile(rf"^{label}|\b{label}$")).first
        box.click(timeout=_PATIENCE_MS)
        page.get_by_role("option", name=value, exact=True).first.click(timeout=_PATIENCE_MS)
        page.keyboard.press("Escape")
    except Error:  # the option is chosen already, or the page is being drawn
        page.keyboard.press("Escape")
        return False
    return True
