"""How long pages take in a browser on an index of a million records over three years.

For each page: the first paint and the time until it stands whole, of runs that nobody asked for before; the time that a
change of a filter takes, and the server's CPU time for it; beside them, in the same run, the page's main query through
a connection of its own. The reference is a page of Streamlit's alone (`page_parts/bare.py`) with about as many elements
as Overview, which reads and computes nothing: what it takes is Streamlit's and the browser's. It is changed in turns
with each page, as machines are not equally fast for ten minutes. Then the memory of the server, and twenty readers who
click while a run is ingested. Ends with 1 where an aim is missed.
`python tests/performance/pages.py --home DIR [--records N] [--runs R] [--only PATH] [--no-crowd]`
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

import harness  # noqa: E402 - as above

from store import changepoints, query  # noqa: E402 - the repository's own packages come first
from store.ingest import ingest  # noqa: E402
from store.query import Connection  # noqa: E402
from tests.performance.page_parts import clock, crowd  # noqa: E402
from tests.performance.store_parts import records  # noqa: E402

BARE = ROOT / "tests" / "performance" / "page_parts" / "bare.py"
OPENED = 5
"""Runs that each page is opened with."""
CHANGES = (
    *(("Test", "eval"), ("Backend", "inductor"), ("Backend", "openxla+dynamo"), ("Suite", "torchbench")),
    *(("Suite", "huggingface"), ("Model", "model_0001"), ("Model", "model_0002"), ("", "Clear filters")),
)
OF_MODEL = (("Backend", "inductor"), ("Backend", "eager"), ("Backend", "openxla+dynamo"))
"""The page of one model has its suite, model and test chosen."""
CHANGED = 24
"""Changes of each page, made in rounds, each on another run."""
FIRST_AIM_S, CHANGE_AIM_S, MEMORY_AIM = 2.0, 0.5, 800e6
WHOLE_AIM_S, WHOLE_COMPARE_AIM_S = 2.5, 3.0
"""Compare reads two runs that nobody asked for before."""
CHANGE_RATIO = 1.4
"""A change of a filter may take `CHANGE_AIM_S` or so many times what it takes on the bare page, whichever is more."""
RESULTS = "SELECT * FROM result_rows WHERE run_id = $run"
SPEEDUPS = "SELECT * FROM speedups('inductor', $run) WHERE run_id = $run"
QUERIES = {
    "/": "SELECT * FROM geomeans('inductor', $run) WHERE run_id = $run",
    "/speedup": SPEEDUPS,
    "/fallback-ops": "SELECT * FROM fallback_ops WHERE run_id = $run",
    "/operators": "SELECT * FROM operator_speedups('inductor', $run) WHERE run_id = $run",
    "/trends": "SELECT * FROM rates",
    "/runs": "SELECT * FROM runs",
}
"""Path of a page → its main query; of the others the results of the run."""
VIEWED = {"/model": "suite=torchbench&model=model_0001&test=eval"}
"""Path of a page → what its link has to name beside the run."""


class Figures:
    """What was measured of one page, in seconds."""

    def __init__(self) -> None:
        self.painted: list[float] = []
        self.whole: list[float] = []
        self.changed: list[float] = []
        self.worked: list[float] = []
        """CPU time of the server for a change, one number a round."""

    @property
    def change(self) -> float:
        """Median of the changes."""
        return statistics.median(self.changed)

    @property
    def change_p95(self) -> float:
        """Of the changes."""
        return statistics.quantiles(self.changed, n=20, method="inclusive")[-1]

    def opened(self, browser: Browser, address: str) -> Page:
        """Open the page; return it."""
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        painted, whole = clock.first_paint(page, address)
        self.painted.append(painted)
        self.whole.append(whole)
        return page

    def change_all(self, page: Page, made: Sequence[tuple[str, str]], process: psutil.Process) -> None:
        """Make each change."""
        clock.watch(page)
        before = sum(process.cpu_times()[:2])
        found = [clock.choose(page, *each) if each[0] else clock.press(page, each[1]) for each in made]
        self.changed += [seconds for seconds in found if seconds is not None]
        self.worked.append((sum(process.cpu_times()[:2]) - before) / len(made))

    def line(self, name: str, process: psutil.Process) -> str:
        """Return the line of a page of a server."""
        times = f"{statistics.median(self.painted):8.2f} {statistics.median(self.whole):8.2f} {1e3 * self.change:10.0f}"
        worked = 1e3 * statistics.median(self.worked)
        held = process.memory_info().rss / 1e6
        return f"{name:14} {times} {1e3 * self.change_p95:8.0f} {len(self.changed):3} {worked:8.0f} {held:6.0f}"


class Side(NamedTuple):
    """A server, and where it is."""

    url: str
    process: psutil.Process


def figures(browser: Browser, addresses: Sequence[str], side: Side, bare: Side, path: str) -> tuple[Figures, Figures]:
    """Open a page at each address and change its filters, in turns with the bare page; return what both took."""
    made = OF_MODEL if path in VIEWED else CHANGES
    found, reference = Figures(), Figures()
    for turn, address in enumerate(addresses):
        page = found.opened(browser, address)
        if turn * len(made) < CHANGED:
            found.change_all(page, made, side.process)
            beside = reference.opened(browser, bare.url)
            reference.change_all(beside, CHANGES[: len(made)], bare.process)
            beside.close()
        page.close()
    return found, reference


def _bare_server(port: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "streamlit", "run", str(BARE), "--server.address", "127.0.0.1"]
    words += ["--server.headless", "true", "--server.port", str(port)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


def report(browser: Browser, side: Side, bare: Side, paths: list[str], con: Connection) -> int:
    """Print one line per page; return how many aims were missed."""
    newest = iter(query.runs(con)["run_id"])
    _warm(browser, f"{side.url}/?run={next(newest)}")
    _warm(browser, bare.url)
    columns = "paint s  whole s  change ms   p95 ms   n   CPU ms     MB  query ms"
    columns += "  bare ms  p95 ms   n  whole s  change / bare"
    print(f"{'page':14}  {columns}")
    missed, slowest = 0, ("", 0.0, 0.0)
    for path in paths:
        opened = max(OPENED, -(-CHANGED // len(OF_MODEL if path in VIEWED else CHANGES)))
        runs = [next(newest) for _ in range(opened)]
        addresses = [f"{side.url}{path}?run={run}&{VIEWED.get(path, '')}" for run in runs]
        found, alone = figures(browser, addresses, side, bare, path)
        held = side.process.memory_info().rss
        over = [
            statistics.median(found.painted) > FIRST_AIM_S,
            statistics.median(found.whole) > (WHOLE_COMPARE_AIM_S if path == "/compare" else WHOLE_AIM_S),
            found.change_p95 > max(CHANGE_AIM_S, CHANGE_RATIO * alone.change_p95),
            held > MEMORY_AIM,
        ]
        missed += sum(over)
        slowest = max(slowest, (path, found.change_p95, alone.change_p95), key=lambda each: each[1])
        reference = f"{1e3 * alone.change:8.0f} {1e3 * alone.change_p95:7.0f} {len(alone.changed):3}"
        reference += f" {statistics.median(alone.whole):8.2f} {found.change / alone.change:14.2f}"
        beside = f"{1e3 * _asked(con, path, runs):9.0f} {reference}"
        print(f"{found.line(path, side.process)} {beside}{'  over' if any(over) else ''}", flush=True)
    path, late, bare_late = slowest
    print(f"slowest p95 of a change: {path} {1e3 * late:.0f} ms, bare page {1e3 * bare_late:.0f} ms", flush=True)
    return missed


def _warm(browser: Browser, address: str) -> None:
    """Let the server do what it does once."""
    page = browser.new_page()
    clock.first_paint(page, address)
    page.close()


def _asked(con: Connection, path: str, runs: Sequence[str]) -> float:
    """Return the median seconds that the page's main query takes."""
    sql, took = QUERIES.get(path, RESULTS), []
    for run in runs:
        began = time.perf_counter()
        query.select(con, sql, {"run": run} if "$run" in sql else {})
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _store(home: Path, count: int, runs: int) -> Path:
    """Return the store of the home, made if there is none."""
    store = home / "store"
    if query.current_snapshot(store) is None:
        ingest(records.write(home, count, runs=runs), store)
        changepoints.update(store, home / "state.sqlite")
    return store


