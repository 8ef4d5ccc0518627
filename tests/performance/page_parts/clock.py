"""What a page's own clock says: when it was first painted, when it stood whole, how long a change of a filter took."""

import re

from playwright.sync_api import (
    Page,
    TimeoutError,  # noqa: A004 - playwright's own
)

WAIT_MS = 120_000
UNSEEN_MS = 5_000
"""After which a change that the page never told of is taken as too short to be seen."""
_WHOLE = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    return app?.dataset.testScriptState === 'notRunning' && document.querySelector('h1') !== null
        && !document.querySelector('[data-testid=stSkeleton]') && !document.querySelector('[data-stale=true]');
}"""
_WATCH = """() => {
    window.__clock = {acted: 0, began: 0, ended: 0};
    const clock = window.__clock, app = document.querySelector('[data-testid=stApp]');
    const act = () => { Object.assign(clock, {acted: performance.now(), began: 0, ended: 0}); };
    window.addEventListener('keydown', event => { if (event.key === 'Enter') act(); }, true);
    window.addEventListener('pointerdown', act, true);
    new MutationObserver(changes => {
        const state = app.dataset.testScriptState;
        // A short run may be over before it is told of.
        const ran = state === 'running' || changes.some(change => change.oldValue === 'running');
        if (ran && !clock.began) clock.began = performance.now();
        if (state === 'notRunning' && clock.began) {
            requestAnimationFrame(() => requestAnimationFrame(() => { clock.ended = performance.now(); }));
        }
    }).observe(app, {attributes: true, attributeFilter: ['data-test-script-state'], attributeOldValue: true});
}"""
_ENDED = "() => window.__clock.ended > window.__clock.acted && window.__clock.began > window.__clock.acted"
_BEGAN = "() => window.__clock.began > window.__clock.acted"
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"


def first_paint(page: Page, url: str) -> tuple[float, float]:
    """Open a link; return the seconds until something was painted, and until the page stood whole."""
    page.goto(url, wait_until="commit")
    stands(page)
    whole = float(page.evaluate("() => performance.now()"))
    return float(page.evaluate(_PAINT)) / 1e3, whole / 1e3


def stands(page: Page) -> None:
    """Wait until a page stands whole."""
    page.wait_for_function(_WHOLE, timeout=WAIT_MS)


def watch(page: Page) -> None:
    """Begin to note when somebody acts and when the page has answered."""
    page.evaluate(_WATCH)


def choose(page: Page, label: str, value: str) -> float | None:
    """Add a value to a filter of the sidebar by the keyboard; return what `answered` returns."""
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile(rf"^{label}|\b{label}$"))
    box.first.click()
    box.first.fill(value)
    page.get_by_role("option", name=value, exact=True).first.wait_for()
    page.keyboard.press("Enter")
    seconds = answered(page)
    page.keyboard.press("Escape")
    return seconds


def press(page: Page, name: str) -> float | None:
    """Press a button of the sidebar; return what `answered` returns."""
    page.get_by_test_id("stSidebar").get_by_role("button", name=name).click()
    return answered(page)


def answered(page: Page) -> float | None:
    """Wait for the answer to the last action; return how long it took, in seconds.

    None where begin and end of the run came to the page as one, which the page then never shows as running.
    """
    try:
        page.wait_for_function(_BEGAN, timeout=UNSEEN_MS, polling="raf")
    except TimeoutError:
        stands(page)
        return None
    page.wait_for_function(_ENDED, timeout=WAIT_MS, polling="raf")
    times = page.evaluate("() => window.__clock")
    return float(times["ended"] - times["acted"]) / 1e3
