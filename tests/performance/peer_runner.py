"""Wall time of PyTorch/XLA's `experiment_runner.py` and of ours on the same models, configurations and repeats.

Needs $PYTORCH_XLA_DIR and $TORCHBENCH_DIR (the peer finds torchbench and `benchmarks/dynamo/torchbench.yaml` beside
its checkout); says so and ends where they are missing. `python tests/performance/peer_runner.py`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("lennard_jones", "dcgan", "soft_actor_critic")
REPEAT = "5"


def timed(command: list[str], folder: Path) -> float:
    """Return the wall seconds of a command that has to succeed."""
    began = time.perf_counter()
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    return time.perf_counter() - began


def records(folder: Path) -> int:
    """Count what a runner has written."""
    return len((folder / "results.jsonl").read_text().splitlines())


def main() -> None:
    """Run the peer, then ours, and print both and the ratio."""
    peer, torchbench = os.environ.get("PYTORCH_XLA_DIR"), os.environ.get("TORCHBENCH_DIR")
    if not peer or not torchbench:
        print("peer runner: not measured; $PYTORCH_XLA_DIR and $TORCHBENCH_DIR name no checkouts")
        return
    filters = [word for model in MODELS for word in ("--filter", f"^{model}$")]
    common = ["--suite-name", "torchbench", "--accelerator", "cpu", "--repeat", REPEAT, *filters]
    with tempfile.TemporaryDirectory() as scratch:
        theirs, ours = Path(scratch) / "theirs", Path(scratch) / "ours"
        command = [sys.executable, "experiment_runner.py", *common, "--output-dirname", str(theirs)]
        peer_s = timed(command, Path(peer) / "benchmarks")
        command = [sys.executable, "-m", "xlabench", "run", *common, "--preset", "peer", "--home", scratch]
        own_s = timed([*command, "--output-dirname", str(ours)], ROOT)
        print(f"peer {peer_s:.0f} s for {records(theirs)} records, ours {own_s:.0f} s for {records(ours)}")
        print(f"ratio peer/ours {peer_s / own_s:.1f} ({len(MODELS)} models, 8 configurations, {REPEAT} repeats)")


if __name__ == "__main__":
    main()
