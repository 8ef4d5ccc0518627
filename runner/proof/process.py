"""The process of a timing proof: it times a known model as results are timed, and then looks at what it got."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
FACTORS = 1.0, 4.0
"""Limits of the factor by which the inputs of an iteration of a pass differ from the usual ones, of either sign: so far
apart that their outputs can be told apart."""
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
    wrong = next((f"{name} of the last iteration" for name in eager.differing(timed.outputs)), None)
    wrong = wrong or next((f"{name} of a timed iteration" for name in eager.differing(timed.sampled)), None)
    return judge(shortest, repetitions, wrong, sees=first_difference(*map(eager.of, (1.0, -1.0))) is not None)


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


@dataclass(kw_only=True)
class _Sampler:
    """The step as it is timed; what one of its next calls leaves is kept, which no backend can know of."""

    step: Callable[..., Any]
    keep: Callable[[Any], Any]
    """Returns what an iteration leaves, given its output."""
    kept: Any = None
    _left_n: int = 0

    def choose(self, call: int) -> None:
        """Keep what a call leaves: 0 is the next one."""
        self.kept, self._left_n = None, call + 1

    def __call__(self, args: Any, kwargs: Any) -> Any:
        output = self.step(args, kwargs)
        self._left_n -= 1
        if self._left_n == 0:
            self.kept = self.keep(output)
        return output


class _Timed:
    """A loaded model whose iterations are timed as those of a result."""

    def __init__(self, measurement: ExperimentMeasurement) -> None:
        self.measurement = measurement
        measurement.load()
        self._on_host = measurement.timed.runtime.to_host(measurement.timed.inputs(1)[0])
        self._random = random.SystemRandom()  # the others are seeded before each block
        self._sampler = _Sampler(step=measurement.timed.step, keep=self._left)
        measurement.timed.step = self._sampler
        self.outputs: list[tuple[float, Mapping[str, Any]]] = []
        """What could be read of the last iteration of each pass, right when its clock had stopped, and its factor."""
        self.sampled: list[tuple[float, Mapping[str, Any]]] = []
        """What other iterations left, of blocks and of passes."""

    def warm_up(self) -> bool:
        """Compile and warm up; say whether there is a steady state."""
        self.measurement.first()
        return self.measurement.warm_up().steady

    @property
    def iteration_s(self) -> float:
        """Return seconds of an iteration in the last block."""
        return float(self.measurement.report().metrics["per_iter_time"][-1])

    def repeat(self, shortest: int, number: int) -> Repetition:
        """Take blocks as for a result, then the three passes; look at an iteration of either."""
        self._sampler.choose(self._random.randrange(BLOCKS))
        self.measurement.turn(Turn(BLOCKS, number))
        self._take_sample(1.0)
        report = self.measurement.report()
        kinds, rounds = report.blocks.kind, report.blocks.round
        times = [
            seconds
            for seconds, kind, round_number in zip(report.metrics["per_iter_time"], kinds, rounds, strict=True)
            if kind == "steady" and round_number == number
        ]
        factors = [[self._drawn() for _ in range(shortest * step)] for step in STEPS]
        every = [factor for each in factors for factor in each]
        ends = set(itertools.accumulate(map(len, factors)))
        chosen = self._random.choice([place for place in range(len(every)) if place + 1 not in ends])
        self._sampler.choose(chosen)
        passes = [self._pass(each) for each in factors]
        self._take_sample(every[chosen])
        return Repetition(
            reported_s=sorted(times)[len(times) // 2] if times else 0.0,
            seconds=tuple(seconds for seconds, _ in passes),
            unfinished_s=tuple(unfinished for _, unfinished in passes),
        )

    def _drawn(self) -> float:
        return self._random.choice((-1.0, 1.0)) * self._random.uniform(*FACTORS)

    def _pass(self, factors: Sequence[float]) -> tuple[float, float]:
        """Time iterations; return their seconds, and how long the last output was still under way afterwards.

        No two of them have the same inputs, so that a step which looks up what it has computed before takes longer here
        than where it is timed as for a result, and its outputs are wrong if they are earlier ones.
        """
        seconds, output = self.measurement.timed.take([self.made(factor) for factor in factors])
        began = time.perf_counter()
        values = self.read(output)
        first_s, began = time.perf_counter() - began, time.perf_counter()
        # The same once more: what reading itself costs.
        self.read(output)
        self.outputs.append((factors[-1], values))
        return seconds, first_s - (time.perf_counter() - began)

    def _take_sample(self, factor: float) -> None:
        if self._sampler.kept is not None:  # a turn that compiles ends earlier
            self.sampled.append((factor, self._read(*self._sampler.kept)))

    def made(self, factor: float) -> Any:
        """Return new inputs on the device: the usual ones, times a factor."""
        from torch.utils import _pytree as pytree

        return self.measurement.timed.runtime.to_device(pytree.tree_map(lambda leaf: leaf * factor, self._on_host))

    def of(self, factor: float) -> Mapping[str, Any]:
        """Return what an iteration with these inputs leaves."""
        return self.read(self.measurement.timed.take([self.made(factor)])[1])

    def differing(self, outputs: Sequence[tuple[float, Mapping[str, Any]]]) -> Iterator[str]:
        """Yield the first tensor of each output that differs from what this model leaves."""
        for factor, values in outputs:
            if (name := first_difference(self.of(factor), values)) is not None:
                yield name

    def read(self, output: Any) -> dict[str, Any]:
        """Copy the output of the last iteration to the host, in train its gradients, too."""
        return self._read(output, self._gradients())

    def _read(self, output: Any, gradients: Mapping[str, Any]) -> dict[str, Any]:
        import torch
        from torch.utils import _pytree as pytree

        # A tensor without values is none.
        output, gradients = pytree.tree_map_only(
            torch.Tensor, lambda leaf: None if leaf.is_meta else leaf, (output, dict(gradients))
        )
        values = leaves(self.measurement.timed.runtime.to_host(output), "the output")
        for name, gradient in gradients.items():
            values |= leaves(gradient, f"the gradient of {name}")
        return values

    def _left(self, output: Any) -> tuple[Any, dict[str, Any]]:
        """Return the output of the last iteration and its gradients: copies, where the next one may overwrite them."""
        import torch
        from torch.utils import _pytree as pytree

        left = output, self._gradients()
        if self.measurement.timed.runtime.is_xla:
            return left
        return pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.detach().clone(), left)  # type: ignore[no-any-return]

    def _gradients(self) -> dict[str, Any]:
        timed = self.measurement.timed
        return {name: weight.grad for name, weight in timed.workload.module.named_parameters()} if timed.trains else {}


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