def main() -> int:
    """Make the index if the home has none, and look at its pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="records and index are made here, and kept")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1095, help="one a day")
    parser.add_argument("--only", action="append", help="path of a page, as /speedup")
    parser.add_argument("--no-crowd", action="store_true", help="without the twenty readers")
    parsed = parser.parse_args()
    store = _store(parsed.home, parsed.records, parsed.runs)
    paths = parsed.only or list(harness.PATHS)
    with harness.running_browser() as browser:
        missed = _measured(browser, store, paths, parsed)
    change = f"p95 of a change {1e3 * CHANGE_AIM_S:.0f} ms or {CHANGE_RATIO} times the bare page's"
    opened = f"paint {FIRST_AIM_S} s, whole {WHOLE_AIM_S} s (Compare {WHOLE_COMPARE_AIM_S} s)"
    print(f"{missed} aims missed ({opened}, {change}, {MEMORY_AIM / 1e6:.0f} MB)")
    return int(missed > 0)


def _measured(browser: Browser, store: Path, paths: list[str], parsed: argparse.Namespace) -> int:
    """Print all lines; return how many aims were missed."""
    with harness.running_server(store, whole=True) as url:
        process = harness.process_of(url)
        with query.connect(query.current_snapshot(store) or store) as con, harness.serving(_bare_server) as alone:
            bare = Side(alone, harness.process_of(alone))
            missed = report(browser, Side(url, process), bare, paths, con)
        if not parsed.no_crowd:
            fresh = records.write(parsed.home / "fresh", 1000, runs=1, seed=int(time.time()))
            wrong = crowd.troubles(browser, url, paths, fresh[0], store)
            print("\n".join(wrong) or "no error")
            held = process.memory_info().rss
            print(f"server {held / 1e6:.0f} MB")
            missed += bool(wrong) + (held > MEMORY_AIM)
    return missed


if __name__ == "__main__":
    sys.exit(main())
