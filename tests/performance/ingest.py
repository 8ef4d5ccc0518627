"""What ingest costs at a million real-shaped records, against DuckDB's own reader on the same files in the same run.

`python tests/performance/ingest.py [--records N] [--folder DIR]`; some minutes and 8 GB of disk at the default size.
The peer's `result_analyzer.py` and `aggregate.py` run beside it where $PYTORCH_XLA_DIR names a checkout.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from collections.abc import Mapping, Sequence

from store import query
from store.ingest import ingest
from tests.performance.store_parts import publication, records, reference
from tests.performance.store_parts.apart import Cost, cost

VALIDATED_LIMIT, REBUILD_LIMIT, SCRIPT_LIMIT = 4.0, 1.5, 2.0
RSS_LIMIT_BYTES = 1.5e9
NOTHING_NEW_LIMIT_S = 0.1
INDEX_LIMIT = 1 / 3
"""Size of the index over that of the lines."""
PEER_RECORDS = 20_000
PEER_LIMIT_S = 300


def _ingest(home: Path, store: Path, *, rebuild: bool = False) -> None:
    ingest([home / "runs"], store, rebuild=rebuild)


def _rebuild(home: Path, store: Path) -> None:
    _ingest(home, store, rebuild=True)


def _nothing_new(home: Path, store: Path) -> None:
    """The second of two, as the first of a process also imports."""
    _ingest(home, store)
    began = time.perf_counter()
    _ingest(home, store)
    print(f"nothing new: {time.perf_counter() - began:.3f} s (limit {NOTHING_NEW_LIMIT_S} s), files as they were")


def publication_of(folder: Path, count: int) -> None:
    """Print what one record more costs in an index of so many."""
    home, store = folder / f"home-{count}", folder / f"store-{count}"
    records.write(home, count, runs=max(1, count // 10_000), seed=1)
    cost(_ingest, home, store)
    cost(publication.one_more, home, store)


def _said(name: str, found: Cost, against: Mapping[str, Cost], limit: float | None = None) -> None:
    """Print a cost and its ratio to each reference; the limit is of the first one."""
    bound = f" (limit {limit})" if limit else ""
    ratios = ", ".join(
        f"{found.seconds / each.seconds:.2f} of {reference_name}{bound if place == 0 else ''}"
        for place, (reference_name, each) in enumerate(against.items())
    )
    print(
        f"{name}: {found.seconds:.2f} s, {ratios}; CPU {found.cpu_s:.1f} s, peak memory {found.rss_bytes / 1e9:.2f} GB",
        flush=True,
    )


def _size_said(store: Path, paths: Sequence[str]) -> None:
    index, lines = query.current_snapshot(store).stat().st_size, sum(Path(path).stat().st_size for path in paths)
    share = f"{index / lines:.1%} of the {lines / 1e6:.1f} MB of lines"
    print(f"index: {index / 1e6:.1f} MB, {share} (limit {INDEX_LIMIT:.1%})")


def measure(folder: Path, count: int) -> None:
    """Print every part."""
    home, store, scratch = folder / "home", folder / "store", folder / "reference.duckdb"
    runs = max(1, count // 10_000)
    paths = [str(each / "results.jsonl") for each in records.write(home, count, runs=runs, seed=1)]
    size = sum(Path(path).stat().st_size for path in paths)
    print(
        f"{count:,} records in {runs} runs, {size / 1e9:.2f} GB, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    bare = cost(reference.scan, paths)
    references = {each.__name__: cost(each, paths, scratch) for each in (reference.two_scans, reference.one_scan)}
    _said("bare scan of read_json", bare, references)
    for name, found in references.items():
        _said(f"reference, {name}", found, references)
    print(f"the reference's file: {scratch.stat().st_size / 1e6:.0f} MB")
    scratch.unlink()
    whole = cost(_ingest, home, store)
    _said("validated ingest", whole, references, VALIDATED_LIMIT)
    print(f"  against the bare scan: {whole.seconds / bare.seconds:.1f}; {count / whole.seconds:,.0f} records a second")
    again = cost(_rebuild, home, store)
    _said("rebuild of validated files", again, references, REBUILD_LIMIT)
    print(f"  against the bare scan: {again.seconds / bare.seconds:.1f}")
    _size_said(store, paths)
    print(f"peak memory {max(whole.rss_bytes, again.rss_bytes) / 1e9:.2f} GB (limit {RSS_LIMIT_BYTES / 1e9} GB)")
    cost(_nothing_new, home, store)
    cost(publication.one_more, home, store)


def beside_a_script(folder: Path, count: int) -> None:
    """Print what records of the peer, and our own, cost beside a plain script that reads them."""
    runs = max(1, count // 10_000)
    for name, home, write, seed in (
        ("the peer", folder / "peer-shaped", records.write_as_peer, 4),
        ("our own", folder / "own", _write_own, 5),
    ):
        paths, scratch = [str(path) for path in write(home, count, runs=runs, seed=seed)], folder / "script.duckdb"
        references = {"script": cost(reference.script, paths, scratch)}
        scratch.unlink()
        _said("reference, script", references["script"], references)
        store = folder / f"{home.name}-store"
        _said(f"{count:,} records of {name}", cost(_ingest, home, store), references, SCRIPT_LIMIT)
        _size_said(store, paths)


def _write_own(home: Path, count: int, *, runs: int, seed: int) -> list[Path]:
    return [run / "results.jsonl" for run in records.write(home, count, runs=runs, seed=seed)]


def small_files(folder: Path, files_n: int = 400, each_n: int = 23) -> None:
    """Print what many small files cost."""
    home = folder / "small"
    records.write(home, files_n * each_n, runs=files_n, seed=2)
    found = cost(_ingest, home, folder / "small-store")
    print(f"{files_n} runs of {each_n} records: {found.seconds:.2f} s, {found.seconds / files_n * 1e3:.1f} ms a run")


def peer(folder: Path) -> None:
    """Print what the peer's own tools cost on a size that they manage."""
    checkout = os.environ.get("PYTORCH_XLA_DIR")
    if not checkout:
        print("skipped: the peer's tools, because $PYTORCH_XLA_DIR names no checkout")
        return
    home, out = folder / "peer", folder / "peer-files"
    [run] = records.write(home, PEER_RECORDS, runs=1, seed=3)
    out.mkdir()
    theirs = (run / "results.jsonl").read_bytes().replace(b"Example CPU @ 2.60GHz", b"One of Tesla V100-SXM2-16GB, ")
    theirs = theirs.replace(b'"dynamo":', b'"torch_xla2":null,"dynamo":')
    (out / "results.jsonl").write_bytes(theirs)
    ours = cost(_ingest, home, folder / "peer-store")
    print(f"{PEER_RECORDS:,} records, ours: {ours.seconds:.2f} s")
    tools = Path(checkout) / "benchmarks"
    analyzer = [str(tools / "result_analyzer.py"), "--output-dirname", str(out), "--database", str(out / "db.csv")]
    aggregate = [str(tools / "aggregate.py"), str(out / "results.jsonl"), "--backends", "inductor", "openxla+dynamo"]
    for command in (analyzer, aggregate):
        _tool(command, ours.seconds)


def _tool(command: list[str], ours_s: float) -> None:
    name, began = Path(command[0]).name, time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=PEER_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"the peer's {name}: more than {PEER_LIMIT_S} s, more than {PEER_LIMIT_S / ours_s:.0f} times ours")
        return
    spent = time.perf_counter() - began
    how = "" if done.returncode == 0 else f", exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}"
    print(f"the peer's {name}: {spent:.2f} s, {spent / ours_s:.1f} times ours{how}")


def main() -> None:
    """Measure in a folder that is removed afterwards, or in the one named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder, removed)")
    parser.add_argument("--publication", action="store_true", help="only what one record more costs, at both sizes")
    parsed = parser.parse_args()
    if parsed.folder:
        Path(parsed.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parsed.folder) as made:
        folder = Path(made)
        publication_of(folder, parsed.records // 10)
        if parsed.publication:
            publication_of(folder, parsed.records)
            return
        measure(folder, parsed.records)
        beside_a_script(folder, parsed.records // 5)
        small_files(folder)
        peer(folder)


if __name__ == "__main__":
    main()
