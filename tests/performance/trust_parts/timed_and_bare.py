"""Time one step in xlabench's blocks and in bare loops, in turn: `… -m tests.performance.trust_parts.timed_and_bare N`.

It prints seconds of the N blocks of each kind as one line of JSON. The environment brings the suite `work`.
"""

import json
import sys
import time
from collections.abc import Callable

import torch

from runner.messages import Load
from runner.process.measure import ExperimentMeasurement
from runner.settings import Settings
from store.record import ExperimentConfig


def main(blocks: int) -> None:
    """Take the blocks; one thread, since the harness is timed and not the pool of threads."""
    torch.set_num_threads(1)
    config = ExperimentConfig(
        suite_name="work", model_name="products", test="eval", accelerator="cpu", xla=None, dynamo=None
    )
    settings = Settings(threads=1)
    process = ExperimentMeasurement(
        Load(config=config, settings=settings, batch_size=None, torchbench_dir=None, requested_at=0.0)
    )
    process.load()
    process.first()
    process.warm_up()
    timed = process.timed

    def bare(prepare: Callable[[], None]) -> float:
        # As a block does: inputs of its own, made before the clock.
        args, kwargs = timed.inputs(1)[0]
        prepare()
        began = time.perf_counter()
        timed.step(args, kwargs)
        return time.perf_counter() - began

    def seed() -> None:
        timed.seed_host()
        timed.runtime.seed(settings.seed)

    taken: dict[str, list[float]] = {"timed": [], "bare": [], "seeded": []}
    with torch.no_grad():
        for _ in range(blocks):
            taken["timed"].append(timed.block(1).total_s)
            taken["bare"].append(bare(lambda: None))
            taken["seeded"].append(bare(seed))
    print(json.dumps(taken))


if __name__ == "__main__":
    main(int(sys.argv[1]))
