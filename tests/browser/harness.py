"""A real server on a free port and a real chromium, for the browser tests and the screenshots."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from streamlit import logger

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
logger.set_log_level("ERROR")  # it would warn that its caches have no server here

from dashboard.pages import PAGES  # noqa: E402 - the repository's own packages come first

if TYPE_CHECKING:
    from collections.abc import Iterator

PATHS = {f"/{spec.url_path}": spec.title for spec in PAGES}
"""Path of each page → its title."""
NAMED = {"/model": "suite=timm_models&model=test_vit2&test=eval"}
"""Path of a page → what its link names of the runs in tests/data/review, beside the run."""
LAUNCH_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_S = 30.0
_SERVE = "import sys; from dashboard.server import serve; sys.exit(serve(sys.argv[1], port=int(sys.argv[2])))"


def chromium_path() -> str | None:
    """Return where chromium is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
def running_server(store: Path) -> Iterator[str]:
    """Yield the URL of a healthy server; stop it afterwards."""
    port = free_port()
    process = start_server(store, port)
    url = f"http://127.0.0.1:{port}"
    try:
        _await_health(process, url)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=20)


@contextlib.contextmanager
def running_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=LAUNCH_ARGS)
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
    """Wait until the page with this title is drawn and its script has ended."""
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for(timeout=30_000)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stApp]')?.dataset.testScriptState?.startsWith('run')"
        " && !document.querySelector('[data-testid=stSkeleton]')",
        timeout=30_000,
    )


def _await_health(process: subprocess.Popen[str], url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {process.communicate()[0]}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no answer from {url} within {START_S} s")
