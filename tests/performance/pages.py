"""How long pages take in a browser on an index of a million records over three years.

For each page: the first paint and the time until it stands whole, of runs that nobody asked for before; the time that a
change of a filter takes, and the server's CPU time for it; beside them, in the same run, the page's main query through
a connection of its own. Then the memory of the server, and twenty readers who click while a run is ingested. Ends with
1 where an aim is missed.
`python tests/performance/pages.py --home DIR [--records N] [--runs R] [--only PATH] [--no-crowd]`
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

import harness  # noqa: E402 - as above

from store import changepoints, query  # noqa: E402 - the repository's own packages come first
from store.ingest import ingest  # noqa: E402
from tests.performance.page_parts import clock, crowd  # noqa: E402
from tests.performance.store_parts import records  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psutil
    from playwright.sync_api import Browser

    from store.query import Connection

OPENED = 5
"""Runs that each page is opened with."""
CHANGES = (
    *(("Test", "eval"), ("Backend", "inductor"), ("Backend", "openxla+dynamo"), ("Suite", "torchbench")),
    *(("Suite", "huggingface"), ("Model", "model_0001"), ("Model", "model_0002"), ("", "Clear filters")),
)
OF_MODEL = (("Backend", "inductor"), ("Backend", "eager"), ("Backend", "openxla+dynamo"))
"""The page of one model has its suite, model and test chosen."""
ROUNDS = 3
"""Times that all changes are made, each time on another run."""
FIRST_AIM_S, CHANGE_AIM_S, MEMORY_AIM = 2.0, 0.5, 700e6
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


class Figures(NamedTuple):
    """Seconds of one page: medians of its openings, quantiles of its changes, and its query."""

    painted: float
    whole: float
    change: float
    change_p95: float
    server: float
    """CPU time of the server for one change."""
    query: float


def figures(
    browser: Browser, url: str, path: str, runs: Iterator[str], con: Connection, process: psutil.Process
) -> Figures:
    """Open a page with several runs and change its filters."""
    opened, changed, asked, worked = [], [], [], []
    for turn in range(max(OPENED, ROUNDS)):
        run = next(runs)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        opened.append(clock.first_paint(page, f"{url}{path}?run={run}&{VIEWED.get(path, '')}"))
        if turn < ROUNDS:
            clock.watch(page)
            before = sum(process.cpu_times()[:2])
            made = OF_MODEL if path in VIEWED else CHANGES
            changed += [clock.choose(page, *each) if each[0] else clock.press(page, each[1]) for each in made]
            worked.append((sum(process.cpu_times()[:2]) - before) / len(made))
        page.close()
        began = time.perf_counter()
        query.select(con, QUERIES.get(path, RESULTS), {"run": run} if "$run" in QUERIES.get(path, RESULTS) else {})
        asked.append(time.perf_counter() - began)
    painted, whole = zip(*opened, strict=True)
    return Figures(
        painted=statistics.median(painted),
        whole=statistics.median(whole),
        change=statistics.median(changed),
        change_p95=statistics.quantiles(changed, n=20, method="inclusive")[-1],
        server=statistics.median(worked),
        query=statistics.median(asked),
    )


def report(browser: Browser, url: str, paths: list[str], con: Connection, process: psutil.Process) -> int:
    """Print one line per page; return how many aims were missed."""
    newest = iter(query.runs(con)["run_id"])
    warm = browser.new_page()
    clock.first_paint(warm, f"{url}/?run={next(newest)}")
    warm.close()
    print(f"{'page':14}  paint s  whole s  change ms   p95 ms   CPU ms  query ms     MB")
    missed = 0
    for path in paths:
        found = figures(browser, url, path, newest, con, process)
        held = process.memory_info().rss
        over = [found.whole > FIRST_AIM_S, found.change_p95 > CHANGE_AIM_S, held > MEMORY_AIM]
        missed += sum(over)
        times = f"{found.painted:8.2f} {found.whole:8.2f} {1e3 * found.change:10.0f} {1e3 * found.change_p95:8.0f}"
        mark = "  over" if any(over) else ""
        costs = f"{1e3 * found.server:8.0f} {1e3 * found.query:9.0f} {held / 1e6:6.0f}"
        print(f"{path:14} {times} {costs}{mark}", flush=True)
    return missed


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
    with harness.running_server(store) as url, harness.running_browser() as browser:
        process = harness.process_of(url)
        with query.connect(query.current_snapshot(store) or store) as con:
            missed = report(browser, url, paths, con, process)
        if not parsed.no_crowd:
            fresh = records.write(parsed.home / "fresh", 1000, runs=1, seed=int(time.time()))
            wrong = crowd.troubles(browser, url, paths, fresh[0], store)
            print("\n".join(wrong) or "no error")
            print(f"server {process.memory_info().rss / 1e6:.0f} MB")
            missed += bool(wrong)
    print(f"{missed} aims missed ({FIRST_AIM_S:.0f} s, {1e3 * CHANGE_AIM_S:.0f} ms, {MEMORY_AIM / 1e6:.0f} MB)")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
