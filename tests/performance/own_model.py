"""A model of one's own beside `torch.utils.benchmark` and hyperfine: time to the first answer, and equal latencies.

All measure the same module in eager mode, in turns, each time in a new interpreter; with one thread and at the same
priority, so that what else runs disturbs all alike. hyperfine, where it is installed, times a whole program with few
and with many iterations; the latency is the slope.
`python tests/performance/own_model.py`
"""

import json
import os
import shlex
import shutil
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
LOOP = """
import sys

import torch
from mymodel import MyNet

torch.set_num_threads(1)
net = MyNet().eval()
rows = net.example_inputs()
with torch.no_grad():
    for _ in range(int(sys.argv[1])):
        net(rows)
"""
FEW, MANY = 50, 550


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


def by_hyperfine(folder: Path) -> float:
    """Return the seconds of an iteration: what a program with more of them takes longer."""
    (folder / "loop.py").write_text(LOOP)
    commands = [shlex.join([sys.executable, "loop.py", str(count)]) for count in (FEW, MANY)]
    words = ["hyperfine", "--shell=none", "--runs=3", "--warmup=1", "--export-json=times.json", *commands]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    few, many = (each["median"] for each in json.loads((folder / "times.json").read_text())["results"])
    return float((many - few) / (MANY - FEW))


def main() -> None:
    """Print latencies with their range, their ratio, and the times to an answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mymodel.py").write_text(MODEL)
        rounds = [_round(folder) for _ in range(ROUNDS)]
    pairs = [(own, peer) for own, peer, _ in rounds]
    slopes = [slope for _, _, slope in rounds if slope is not None]
    for title, values in (
        ("xlabench", [own[0] for own, _ in pairs]),
        ("torch.utils.benchmark", [peer[0] for _, peer in pairs]),
        *([("hyperfine", slopes)] if slopes else []),
    ):
        least, most = min(values) * 1e3, max(values) * 1e3
        print(f"{title}: {statistics.median(values) * 1e3:.3f} ms ({least:.3f} to {most:.3f}, n = {ROUNDS})")
    ratios = [own[0] / peer[0] for own, peer in pairs]
    print(f"latency, ours over torch.utils.benchmark: {_range(ratios)}")
    if slopes:
        by_slope = [own[0] / slope for (own, _), slope in zip(pairs, slopes, strict=True)]
        print(f"latency, ours over hyperfine: {_range(by_slope)}")
    first, end = (statistics.median(own[index] for own, _ in pairs) for index in (1, 2))
    peer_s = statistics.median(peer[1] for _, peer in pairs)
    print(
        f"first number: ours after {first:.1f} s, table after {end:.1f} s; theirs after {peer_s:.1f} s (n = {ROUNDS})"
    )


def _round(folder: Path) -> tuple[tuple[float, float, float], tuple[float, float], float | None]:
    return ours(folder), theirs(folder), by_hyperfine(folder) if shutil.which("hyperfine") else None


def _range(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


if __name__ == "__main__":
    main()
