"""What a run costs beside its measured work: total wall time, and the part outside every timed block.

Ours always; beside it PyTorch/XLA's `experiment_runner.py` on the same models, configurations and repeats where
$PYTORCH_XLA_DIR and $TORCHBENCH_DIR name checkouts (the peer finds torchbench and `benchmarks/dynamo/torchbench.yaml`
beside its own). `python tests/performance/overhead.py`
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("lennard_jones", "dcgan", "soft_actor_critic")
REPEAT = 5


@dataclass(frozen=True)
class Cost:
    """Wall seconds of one runner over `records` experiments, and the seconds inside its timed blocks."""

    name: str
    records: int
    wall_s: float
    measured_s: float

    @property
    def outside_s(self) -> float:
        return self.wall_s - self.measured_s

    def line(self) -> str:
        each = self.outside_s / self.records
        return (
            f"{self.name}: wall {self.wall_s:.1f} s, in timed blocks {self.measured_s:.1f} s, outside "
            f"{self.outside_s:.1f} s ({each:.2f} s per experiment, n = {self.records})"
        )


def cost(name: str, command: list[str], working: Path, output: Path) -> Cost:
    """Run a command that has to succeed, and read what it has written.

    Both runners keep every block in `total_time`, the first with its compilation included; work that a runner does
    inside a block is measured work, whatever it is.
    """
    began = time.perf_counter()
    subprocess.run(command, check=True, cwd=working, capture_output=True)
    wall = time.perf_counter() - began
    records = [json.loads(line) for line in (output / "results.jsonl").read_text().splitlines()]
    measured = sum(sum(record["metrics"].get("total_time", ())) for record in records)
    return Cost(name, len(records), wall, measured)


def ours(common: list[str], scratch: Path) -> Cost:
    """Measure our runner under the peer's preset."""
    output = scratch / "ours"
    command = [sys.executable, "-m", "xlabench", "run", *common, "--preset", "peer", "--home", str(scratch)]
    return cost("xlabench", [*command, "--output-dirname", str(output)], ROOT, output)


def main() -> None:
    """Print one line per runner, and the ratios."""
    peer, torchbench = os.environ.get("PYTORCH_XLA_DIR"), os.environ.get("TORCHBENCH_DIR")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if not peer or not torchbench:
            common = ["--suite-name", "dummy", "--accelerator", "cpu", "--repeat", str(REPEAT)]
            print(ours(common, scratch).line())
            print("peer: not measured; $PYTORCH_XLA_DIR and $TORCHBENCH_DIR name no checkouts")
            return
        filters = [word for model in MODELS for word in ("--filter", f"^{model}$")]
        common = ["--suite-name", "torchbench", "--accelerator", "cpu", "--repeat", str(REPEAT), *filters]
        command = [sys.executable, "experiment_runner.py", *common, "--output-dirname", str(scratch / "theirs")]
        theirs = cost("peer", command, Path(peer) / "benchmarks", scratch / "theirs")
        own = ours(common, scratch)
    print(theirs.line())
    print(own.line())
    print(
        f"ratio peer/xlabench: wall {theirs.wall_s / own.wall_s:.1f}, outside {theirs.outside_s / own.outside_s:.1f} "
        f"({len(MODELS)} models, 8 configurations, {REPEAT} repeats)"
    )


if __name__ == "__main__":
    main()
