"""How long the questions of pages and reports take on an index of a million records.

Each is asked 20 times through the readers' connection, its rows brought into a frame as pages do; prints p50, p95 and
the ratio to a raw scan of the table that it goes over, in the same run, for the slowest. Ends with 1 where a p95 is
over the aim.
`python tests/performance/queries.py --home DIR [--records N] [--runs R] [--only TEXT]`
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from store import changepoints, query
from store.ingest import ingest
from store.query import Connection
from tests.performance.store_parts import benchmark_queries, records

TIMES = 20
AIM_S = 0.3
SHOWN = 12
"""Questions that are printed, the slowest first; with --only, all."""
CALIBRATION_RECORDS = 20_000
SCANS = {
    "result_rows": "SELECT count(run_id), count(model), max(run_started), sum(latency_s) FROM result_rows",
    "records": "SELECT count(run_id), count(model), max(run_started), sum(latency_s) FROM records",
    "record_fallback_ops": "SELECT count(record_id), count(op), sum(calls_per_iteration) FROM record_fallback_ops",
    "record_graph_breaks": "SELECT count(record_id), count(reason), sum(count) FROM record_graph_breaks",
    "record_findings": "SELECT count(record_id), count(code) FROM record_findings",
    "record_graphs": "SELECT count(record_id), count(fingerprint), sum(ops) FROM record_graphs",
}
"""The reference: one pass over four columns of the table that a question goes over."""


def seconds(con: Connection, sql: str, params: dict[str, Any]) -> list[float]:
    """Return the times of all executions in order, without the first one, which reads the file."""
    found = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        query.select(con, sql, params)
        found.append(time.perf_counter() - began)
    return found[1:]


def p95(values: list[float]) -> float:
    """Return the 95 % quantile: of twenty the second largest, nearly."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def report(con: Connection, only: str) -> int:
    """Print a line for each of the slowest questions; return how many of all were over the aim."""
    scans = {table: statistics.median(seconds(con, sql, {})) for table, sql in SCANS.items()}
    print("raw scans: " + ", ".join(f"{table} {1e3 * each:.1f} ms" for table, each in scans.items()))
    print(f"{'question':32} {'rows':>6} {'p50 ms':>8} {'p95 ms':>8} {'p50 / scan':>11}")
    lates: dict[str, float] = {}
    lines: dict[str, str] = {}
    for ask in benchmark_queries.asks(con):
        if only in ask.name:
            rows, times = len(query.select(con, ask.sql, ask.params)), seconds(con, ask.sql, ask.params)
            middle, late = statistics.median(times), p95(times)
            lates[ask.name] = late
            mark = "  over" if late > AIM_S else ""
            lines[ask.name] = (
                f"{ask.name:32} {rows:6} {1e3 * middle:8.1f} {1e3 * late:8.1f} {middle / scans[ask.table]:11.1f}{mark}"
            )
    over = sum(late > AIM_S for late in lates.values())
    ordered = sorted(lates, key=lambda name: -lates[name])
    for name in ordered if only else ordered[:SHOWN]:
        print(lines[name])
    for slowest in ordered[:1]:
        print(f"slowest p95: {slowest} {1e3 * lates[slowest]:.1f} ms; {over} of {len(lates)} over {1e3 * AIM_S:.0f} ms")
    return over


def _calibrations(home: Path) -> list[Path]:
    """Write runs that measured experiments against themselves: what noise floors rest on."""
    folders = records.write(home / "calibrations", CALIBRATION_RECORDS, runs=5, seed=1)
    for folder in folders:
        lines, facts = folder / "results.jsonl", folder / "run.json"
        lines.write_text(lines.read_text().replace('"purpose":"benchmark"', '"purpose":"calibration"'))
        facts.write_text(facts.read_text().replace('"settings":{', '"settings":{"purpose":"calibration",'))
    return folders


def main() -> int:
    """Make the index if the home has none, and ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="records and index are made here, and kept")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", default="", help="questions whose name has this text")
    parsed = parser.parse_args()
    store = parsed.home / "store"
    if query.current_snapshot(store) is None:
        ingest([*records.write(parsed.home, parsed.records, runs=parsed.runs), *_calibrations(parsed.home)], store)
    changepoints.update(store, parsed.home / "state.sqlite")
    with query.connect(query.current_snapshot(store) or store) as con:
        [(records_n,)] = con.execute("SELECT count(*) FROM records").fetchall()
        [(threads,)] = con.execute("SELECT current_setting('threads')").fetchall()
        print(f"{records_n} records, {threads} threads, {TIMES} executions each")
        over = report(con, parsed.only)
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
