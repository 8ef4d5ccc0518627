"""A real server on a free port and a real chromium, for the browser tests and the screenshots."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from weakref import WeakKeyDictionary

import psutil
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, WebSocket, expect, sync_playwright
from playwright.sync_api import Error as BrowserError
from streamlit import logger
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
logger.set_log_level("ERROR")  # it would warn that its caches have no server here

from dashboard.screens import PAGES  # noqa: E402 - the repository's own packages come first
from tests import warm  # noqa: E402 - as above
from tests.command import free_port  # noqa: E402 - as above

PATHS = {f"/{spec.url_path}": spec.title for spec in PAGES}
"""Path of each page → its title."""
NAMED = {"/model": "suite=timm_models&model=test_vit2&test=eval"}
"""Path of a page → what its link names of the runs in tests/data/review, beside the run."""
LAUNCH: dict[str, Any] = {
    "executable_path": next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None),
    "args": [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ],
}
"""How chromium is started; its path is None where it is not installed."""
START_S = 120.0
"""How long a server may take to answer."""
PATIENCE_S = 60.0
"""How long a page may take to do what was asked of it: tests share two cores with whatever else goes on there."""
_ROW_PX = 35
"""Height of a row of a table, its header included."""
_BOX_PX = 18
"""Where the box of a row that can be selected is: from the left."""
_NAME_PX = 65
"""Where the name of a row is: from the left, after its box."""
_LOOK_MS = 50
_CLICK_COUNTS_MS = 2000

expect.set_options(timeout=1000 * PATIENCE_S)
_SERVE = "import sys; from dashboard.server import serve; sys.exit(serve(sys.argv[1], port=int(sys.argv[2])))"


def start_server(store: Path, port: int) -> subprocess.Popen[str]:
    """Start the server in a process of its own, as `xlabench serve` does."""
    return subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(store), str(port)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextlib.contextmanager
def running_server(store: Path, *, whole: bool = False) -> Iterator[str]:
    """Yield the URL of a healthy server; stop it afterwards.

    Unless it has to be a whole interpreter, it is forked from a process that has the imports done.
    """
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as said:

        def fork(port: int) -> warm.Started:
            return warm.serve("-c", [_SERVE, store, str(port)], said, env=env)

        with serving((lambda port: start_server(store, port)) if whole else fork) as url:
            yield url


@contextlib.contextmanager
def serving(start: Callable[[int], subprocess.Popen[str] | warm.Started]) -> Iterator[str]:
    """Yield the URL of what listens on the port that it is started with; stop it afterwards."""
    port = free_port()
    process = start(port)
    url = f"http://127.0.0.1:{port}"
    try:
        _await_health(process, url)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=60)


@contextlib.contextmanager
def running_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**LAUNCH)
        yield browser
        browser.close()


def process_of(url: str) -> psutil.Process:
    """Return the server that this process started for a URL."""
    port = url.rsplit(":", 1)[1]
    return next(each for each in psutil.Process().children() if each.cmdline()[-1:] == [port])


def complaints(page: Page) -> list[str]:
    """Return a list that fills with what the browser complains about: errors of scripts and of the console.

    Requests to other hosts are complaints too. A page's own link makes Streamlit look for the server below that path
    first, which is no error.
    """
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda said: found.append(f"{said.text} {said.location['url']}") if _is_error(said) else None)
    page.on("dialog", lambda dialog: (found.append(f"a dialog opened: {dialog.message}"), dialog.dismiss()))
    return found


def _is_error(said: ConsoleMessage) -> bool:
    return said.type == "error" and not said.location["url"].endswith(("/_stcore/health", "/_stcore/host-config"))


def settled(page: Page, title: str) -> None:
    """Wait until the page with this title is drawn, its script has ended and no table is without its rows.

    Of a page with another title than the one before, or of one that is loaded. What is asked of a page that stays is
    waited for with `redrawn`: here the script may not have begun yet.
    """
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for(timeout=1000 * PATIENCE_S)
    page.wait_for_function(_SETTLED, timeout=1000 * PATIENCE_S)


_SETTLED = """() => {
    const state = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState;
    return !state?.startsWith('run')
        && !document.querySelector('[data-testid=stSkeleton]')
        && [...document.querySelectorAll('[data-testid=stDataFrame] canvas[data-testid=data-grid-canvas]')]
            .every(canvas => !canvas.offsetHeight || canvas.querySelector('[role=columnheader]'));
}"""


def in_address(page: Page, wanted: Mapping[str, list[str]], *, others: bool = False) -> None:
    """Wait until the address has these parameters, and no others unless they may be there.

    Each box writes its own when the browser is told of it, some after the script has ended.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        given = parse_qs(urlsplit(page.url).query)
        if given == wanted or (others and given | wanted == given):
            return
        page.wait_for_timeout(_LOOK_MS)
    raise AssertionError(f"the address has {given}, not {dict(wanted)}")


