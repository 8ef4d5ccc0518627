"""A model of one's own beside `torch.utils.benchmark`: time to the first answer, and whether the latencies agree.

Both measure the same module in eager mode, in turns, each time in a new interpreter; with one thread and at the same
priority, so that what else runs disturbs both alike.
`python tests/performance/own_model.py`
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5
MODEL = """
import torch

class MyNet(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512))
    def example_inputs(self):
        return torch.rand(64, 512)
"""
PEER = """
import torch
from torch.utils import benchmark
from mymodel import MyNet

net = MyNet().eval()
rows = net.example_inputs()
with torch.no_grad():
    timer = benchmark.Timer("net(rows)", globals={"net": net, "rows": rows}, num_threads=1)
    print(timer.blocked_autorange(min_run_time=1).median)
"""


def ours(folder: Path) -> tuple[float, float, float]:
    """Return the latency, the seconds until the first number was said, and until the end."""
    home = folder / f"home-{time.monotonic_ns()}"
    command = [sys.executable, "-m", "xlabench", "run", "mymodel.py", "--backend", "eager", "--quick", "--no-verify"]
    command += ["--threads", "1", "--own-priority"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--iterations-per-run", "20", "--home", str(home)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    first = next(time.perf_counter() - began for line in process.stderr if line.startswith("[1/"))
    process.stderr.read()
    assert process.wait() == 0
    [file] = home.glob("runs/*/results.jsonl")
    metrics = json.loads(file.read_text())
    kinds = metrics["measurement"]["blocks"]["kind"]
    times = [each for each, kind in zip(metrics["metrics"]["per_iter_time"], kinds, strict=True) if kind == "steady"]
    return statistics.median(times), first, time.perf_counter() - began


def theirs(folder: Path) -> tuple[float, float]:
    """Return the latency, and the seconds until it was said."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", PEER], cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout), time.perf_counter() - began


def main() -> None:
    """Print latencies with their range, their ratio, and the times to an answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mymodel.py").write_text(MODEL)
        pairs = [(ours(folder), theirs(folder)) for _ in range(ROUNDS)]
    for title, values in (
        ("xlabench", [own[0] for own, _ in pairs]),
        ("torch.utils.benchmark", [peer[0] for _, peer in pairs]),
    ):
        least, most = min(values) * 1e3, max(values) * 1e3
        print(f"{title}: {statistics.median(values) * 1e3:.3f} ms ({least:.3f} to {most:.3f}, n = {ROUNDS})")
    ratios = [own[0] / peer[0] for own, peer in pairs]
    print(f"latency, ours over theirs: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    first, end = (statistics.median(own[index] for own, _ in pairs) for index in (1, 2))
    peer_s = statistics.median(peer[1] for _, peer in pairs)
    print(
        f"first number: ours after {first:.1f} s, table after {end:.1f} s; theirs after {peer_s:.1f} s (n = {ROUNDS})"
    )


if __name__ == "__main__":
    main()
