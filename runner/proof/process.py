"""The process of a timing proof: it times a known model as results are timed, and then looks at what it got."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from runner.messages import Load, Turn
from runner.process.measure import ExperimentMeasurement
from runner.proof.judge import STEPS, Repetition, judge, unknown
from runner.settings import Settings
from runner.verify.leaves import largest, leaves
from store.record import ExperimentConfig, Proof

SUITE, MODEL = "dummy", "dummy"
"""It takes floating inputs, is built in milliseconds, and its work grows with the batch."""
BATCH_OF_A_THREAD = 1024
BATCH_OF_A_DEVICE = 1 << 18
"""Work of milliseconds: far above what launching, cutting and waiting cost, so that these are not mistaken for it."""
REPETITIONS = 5
BLOCKS = 4
"""Blocks that are timed as for a result, in each repetition."""
SHORTEST_S = 0.03
"""Seconds of the shortest pass: long beside the clock and the scheduler's time slices, short enough to repeat."""
LONGEST = 16
"""Iterations of the shortest pass at most: a clock that leaves out the work would ask for thousands."""
VARIATION = 2.0**-10
"""Relative difference of the inputs of one iteration of a pass from those of the next."""
OPPOSITE = -1.0
"""Factor of the last iteration's inputs."""
EXACTNESS = 0.01
"""Largest error, as a share of a tensor's largest value. Compilers round by a hundredth of it."""


def prove(load: Load) -> Proof:
    """Time the proof's model by the experiment's backend, and compare with eager what is there when the clock stops."""
    load = _of_proof(load)
    timed = _Timed(ExperimentMeasurement(load))
    if not timed.warm_up():
        return unknown("the proof's model reached no steady state")
    shortest = min(max(1, round(SHORTEST_S / timed.iteration_s)), LONGEST)
    repetitions = [timed.repeat(shortest, number) for number in range(REPETITIONS)]
    if not all(repetition.reported_s > 0 for repetition in repetitions):
        return unknown("the proof's model was compiled again while it was timed")
    eager = _Timed(ExperimentMeasurement(_eager(load)))
    both = eager.made(OPPOSITE), eager.usual
    wanted, others = (eager.read(eager.measurement.timed.take([inputs])[1]) for inputs in both)
    wrong = next((name for output in timed.outputs if (name := first_difference(wanted, output)) is not None), None)
    return judge(shortest, repetitions, wrong, sees=first_difference(wanted, others) is not None)


def first_difference(wanted: Mapping[str, Any], outputs: Mapping[str, Any]) -> str | None:
    """Return the first tensor in which two results differ by more than compilers round, or None."""
    for name in dict.fromkeys([*wanted, *outputs]):
        old, new = wanted.get(name), outputs.get(name)
        if old is None or new is None or old.shape != new.shape:
            return name
        distance = (old.double() - new.double()).abs()
        if not bool((distance <= EXACTNESS * largest(old)).all()):  # not: NaN is different, too
            return name
    return None


class _Timed:
    """A loaded model whose iterations are timed as those of a result."""

    def __init__(self, measurement: ExperimentMeasurement) -> None:
        self.measurement = measurement
        measurement.load()
        self.usual = measurement.timed.inputs(1)[0]
        self._on_host = measurement.timed.runtime.to_host(self.usual)
        self._passed_n = 0
        """Iterations of the passes so far."""
        self.outputs: list[Mapping[str, Any]] = []
        """What could be read of the last iteration of each pass, right when its clock had stopped."""

    def warm_up(self) -> bool:
        """Compile and warm up; say whether there is a steady state."""
        self.measurement.first()
        return self.measurement.warm_up().steady

    @property
    def iteration_s(self) -> float:
        """Return seconds of an iteration in the last block."""
        return float(self.measurement.report().metrics["per_iter_time"][-1])

    def repeat(self, shortest: int, number: int) -> Repetition:
        """Take blocks as for a result, then the three passes."""
        self.measurement.turn(Turn(BLOCKS, number))
        report = self.measurement.report()
        kinds, rounds = report.blocks.kind, report.blocks.round
        times = [
            seconds
            for seconds, kind, round_number in zip(report.metrics["per_iter_time"], kinds, rounds, strict=True)
            if kind == "steady" and round_number == number
        ]
        passes = [self._pass(shortest * step) for step in STEPS]
        return Repetition(
            reported_s=sorted(times)[len(times) // 2] if times else 0.0,
            seconds=tuple(seconds for seconds, _ in passes),
            unfinished_s=tuple(unfinished for _, unfinished in passes),
        )

    def _pass(self, count: int) -> tuple[float, float]:
        """Time iterations; return their seconds, and how long the last output was still under way afterwards.

        No two of them have the same inputs, so that a step which looks up what it has computed before takes longer here
        than where it is timed as for a result. The last one's are of the opposite sign: its output is no earlier one.
        """
        numbers = range(self._passed_n + 1, self._passed_n + count)
        self._passed_n += count
        inputs = [*(self.made(1 + number * VARIATION) for number in numbers), self.made(OPPOSITE)]
        seconds, output = self.measurement.timed.take(inputs)
        began = time.perf_counter()
        values = self.read(output)
        first_s, began = time.perf_counter() - began, time.perf_counter()
        # The same once more: what reading itself costs.
        self.read(output)
        self.outputs.append(values)
        return seconds, first_s - (time.perf_counter() - began)

    def made(self, factor: float) -> Any:
        """Return new inputs on the device: the usual ones, times a factor."""
        from torch.utils import _pytree as pytree

        return self.measurement.timed.runtime.to_device(pytree.tree_map(lambda leaf: leaf * factor, self._on_host))

    def read(self, output: Any) -> dict[str, Any]:
        """Copy the output of the last iteration to the host, in train its gradients, too."""
        timed = self.measurement.timed
        values = leaves(timed.runtime.to_host(output), "the output")
        if timed.trains:
            for name, parameter in timed.workload.module.named_parameters():
                values |= leaves(parameter.grad, f"the gradient of {name}")
        return values


def _of_proof(load: Load) -> Load:
    """Return the same backend with the proof's model, without the experiment's other settings."""
    config, settings = load.config, load.settings
    threads = settings.threads or len(os.sched_getaffinity(0))
    proved = ExperimentConfig(
        suite_name=SUITE,
        model_name=MODEL,
        test=config.test,
        accelerator=config.accelerator,
        xla=config.xla,
        dynamo=config.dynamo,
        torch_xla2=config.torch_xla2,
        batch_size=BATCH_OF_A_THREAD * threads if config.accelerator == "cpu" else BATCH_OF_A_DEVICE,
    )
    settings = Settings(
        threads=settings.threads,
        seed=settings.seed,
        device_index=settings.device_index,
        raise_priority=settings.raise_priority,
        quiet=False,  # the scheduler looks at the whole process
    )
    return msgspec.structs.replace(load, config=proved, settings=settings, batch_size=proved.batch_size)


def _eager(load: Load) -> Load:
    """Return the same for eager, which a TPU does not have."""
    accelerator = "cpu" if load.config.accelerator == "tpu" else load.config.accelerator
    config = msgspec.structs.replace(load.config, xla=None, dynamo=None, torch_xla2=None, accelerator=accelerator)
    return msgspec.structs.replace(load, config=config)
