"""What a timed iteration costs over a bare loop: the same step, blocks of each kind in turn, in one process."""

import json
import os
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from tests.performance.trust_parts.trials import ROOT, Trials

_Times = np.ndarray[tuple[int], np.dtype[np.float64]]
BLOCKS = 400
"""Of each kind; one thread, since it is the harness that is timed and not the pool of threads."""
_FILE = "harness-cost.json"
_SCRIPT = "tests.performance.trust_parts.timed_and_bare"


def gather(trials: Trials) -> None:
    """Take the blocks."""
    packages = trials.home / "one-millisecond"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "work_amount.py").write_text("STEPS = 27\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)]),
        "XLABENCH_SUITES": "tests.performance.trust_parts.work_suite:SUITE",
    }
    command = [sys.executable, "-m", _SCRIPT, str(BLOCKS)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    taken = json.loads(done.stdout.splitlines()[-1])
    origin = (
        f"Measured on {datetime.now(UTC):%Y-%m-%d, %H:%M} UTC, on {os.cpu_count()} cores, torch {version('torch')}, "
        f"at a load average of {os.getloadavg()[0]:.1f}; {BLOCKS} blocks of each kind, one thread."
    )
    (trials.home / _FILE).write_text(json.dumps({"origin": origin, "taken": taken}))


def tell(trials: Trials) -> list[str]:
    """Return the ratios of medians, with their intervals from a bootstrap over rounds of blocks."""
    kept = json.loads((trials.home / _FILE).read_text())
    taken = {name: np.array(each) for name, each in kept["taken"].items()}
    timed, bare = (statistics.median(taken[name]) * 1e3 for name in ("timed", "bare"))
    against = {name: _ratio(taken["timed"], taken[name]) for name in ("bare", "seeded")}
    return [
        kept["origin"],
        "",
        (
            f"A timed iteration takes {timed:.4f} ms, in a bare loop {bare:.4f} ms: {against['bare']}. "
            "Compared with a bare loop that resets the random streams before its clock, too, which cools the caches: "
            f"{against['seeded']}."
        ),
    ]


def _ratio(timed: _Times, bare: _Times) -> str:
    chance = np.random.default_rng(1)
    chosen = chance.integers(0, len(timed), (2000, len(timed)))
    ratios = np.median(timed[chosen], axis=1) / np.median(bare[chosen], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return f"ratio {np.median(timed) / np.median(bare):.4f} (95 % interval {low:.4f} to {high:.4f})"
