"""Back and forward: each change of the view is one step, and each step shows what it showed."""

import re

import pytest
from harness import complaints, open_row, redrawn, settled

from tests.tiers import first_of

LABELS = "radios => radios.map(radio => (radio.closest('label') ?? radio).innerText)"
START = "run=2af2f9b8"
"""Of a link: the server words it as its box does, which is no step of the reader."""


def _shown(page):
    """Return the page, the run, the filters in use and the chart."""
    run = page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("Run")).first.input_value()
    chips = page.locator(".st-key-chips button").all_inner_texts()
    charts = page.get_by_test_id("stMain").get_by_role("radio", checked=True).evaluate_all(LABELS)
    return page.get_by_role("heading", level=1).inner_text(), run, chips, charts


def _pick(page, box, option):
    with redrawn(page):
        page.get_by_test_id("stSidebar").get_by_role("combobox").nth(box).click()
        page.get_by_role("option").nth(option).click()
        page.keyboard.press("Escape")


def _click(page, what):
    with redrawn(page):
        what.click()


def _open(page, title):
    page.get_by_role("link", name=title, exact=True).click()
    settled(page, title)


def _row(page):
    open_row(page.get_by_test_id("stDataFrame").first, 1, page.get_by_text("Backends side by side"))


@pytest.mark.parametrize(("steps_n", "forward_n"), first_of([(3, 3), (11, 11)]))
def test_back_and_forward_go_through_steps_one_by_one(page, review_url, steps_n, forward_n):
    """A filter goes along to another page; a chart comes back though that page has such a choice of its own."""
    found = complaints(page)
    page.goto(f"{review_url}/speedup?{START}")
    settled(page, "Speedup")
    page.wait_for_url(re.compile("run=timm_models"))
    steps = (
        lambda: _pick(page, 4, 2),
        lambda: _click(page, page.get_by_role("radio", name="Distribution", exact=True)),
        lambda: _open(page, "Compile time"),
        lambda: _pick(page, 0, 4),
        lambda: _click(page, page.locator(".st-key-chips button").first),
        lambda: _open(page, "Overview"),
        lambda: _open(page, "Speedup"),
        lambda: _row(page),
        lambda: _open(page, "Compare"),
        lambda: _open(page, "Trends"),
        lambda: _open(page, "Fallback ops"),
    )[:steps_n]
    entries, seen = page.evaluate("history.length"), [_stands(page)]
    for number, step in enumerate(steps, 1):
        step()
        seen.append(_stands(page, unlike=seen[-1]))
        assert page.evaluate("history.length") == entries + number, seen[-1]
    assert seen[3][2] == seen[1][2] != []
    for expected in reversed(seen[:-1]):
        page.go_back()
        assert _stands(page, like=expected) == expected
    for expected in seen[1 : 1 + forward_n]:
        page.go_forward()
        assert _stands(page, like=expected) == expected
    assert found == []


def _stands(page, *, like=None, unlike=None):
    """Wait until the view no longer changes, or is an expected one; return it."""
    before, now = None, None
    for _ in range(600):
        if page.get_by_role("heading", level=1).count() == 1:
            before, now = now, _shown(page)
            if now == like or (like is None and now == before and now != unlike):
                break
        page.wait_for_timeout(150)
    return now
