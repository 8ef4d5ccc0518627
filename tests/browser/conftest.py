"""Servers and pages for the browser tests; they are skipped where chromium is not installed."""

import contextlib
import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402 - it lies beside this file, and tests are no package


def pytest_collection_modifyitems(items):
    absent = pytest.mark.skip(
        reason="chromium is not installed: `make test` as root installs it, else use your package manager"
    )
    for item in items:
        if HERE in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            # A browser on a shared machine may be late; the summary names a second try, and nothing else has one.
            item.add_marker(pytest.mark.flaky(reruns=1))
            if harness.LAUNCH["executable_path"] is None:
                item.add_marker(absent)


@pytest.fixture(scope="session")
def factory():
    spec = importlib.util.spec_from_file_location("store_factory", HERE.parent / "store" / "factory.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def playwright():
    with harness.sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright):
    """For tests with windows of their own."""
    with playwright.chromium.launch(**harness.LAUNCH) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def window(playwright, tmp_path_factory):
    """One window for all tests: fetching and compiling the frontend anew is half of a page.

    It has a profile, as only then chromium keeps what it has compiled, and one process for the pages of all servers,
    which lives as long as its first page is open. Nothing moves on them: without a GPU, each step of an animation is
    drawn by the CPU.
    """
    profile, size = tmp_path_factory.mktemp("profile"), {"width": 1440, "height": 900}
    launch = harness.LAUNCH | {"args": [*harness.LAUNCH["args"], "--process-per-site"]}
    with playwright.chromium.launch_persistent_context(
        profile, viewport=size, reduced_motion="reduce", **launch
    ) as context:
        yield context


@pytest.fixture
def page(window):
    """A page of a window that keeps nothing of the pages before it: neither cookies nor what they have stored."""
    opened = harness.patient(window.new_page())
    yield opened
    origin = "/".join(opened.url.split("/")[:3])
    stored = {"origin": origin, "storageTypes": "local_storage"}
    window.new_cdp_session(opened).send("Storage.clearDataForOrigin", stored)
    window.clear_cookies()
    first, *others = window.pages
    if origin.startswith("http") and not first.url.startswith("http"):
        with contextlib.suppress(harness.BrowserError):  # the test has ended its server: another test's may go on
            first.goto(f"{origin}/_stcore/health")
    for tab in others:
        tab.close()


@pytest.fixture(scope="session")
def demo_url(factory, tmp_path_factory):
    """Address of a server over the demonstration store, which no test changes."""
    with harness.running_server(factory.demo_store(tmp_path_factory.mktemp("demo"))) as url:
        yield url


@pytest.fixture(scope="session")
def operators_url(tmp_path_factory):
    """Address of a server over a run of single operators, which no test changes."""
    from store.ingest import ingest

    store = tmp_path_factory.mktemp("operators") / "store"
    ingest([HERE.parent / "data" / "operators"], store)
    with harness.running_server(store) as url:
        yield url


@pytest.fixture(scope="session")
def review_url(review_store):
    """Address of a server over real runs, which no test changes."""
    with harness.running_server(review_store) as url:
        yield url
