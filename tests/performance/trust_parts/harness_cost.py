"""What a timed iteration costs over a bare loop: the same step, blocks of each kind in turn, in one process."""

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

_Times = np.ndarray[tuple[int], np.dtype[np.float64]]
BLOCKS = 400
"""Of each kind; one thread, since it is the harness that is timed and not the pool of threads."""
_MEASURED = f"""
import json, sys, time
import torch
from runner.messages import Load
from runner.settings import Settings
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
timed = process.timed
step = timed.step


def bare(prepare):
    # As a block does: inputs of its own, made before the clock.
    args, kwargs = timed.inputs(1)[0]
    prepare()
    began = time.perf_counter()
    step(args, kwargs)
    return time.perf_counter() - began


def seed():
    timed.seed_host()
    timed.runtime.seed(settings.seed)


taken = {{"timed": [], "bare": [], "seeded": []}}
with torch.no_grad():
    for _ in range({BLOCKS}):
        taken["timed"].append(timed.block(1).total_s)
        taken["bare"].append(bare(lambda: None))
        taken["seeded"].append(bare(seed))
print(json.dumps(taken))
"""


def gather(lab: Lab) -> None:
    """Take the blocks."""
    packages = lab.home / "one-millisecond"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "work_amount.py").write_text("STEPS = 27\n")
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
    """Return the ratios of medians, with their intervals from a bootstrap over rounds of blocks."""
    taken = {name: np.array(each) for name, each in json.loads((lab.home / "harness-cost.json").read_text()).items()}
    timed, bare = (statistics.median(taken[name]) * 1e3 for name in ("timed", "bare"))
    against = {name: _ratio(taken["timed"], taken[name]) for name in ("bare", "seeded")}
    return [
        f"A timed iteration takes {timed:.4f} ms, in a bare loop {bare:.4f} ms: {against['bare']}.",
        f"Against a bare loop that resets the random streams before its clock, too: {against['seeded']}.",
        f"(n = {len(taken['timed'])} blocks each, one thread.)",
    ]


def _ratio(timed: _Times, bare: _Times) -> str:
    chance = np.random.default_rng(1)
    chosen = chance.integers(0, len(timed), (2000, len(timed)))
    ratios = np.median(timed[chosen], axis=1) / np.median(bare[chosen], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return f"ratio {np.median(timed) / np.median(bare):.4f} (95 % interval {low:.4f} to {high:.4f})"
