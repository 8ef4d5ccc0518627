"""Every page: the browser complains about nothing, over real runs, no runs, failures only and hostile names."""

from __future__ import annotations

import pytest
from harness import NAMED, PATHS, complaints, patient, running_server, settled
from playwright.sync_api import expect

from tests.tiers import first_of

HOSTILE = (
    "<script>document.title='broken'</script>",
    "\N{ROCKET} \N{RIGHT-TO-LEFT OVERRIDE}émoji\N{POP DIRECTIONAL FORMATTING} 模型",
    "long" * 50,
    "a|b `c` **d** $e$ [f](javascript:g)",
)
LABEL = "<img src=x onerror=\"document.title='broken'\"> **night**"
MESSAGE = "<script>document.title='broken'</script> <b>no room</b> [here](javascript:alert(1))"
WIDE = 1440
SCROLLED = """() => [...document.querySelectorAll('[data-testid=stMain] .dvn-scroller')]
    .filter(table => table.scrollWidth > table.clientWidth + 1)
    .map(table => table.scrollWidth)"""
"""Widths of the tables that have to be scrolled sideways."""


def _stands(page, path):
    """Wait until the page is drawn whole, and check that it is no error."""
    settled(page, PATHS[path])
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_text("Page not found").count() == 0


def _every_page(page, url):
    """Go through the navigation, which every page has; yield the path of each when it is drawn."""
    page.goto(url)
    for path, title in PATHS.items():
        page.get_by_test_id("stToolbar").get_by_role("link", name=title, exact=True).click()
        _stands(page, path)
        yield path


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1440), ("light", 390)])
def test_browser_complains_about_nothing_and_the_window_holds_it(browser, review_url, scheme, width):
    page = patient(browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme))
    found = complaints(page)
    for path in PATHS:
        page.goto(f"{review_url}{path}?{NAMED.get(path, '')}")
        _stands(page, path)
        light = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
        assert (light == "rgb(255, 255, 255)") == (scheme == "light"), path
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= width, path
        assert width < WIDE or page.evaluate(SCROLLED) == [], path
    assert found == []
    page.close()


@pytest.mark.thorough
def test_empty_store_is_explained_on_every_page(page, tmp_path):
    """In a browser: what is said, tests/dashboard/test_pages.py holds page by page; one page is in test_pages.py."""
    found = complaints(page)
    with running_server(tmp_path / "store") as url:
        for _ in _every_page(page, url):
            expect(page.get_by_text("make run")).to_be_visible()
    assert found == []


def _hostile_store(factory, home, **outcome):
    """Ingest one run of models and a label that try to be markup, each result of the same outcome."""
    from store.ingest import ingest

    every = [(model, backend) for model in HOSTILE for backend in factory.BACKENDS]
    records = [factory.make_record(model=model, backend=backend, label=LABEL, **outcome) for model, backend in every]
    factory.write_run(home / "runs" / "hostile", records)
    ingest([home], home / "store")
    return home / "store"


@pytest.mark.parametrize("outcome", first_of([{}, {"status": "run_error", "message": MESSAGE}]), ids=["ran", "failed"])
def test_hostile_names_are_text_on_every_page(page, factory, tmp_path, outcome):
    """A run that failed as a whole leaves each page standing, too; thorough, as tests/dashboard has it page by page."""
    found = complaints(page)
    with running_server(_hostile_store(factory, tmp_path, **outcome)) as url:
        for path in _every_page(page, url):
            assert page.locator("img[src=x], a[href^='javascript:']").count() == 0, path
            assert "broken" not in page.title(), path
            expect(page.get_by_text("<img src=x", exact=False).first).to_be_visible()
    assert found == []
