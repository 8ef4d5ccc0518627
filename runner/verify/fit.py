"""What a verification can afford: the time of its copies, and the memory of the one in float64."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import psutil

from runner import failure
from runner.process import own_process
from runner.settings import Settings
from runner.verify.compare import Expected, compare
from runner.verify.copies import ComparedSize, Copies, NotBuilt, Results
from runner.verify.judge import TensorRule
from runner.verify.preparation import NotSplittable
from store.errors import Signal

T = TypeVar("T")

_SHARE = 0.5
"""Share of the process's time limit by which the planned work must be done."""
_PER_ITERATION = 6
"""Iterations of eager that one compared iteration costs: eager once more, the backend, float64 four times as slow."""
_DOUBLE = 2.2
"""Times eager's memory that float64 takes."""
_FREE = 0.9
"""Share of the available memory that float64 may take."""
_MOST_PARTS = 64
_SAME = 1e-5
"""Eager in parts has to agree with eager as a whole by this tolerance."""


class TooLarge(Signal):
    """Eager or float64 cannot run at this batch size; `error` is its failure, if it was tried."""

    def __init__(self, message: str, batch_size: int | None, error: Exception | None = None) -> None:
        super().__init__(message)
        self.batch_size = batch_size
        self.error = error


@dataclass(frozen=True, kw_only=True)
class FitLimits:
    """Time and memory of one verification."""

    began: float
    seconds: float
    memory_bytes: int | None
    """What the process may hold (`--memory-limit`)."""

    @classmethod
    def of(cls, settings: Settings, began: float) -> FitLimits:
        """Return those of a run; `began` is when the verification did, by `time.perf_counter`."""
        return cls(began=began, seconds=_SHARE * settings.timeout_s, memory_bytes=settings.memory_limit_bytes)

    def measured(self, step: Callable[[], T]) -> tuple[T, int]:
        """Do something and say how many bytes it took at its peak; 0 if it took none of the host's memory."""
        own_process.reset_peak()
        before = own_process.resident_bytes()
        done = step()
        return done, max(0, own_process.peak_bytes() - before)

    def iterations(self, seconds: list[float]) -> int:
        """Return how many of eager's iterations, of such lengths, can be compared."""
        shortest = min(seconds)
        left = self.seconds - (time.perf_counter() - self.began) - shortest  # the disturbed copy has one
        fitting = int(left / (_PER_ITERATION * shortest)) if shortest > 0 else len(seconds)
        return max(0, min(fitting, len(seconds)))

    def bytes_left(self) -> int:
        """Return what the process may still take."""
        available = int(psutil.virtual_memory().available)
        if self.memory_bytes is not None:
            available = min(available, self.memory_bytes - own_process.resident_bytes())
        return int(_FREE * max(0, available))


def is_out_of_memory(error: Exception) -> bool:
    """Say whether a copy failed for want of memory, in building it or in running it."""
    cause = error.__cause__ if isinstance(error, NotBuilt) and error.__cause__ else error
    return failure.status_of("verify", cause) == "oom"


def smaller(copies: Copies, batch_size: int | None) -> ComparedSize | None:
    """Return the next smaller size: the table's batch, then half of it, and so on, down to the table's fewest samples.

    Batch normalization in train refuses a single sample, which would say nothing about the backend.
    """
    batch = batch_size or copies.timed_batch_size
    if batch is None or batch <= 1:
        return None
    most = copies.criteria.most_samples
    wanted = most if batch > most else batch // 2
    if wanted < copies.criteria.least_samples:
        return None
    return replace(copies.size, batch_size=wanted, iterations=copies.load.settings.verify_iterations)


def double(
    copies: Copies, eager: Results, taken_bytes: int, limits: FitLimits, notes: list[str]
) -> tuple[list[dict[str, Any]], int]:
    """Return float64's leaves by iteration, and in how many parts of the batch they were computed.

    Only what does not fit is computed in parts, and only where eager in parts is the same as eager as a whole.

    Raises:
        TooLarge: it fits neither way.
    """
    error: Exception | None = None
    if copies.load.config.accelerator not in ("cpu", "tpu") or _DOUBLE * taken_bytes <= limits.bytes_left():
        try:
            leaves = copies.double(once=eager.stateless).leaves
            return leaves * (len(eager.leaves) // len(leaves)), 1
        except Exception as raised:
            if not is_out_of_memory(raised):
                raise
            error = raised
    in_parts = _in_parts(copies, eager)
    if in_parts is None:
        raise TooLarge("float64 does not fit into memory", eager.batch_size, error)
    leaves, parts_n = in_parts
    notes.append(
        f"float64 does not fit into memory, so it was computed in {parts_n} parts; eager gives the same in these parts"
    )
    return leaves * len(eager.leaves), parts_n


def _in_parts(copies: Copies, eager: Results) -> tuple[list[dict[str, Any]], int] | None:
    """Compute float64 in more and more parts; None where that does not help, or differs from the whole.

    A loss is over all samples, so training is never computed so; a model that remembers its calls is not, either.
    """
    samples = eager.batch_size
    if copies.load.config.test == "train" or samples is None or not eager.stateless:
        return None
    parts_n = 2
    while parts_n <= min(samples, _MOST_PARTS):
        try:
            same = Expected(eager=eager.leaves[:1], double=None, rule=TensorRule(tolerance=_SAME))
            if not compare(same, copies.eager(parts_n=parts_n).leaves).passed:
                return None
            return copies.double(parts_n).leaves, parts_n
        except NotSplittable:
            return None
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        parts_n *= 2
    return None