@contextlib.contextmanager
def redrawn(page: Page) -> Iterator[None]:
    """Do in the block what makes the server draw the page anew; it ends when that was done and stands.

    The attribute that says whether a script runs does not tell "not yet" from "no longer"; the server's own message at
    the end of a whole run does. Of a page that `patient` has returned, before it was opened. Parts that are drawn by
    themselves every few seconds do not count.
    """
    before = len(_RUNS[page])
    yield
    deadline = time.monotonic() + PATIENCE_S
    while len(_RUNS[page]) == before:
        if time.monotonic() > deadline:
            raise AssertionError("the server did not draw the page anew")
        page.wait_for_timeout(_LOOK_MS)
    page.wait_for_function(_SETTLED, timeout=1000 * PATIENCE_S)


_RUNS: WeakKeyDictionary[Page, list[float]] = WeakKeyDictionary()
"""Page → when whole runs of its script ended."""


def patient(page: Page) -> Page:
    """Let what is done on a page take its time, and take note of the ends of its script; return the page."""
    page.set_default_timeout(1000 * PATIENCE_S)
    ended = _RUNS.setdefault(page, [])

    def received(frame: str | bytes) -> None:
        message = ForwardMsg.FromString(frame) if isinstance(frame, bytes) else ForwardMsg()
        if message.WhichOneof("type") == "script_finished":
            whole = message.script_finished == ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
            ended.extend([time.monotonic()] * whole)

    def opened(socket: WebSocket) -> None:
        socket.on("framereceived", received)

    page.on("websocket", opened)
    return page


def choose_row(table: Locator, row: int, leads_to: Locator) -> None:
    """Select a row of a table by its box, and wait for what that leads to.

    A table is one picture. A click hits nothing before its rows are drawn, nor where another picture is about to take
    its place; so the row itself, which readers who cannot see it are told of, has to say that it is selected.

    Args:
        table: of which rows can be selected.
        row: counted from 0, among those that are seen without scrolling.
        leads_to: what is seen then.
    """
    told = table.locator(f"canvas tr[aria-rowindex='{row + 2}']")
    deadline = time.monotonic() + PATIENCE_S
    while not leads_to.is_visible() and time.monotonic() < deadline:
        with contextlib.suppress(BrowserError):  # the table has gone: what it leads to comes
            told.wait_for(state="attached", timeout=_CLICK_COUNTS_MS)
            if told.get_attribute("aria-selected", timeout=_LOOK_MS) != "true":
                table.click(position={"x": _BOX_PX, "y": int((row + 1.5) * _ROW_PX)}, timeout=_CLICK_COUNTS_MS)
            leads_to.wait_for(timeout=_CLICK_COUNTS_MS)
    expect(leads_to).to_be_visible()


def open_row(table: Locator, row: int, leads_to: Locator) -> None:
    """Click the name in a row of a table whose rows can be selected, and wait for what that opens.

    The arguments are those of `choose_row`.
    """
    told = table.locator(f"canvas tr[aria-rowindex='{row + 2}']")
    deadline = time.monotonic() + PATIENCE_S
    while not leads_to.is_visible() and time.monotonic() < deadline:
        with contextlib.suppress(BrowserError):  # the table has gone: what it leads to comes
            told.wait_for(state="attached", timeout=_CLICK_COUNTS_MS)
            table.click(position={"x": _NAME_PX, "y": int((row + 1.5) * _ROW_PX)}, timeout=_CLICK_COUNTS_MS)
            leads_to.wait_for(timeout=_CLICK_COUNTS_MS)
    expect(leads_to).to_be_visible()


def mark(chart: Locator, words: str) -> Locator:
    """Return the mark of a chart that says these words, as `op: nonzero`; wait until its chart is drawn and stands.

    A chart is drawn again at the width of its place: a click between the two would go where the mark was.
    """
    found = chart.locator(f".role-mark [aria-label*='{words}']").first
    found.wait_for(state="attached", timeout=1000 * PATIENCE_S)
    found.scroll_into_view_if_needed()
    deadline, before, now = time.monotonic() + PATIENCE_S, None, found.bounding_box()
    while now != before and time.monotonic() < deadline:
        chart.page.wait_for_timeout(_LOOK_MS)
        before, now = now, found.bounding_box()
    return found


def _await_health(process: subprocess.Popen[str] | warm.Started, url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {process.communicate()[0]}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no answer from {url} within {START_S} s")
