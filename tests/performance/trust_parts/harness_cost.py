"""What a timed iteration costs over a bare loop: the same step, blocks of both in turn, in one process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from tests.performance.trust_parts.lab import ROOT

if TYPE_CHECKING:
    from tests.performance.trust_parts.lab import Lab

BLOCKS = 400
"""Of each kind; one thread, since it is the harness that is timed and not the pool of threads."""
_MEASURED = f"""
import json, sys, time
import torch
from runner.messages import Load, Settings
from runner.process.measure import Measurement
from store.record import ExperimentConfig

torch.set_num_threads(1)
names = {{"suite_name": "work", "model_name": "products", "test": "eval", "accelerator": "cpu"}}
config = ExperimentConfig(**names, xla=None, dynamo=None)
settings = Settings(threads=1)
process = Measurement(Load(config=config, settings=settings, batch_size=None, torchbench_dir=None, requested_at=0.0))
process.load()
process.first()
process.warm_up()
step = process._step
ours, bare = [], []
with torch.no_grad():
    for _ in range({BLOCKS}):
        ours.append(process._block().total_s)
        # As a block does: inputs of its own, made before the clock.
        args, kwargs = process._inputs.fresh(1, process._runtime)[0]
        began = time.perf_counter()
        step(args, kwargs)
        bare.append(time.perf_counter() - began)
print(json.dumps([ours, bare]))
"""


def gather(lab: Lab) -> None:
    """Take the blocks."""
    packages = lab.home / "one-millisecond"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "work_amount.py").write_text("STEPS = 18\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)]),
        "XLABENCH_SUITES": "tests.performance.trust_parts.work_suite:SUITE",
    }
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    (lab.home / "harness-cost.json").write_text(json.dumps(json.loads(done.stdout.splitlines()[-1])))


def tell(lab: Lab) -> list[str]:
    """Return the ratio of medians with its interval from a bootstrap over pairs of blocks."""
    ours, bare = (np.array(each) for each in json.loads((lab.home / "harness-cost.json").read_text()))
    chance = np.random.default_rng(1)
    chosen = chance.integers(0, len(ours), (2000, len(ours)))
    ratios = np.median(ours[chosen], axis=1) / np.median(bare[chosen], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    took, wanted = (statistics.median(each) * 1e3 for each in (ours, bare))
    return [
        f"A timed iteration takes {took:.4f} ms, in a bare loop {wanted:.4f} ms: ratio {took / wanted:.4f}",
        f"(95 % interval {low:.4f} to {high:.4f}, n = {len(ours)} blocks each, one thread).",
    ]
