"""Command lines of the TorchDynamo harness, run by the harness itself and by `python -m runner.dynamo`, in turns.

Each line measures one model under inductor beside eager. A row per line: wall seconds of both programs, the share of
it that is no timed block, and the speedup over eager that each of them wrote.
$DYNAMO_HARNESS_DIR names the folder of its `torchbench.py` and `common.py` (`benchmarks/dynamo` in a checkout of
pytorch, or the copy `userbenchmark/dynamo/dynamobench` in one of torchbench) that fits the installed torch, and
$TORCHBENCH_DIR a checkout of torchbench.
`python tests/performance/harness_peer.py [--repeat 30]`
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("lennard_jones", "dcgan", "soft_actor_critic")
MODES = ("--inference", "--training")
BATCH = {"dcgan": ("--batch-size", "32")}
"""At the harness's own batch of 256 an iteration takes a second, and both programs do little else."""


class Outcome(NamedTuple):
    """What one program took for a line, and what it found."""

    wall_s: float
    speedup: float


def outcome(command: list[str], working: Path, output: Path, **variables: str) -> Outcome:
    """Run a command that has to succeed, and read the row that it wrote."""
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "--output", str(output)],
        check=False,
        cwd=working,
        capture_output=True,
        text=True,
        env=os.environ | variables,
    )
    wall = time.perf_counter() - began
    if not output.exists():
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode} and wrote no row:\n{done.stderr[-2000:]}")
    with output.open(newline="") as file:
        row = next(csv.DictReader(file))
    return Outcome(wall, float(row["speedup"]))


def pair(words: list[str], harness: Path, torchbench: str, scratch: Path) -> tuple[Outcome, Outcome]:
    """Run one command line by the harness and by ours."""
    theirs = outcome(
        [sys.executable, "torchbench.py", *words],
        harness,
        scratch / "theirs.csv",
        PYTHONPATH=torchbench,
        TORCHINDUCTOR_CACHE_DIR=str(scratch / "cache"),
    )
    ours = outcome(
        [sys.executable, "-m", "runner.dynamo", "torchbench", *words],
        ROOT,
        scratch / "ours.csv",
        XLABENCH_HOME=str(scratch / "home"),
    )
    return theirs, ours


def main() -> int:
    """Print a row per command line, and the ratios of the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=30)
    parsed = parser.parse_args()
    harness, torchbench = os.environ.get("DYNAMO_HARNESS_DIR"), os.environ.get("TORCHBENCH_DIR")
    if not harness or not torchbench:
        print("the harness: not measured; $DYNAMO_HARNESS_DIR and $TORCHBENCH_DIR name no checkouts")
        return 0
    pairs = []
    print("model, mode: wall seconds harness / xlabench; speedup over eager harness / xlabench")
    for model in MODELS:
        for mode in MODES:
            words = ["--performance", mode, "--float32", "-dcpu", "--inductor", f"--repeat={parsed.repeat}"]
            words += ["--only", model, *BATCH.get(model, ())]
            with tempfile.TemporaryDirectory() as folder:
                theirs, ours = pair(words, Path(harness), torchbench, Path(folder))
            pairs.append((theirs, ours))
            print(
                f"{model} {mode.strip('-')}: {theirs.wall_s:.1f} / {ours.wall_s:.1f} s; "
                f"{theirs.speedup:.2f}x / {ours.speedup:.2f}x",
                flush=True,
            )
    walls = [theirs.wall_s / ours.wall_s for theirs, ours in pairs]
    agree = [ours.speedup / theirs.speedup for theirs, ours in pairs]
    total = sum(theirs.wall_s for theirs, _ in pairs) / sum(ours.wall_s for _, ours in pairs)
    print(
        f"ratio harness/xlabench: wall {total:.1f} in all, median {statistics.median(walls):.1f} "
        f"({min(walls):.1f} to {max(walls):.1f}); speedups ours/theirs median {statistics.median(agree):.2f} "
        f"({min(agree):.2f} to {max(agree):.2f}), n = {len(pairs)} command lines of {parsed.repeat} repeats"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
