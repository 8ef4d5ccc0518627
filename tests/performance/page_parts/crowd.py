"""Twenty readers who click while new results are ingested: none may see an error."""

import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    TimeoutError,  # noqa: A004 - playwright's own
)

from tests.performance.page_parts import clock

READERS = 20
LEAST_CLICKS, MOST_S = 100, 240.0
_FILTERS = (("Test", "eval"), ("Suite", "torchbench"), ("Backend", "inductor"), ("", "Clear filters"))
_PATIENCE_MS = 15_000
_TROUBLE = "[data-testid=stException], [data-testid=stConnectionStatus][data-error=true]"


def troubles(browser: Browser, url: str, paths: Sequence[str], home: Path, store: Path) -> list[str]:
    """Let the readers click until the ingest has ended; return what went wrong."""
    found: list[str] = []
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    pages = [_reader(context, url + path, found) for path, _ in zip(cycle(paths), range(READERS), strict=False)]
    found += [text for page in pages if (text := _late(page))]
    words = [sys.executable, "-m", "xlabench", "ingest", str(home), "--database", str(store)]
    ingest = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    began, clicks = time.monotonic(), 0
    chance = random.Random(0)
    while (ingest.poll() is None or clicks < LEAST_CLICKS) and time.monotonic() - began < MOST_S:
        clicks += _click(chance.choice(pages), *chance.choice(_FILTERS))
    said = ingest.communicate()[0]
    if clicks < LEAST_CLICKS:
        found.append(f"only {clicks} clicks were answered in {MOST_S:.0f} s")
    if ingest.returncode:
        found.append(f"ingest ended with {ingest.returncode}: {said}")
    for page in pages:
        found += [each.inner_text() for each in page.locator(_TROUBLE).all()]
    context.close()
    print(f"{READERS} readers, {clicks} clicks in {time.monotonic() - began:.0f} s beside an ingest")
    return found


def _late(page: Page) -> str | None:
    """Wait until a page stands whole; say what it still does where it does not."""
    page.bring_to_front()  # else the browser hardly draws it, and a look at it waits for that
    try:
        clock.stands(page)
    except TimeoutError:
        state = page.evaluate("() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState")
        shown = page.locator("h1").all_inner_texts()
        return f"{page.url} did not stand within {clock.WAIT_MS / 1e3:.0f} s: {state}, headings {shown}"
    return None


def _reader(context: BrowserContext, url: str, found: list[str]) -> Page:
    """Open a page in a tab and do not wait for it."""
    page = context.new_page()
    page.on("pageerror", lambda error: found.append(f"{url}: {error}"))
    page.goto(url, wait_until="commit")
    return page


def _click(page: Page, label: str, value: str) -> bool:
    """Change a filter, or press a button where no label is given; do not wait for the answer."""
    page.bring_to_front()  # a tab behind others is drawn too seldom to be clicked
    sidebar = page.get_by_test_id("stSidebar")
    try:
        if not label:
            sidebar.get_by_role("button", name=value).click(timeout=_PATIENCE_MS)
            return True
        if sidebar.get_by_text(value, exact=True).count():
            return False
        box = sidebar.get_by_role("combobox", name=re.compile(rf"^{label}|\b{label}$")).first
        box.click(timeout=_PATIENCE_MS)
        page.get_by_role("option", name=value, exact=True).first.click(timeout=_PATIENCE_MS)
        page.keyboard.press("Escape")
    except Error:  # the page is being drawn
        page.keyboard.press("Escape")
        return False
    return True
