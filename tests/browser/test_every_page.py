"""Every page: the browser complains about nothing, over real runs, no runs, failures only and hostile names."""

import pytest
from harness import NAMED, PATHS, complaints, running_server, settled
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
BACKGROUND = """light => light ===
    (getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor === 'rgb(255, 255, 255)')"""
HELD = "width => document.querySelector('[data-testid=stMain]').scrollWidth <= width"


def _stands(page, path):
    """Wait until the page is drawn whole, and check that it is no error."""
    settled(page, PATHS[path])
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_text("Page not found").count() == 0


def _every_page(page, url, paths=PATHS):
    """Go through the navigation, which every page has; yield the path of each when it is drawn."""
    page.goto(url)
    for path, title in paths.items():
        page.get_by_test_id("stToolbar").get_by_role("link", name=title, exact=True).click()
        _stands(page, path)
        yield path


def _look_through(page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})


def _is_held(page, path, scheme, width):
    """Check that the page has the colours of the scheme and does not have to be scrolled sideways."""
    _look_through(page, scheme, width)
    page.wait_for_function(BACKGROUND, arg=scheme == "light")
    page.wait_for_function(HELD, arg=width)
    assert width < WIDE or page.evaluate(SCROLLED) == [], path


@pytest.mark.parametrize("narrow", first_of([list(NAMED), list(PATHS)]), ids=["one", "every"])
def test_browser_complains_about_nothing_and_the_window_holds_it(page, review_url, narrow):
    """Each page stands in the dark and wide; one, thorough: each, stands on a telephone in the light, too."""
    found = complaints(page)
    _look_through(page, "dark", WIDE)
    for path in _gone_through(page, review_url):
        _is_held(page, path, "dark", WIDE)
        if path in narrow:
            _is_held(page, path, "light", 390)
            _stands(page, path)
            _look_through(page, "dark", WIDE)
    assert found == []


@pytest.mark.thorough
def test_each_page_is_opened_on_a_telephone(page, review_url):
    found = complaints(page)
    _look_through(page, "light", 390)
    for path in _opened(page, review_url):
        _is_held(page, path, "light", 390)
    assert found == []


def _gone_through(page, url):
    """Go to each page by the navigation, but to one whose link names what it shows by that."""
    yield from _every_page(page, url, {path: title for path, title in PATHS.items() if path not in NAMED})
    yield from _opened(page, url, NAMED)


def _opened(page, url, paths=PATHS):
    """Open each page by its link; yield its path when it is drawn."""
    for path in paths:
        page.goto(f"{url}{path}?{NAMED.get(path, '')}")
        _stands(page, path)
        yield path


def _hostile_store(factory, home, **outcome):
    """Ingest one run of models and a label that try to be markup, each result of the same outcome."""
    from store.ingest import ingest

    every = [(model, backend) for model in HOSTILE for backend in factory.BACKENDS]
    records = [factory.make_record(model=model, backend=backend, label=LABEL, **outcome) for model, backend in every]
    factory.write_run(home / "runs" / "hostile", records)
    ingest([home], home / "store")
    return home / "store"


FAILED = {"status": "run_error", "message": MESSAGE}


@pytest.mark.parametrize(
    ("outcome", "paths"),
    first_of([({}, ["/"]), ({}, list(PATHS)), (FAILED, list(PATHS))]),
    ids=["ran", "ran-every", "failed"],
)
def test_hostile_names_are_text_on_every_page(page, factory, tmp_path, outcome, paths):
    """One page shows that a browser takes for text what tests/dashboard shows of each page; every page is thorough."""
    found = complaints(page)
    with running_server(_hostile_store(factory, tmp_path, **outcome)) as url:
        for path in _every_page(page, url, {path: PATHS[path] for path in paths}):
            assert page.locator("img[src=x], a[href^='javascript:']").count() == 0, path
            assert "broken" not in page.title(), path
            expect(page.get_by_text("<img src=x", exact=False).first).to_be_visible()
    assert found == []
