"""Whether steps that wait by themselves are kept at their true share: `python tests/performance/planted.py`.

Three models are slow in 30 % of their iterations, for a reason of their own: the step sleeps, another of its threads
holds a lock, or it has one thread more than the machine has cores. On an idle machine, no such block may count as
disturbed. The script prints how many of the blocks that the rule keeps are slow; with `--loops N`, next to N busy
loops, where the third model waits as it would for another program.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.performance.crowded import LOOP, beside

BLOCKS = 40
MODELS = '''
import hashlib
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch


class Planted(torch.nn.Module):
    """Steps of about ten milliseconds, of which three in ten wait, drawn at random."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(512, 512))
        self.draws = random.Random(7)

    def forward(self, rows):
        if self.draws.random() < 0.3:
            self.wait()
        for _ in range(8):
            rows = torch.tanh(rows @ self.weight)
        return rows

    def example_inputs(self):
        return torch.rand(512, 512)


class Sleeps(Planted):
    def wait(self):
        time.sleep(0.05)


class Lock(Planted):
    """Another thread holds the lock while it works."""

    def __init__(self):
        super().__init__()
        self.lock, self.asked, self.held = threading.Lock(), threading.Event(), threading.Event()
        threading.Thread(target=self.hold, daemon=True).start()

    def hold(self):
        data = bytes(40_000_000)
        while True:
            self.asked.wait()
            self.asked.clear()
            with self.lock:
                self.held.set()
                hashlib.sha256(data).digest()

    def wait(self):
        self.asked.set()
        self.held.wait()
        self.held.clear()
        with self.lock:
            pass


class OneMoreThread(Planted):
    """Each thread hashes as many bytes, which needs no lock of the interpreter."""

    def __init__(self):
        super().__init__()
        self.data, self.count = bytes(40_000_000), len(os.sched_getaffinity(0)) + 1
        self.pool = ThreadPoolExecutor(self.count)
        list(self.pool.map(lambda _: time.sleep(0.05), range(self.count)))

    def wait(self):
        list(self.pool.map(lambda _: hashlib.sha256(self.data).digest(), range(self.count)))
'''


def measured(name: str, folder: Path) -> dict:
    """Measure one of the models in eager; return its record."""
    out = folder / name
    command = [sys.executable, "-m", "xlabench", "run", f"{folder / 'planted.py'}:{name}", "--backend", "eager"]
    command += ["--test", "eval", "--processes", "1", "--repeat", str(BLOCKS), "--no-verify", "--no-ingest"]
    command += ["--home", str(folder / "home"), "--output-dirname", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads((out / "results.jsonl").read_text().splitlines()[0])


def row(name: str, record: dict) -> list:
    """Return what the rule keeps of a model, and what was there."""
    blocks = record["measurement"]["blocks"]
    times = list(zip(record["metrics"]["total_time"], blocks["kind"], strict=True))
    timed = [time for time, kind in times if kind in ("steady", "disturbed")]
    kept = [time for time, kind in times if kind == "steady"]
    slow = 2 * statistics.median(timed)
    turns = record["measurement"]["quiet"]["turns"] if "quiet" in record["measurement"] else {}
    lost = sum(reason is not None for reason in turns.get("reason", []))
    return [
        name,
        record["status"],
        f"{sum(time > slow for time in timed)} of {len(timed)}",
        f"{sum(time > slow for time in kept)} of {len(kept)}",
        f"{lost} of {len(turns.get('reason', []))}",
        f"{max(timed) / statistics.median(timed):.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=0, help="busy loops next to the runs (default: none)")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        (folder / "planted.py").write_text(MODELS)
        stack.enter_context(beside((LOOP,) * parsed.loops))
        rows = [row(name, measured(name, folder)) for name in ("Sleeps", "Lock", "OneMoreThread")]
    print(f"{parsed.loops} busy loops, load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores")
    headers = ["model", "status", "slow blocks, measured", "slow blocks, kept", "disturbed turns", "slowest / median"]
    print(tabulate(rows, headers=headers))


if __name__ == "__main__":
    main()
