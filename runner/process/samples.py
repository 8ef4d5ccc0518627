"""What a process has measured: its samples, when they are steady, and when there are enough of them (pure)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from runner.settings import Settings
from runner.workload import Counters
from store.record import BlockKind, Blocks, Until
from store.stats.median import half_width

IN_STEADY_STATE = ("steady", "disturbed")
"""Kinds of the blocks that ran the compiled program as it stays; what counts calls takes both, what times the first."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One timed block; times in seconds for all its iterations together.

    Where it repeats its iterations in an inner loop, times and counts are those of one repetition, on average.
    """

    total_s: float
    trace_s: float | None
    compiles: int | None
    executions: int | None
    compile_s: float | None
    execute_s: float | None
    fallback_calls: dict[str, int]
    graphs: int | None = None
    device_reads: int | None = None
    transfers: dict[str, float] = field(default_factory=dict)
    """End of a metric's name, such as `TransferToDevice_bytes` → its value."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds of the parts of a step, if it times them."""
    inner_loops: int = 1
    wait_s: float | None = None
    """What the thread that waited most waited for a core meanwhile, over all repetitions; None where unknown."""
    wait_all_s: float | None = None
    dispatched: int | None = None
    """How often the thread got a core that got one most often."""

    @property
    def spent_s(self) -> float:
        """Return what the whole block took."""
        return self.total_s * self.inner_loops

    @property
    def changes(self) -> int:
        """Compilations and new graphs: a steady block has none. A trace can be new and its program be known."""
        return (self.compiles or 0) + (self.graphs or 0)


@dataclass
class Samples:
    """Blocks in the order they were taken, each with its kind and its round."""

    iterations_per_run: int
    blocks: list[Block] = field(default_factory=list)
    kinds: list[BlockKind] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)

    def add(self, block: Block, kind: BlockKind, round_number: int) -> None:
        self.blocks.append(block)
        self.kinds.append("first" if not self.blocks[1:] else kind)
        self.rounds.append(round_number)

    def spoil_steady(self) -> None:
        """Turn steady blocks into warm-up: a compilation among them shows that they were none."""
        self.kinds = ["warmup" if kind in ("steady", "disturbed") else kind for kind in self.kinds]

    def label(self, turns: Sequence[range], disturbed: Collection[int]) -> int:
        """Label the blocks of each turn as disturbed or steady; return how many are steady.

        Args:
            turns: the blocks of each turn, as ranges of indices.
            disturbed: the turns whose blocks are disturbed.
        """
        for turn, blocks in enumerate(turns):
            for index in blocks:
                self.kinds[index] = "disturbed" if turn in disturbed else "steady"
        return self.kinds.count("steady")

    @property
    def times(self) -> list[float]:
        return [block.total_s for block in self.blocks]

    @property
    def changes(self) -> list[int]:
        return [block.changes for block in self.blocks]

    def of_record(self, rewarm_times: list[float]) -> Blocks:
        """Return what the record keeps of the blocks; seconds of those at the begin of turns are handed on."""
        loops = [block.inner_loops for block in self.blocks]
        return Blocks(
            kind=self.kinds,
            compiles=[block.compiles for block in self.blocks],
            executions=[block.executions for block in self.blocks],
            round=self.rounds,
            inner_loops=loops if any(count > 1 for count in loops) else [],
            rewarm_time=rewarm_times,
            wait_s=[block.wait_s for block in self.blocks],
            wait_all_s=[block.wait_all_s for block in self.blocks],
        )

    def of_kind(self, *kinds: str) -> list[Block]:
        return [block for block, kind in zip(self.blocks, self.kinds, strict=True) if kind in kinds]

    def metrics(self) -> dict[str, list[float]]:
        """Return the peer's metric lists, one number per block.

        Trace time is left out where the step itself reads from the device: it contains execution then.
        """
        per_run = self.iterations_per_run
        result = {"total_time": self.times, "per_iter_time": [time / per_run for time in self.times]}
        judged = self.of_kind(*IN_STEADY_STATE) or self.blocks
        steady_reads = any(block.fallback_calls or block.device_reads for block in judged)
        traces = [block.trace_s for block in self.blocks if block.trace_s is not None]
        if traces and not steady_reads:
            result["trace_total_time"] = traces
            result["trace_per_iter_time"] = [trace / per_run for trace in traces]
        for name in ("CompileTime", "ExecuteTime"):
            compiling = name == "CompileTime"
            seconds = [block.compile_s if compiling else block.execute_s for block in self.blocks]
            numbers = [block.compiles if compiling else block.executions for block in self.blocks]
            if seconds and seconds[0] is not None:
                result[f"xla_{name}_time_s"] = [value or 0.0 for value in seconds]
                result[f"xla_{name}_number"] = [float(number or 0) for number in numbers]
        for name in self.blocks[0].phases if self.blocks else ():
            result[f"{name}_time"] = [block.phases[name] / per_run for block in self.blocks]
        for name in self.blocks[0].transfers if self.blocks else ():
            result[f"xla_{name}"] = [block.transfers[name] for block in self.blocks]
        return result


def difference(before: Counters, after: Counters) -> Counters:
    """Return what happened between two readings; a cleared counter counts from zero."""

    def between(old: int | None, new: int | None) -> int | None:
        if new is None:
            return None
        return new - (old or 0) if new >= (old or 0) else new

    return Counters(
        compiles=between(before.compiles, after.compiles),
        executions=between(before.executions, after.executions),
        graphs=between(before.graphs, after.graphs),
        device_reads=between(before.device_reads, after.device_reads),
    )


def call_difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return calls per op between two readings; the dynamo bridge clears the counters while it compiles."""
    cleared = any(after.get(op, 0) < calls for op, calls in before.items())
    base = {} if cleared else before
    calls = {op: count - base.get(op, 0) for op, count in after.items()}
    return {op: count for op, count in calls.items() if count > 0}


# When a warm-up has reached the steady state.

TREND_BLOCKS = 5
"""Fewer blocks after the last compilation cannot show a trend."""
SMALL_CHANGE = 0.05
"""A relative change of the half-window medians that is no trend even where the ranges do not overlap."""


def has_trend(times: Sequence[float]) -> bool:
    """Say whether the newer half of the times lies apart from the older half.

    Two halves whose ranges overlap show no trend; neither do two whose midpoints differ by at most 5 %.

    Args:
        times: at least two block times, seconds, oldest first.
    """
    middle = len(times) // 2
    old, new = times[:middle], times[middle:]
    if max(new) >= min(old) and max(old) >= min(new):
        return False
    old_mid, new_mid = (max(old) + min(old)) / 2, (max(new) + min(new)) / 2
    return abs(new_mid - old_mid) > SMALL_CHANGE * old_mid


def is_steady(times: Sequence[float], compiles: Sequence[int | None], minimum: int, window: int) -> bool:
    """Say whether the last `window` blocks are steady: enough blocks, no compilation, no trend.

    Args:
        times: block times so far, seconds, the first (with compilation) included.
        compiles: compilations per block; None where the backend reports none.
        minimum: blocks to take in any case.
        window: blocks that have to agree.
    """
    if len(times) < max(minimum, window + 1):
        return False
    if any(compiles[-window:]):
        return False
    return not has_trend(times[-window:])


def steady_start(times: Sequence[float], compiles: Sequence[int | None], window: int) -> int | None:
    """Return where the steady state begins in a fixed number of blocks, or None where it never does.

    The first block is never steady; from the returned index on nothing compiles, no block stands out as the slow
    end of the warm-up, and where `window` blocks are left, they show no trend. Fewer than `TREND_BLOCKS` without
    a compilation are taken as they are, and the finding `few_blocks` marks them.
    """
    last_compile = max((index for index, count in enumerate(compiles) if count), default=0)
    first = max(1, last_compile + 1)
    for start in range(first, len(times) - 1):
        rest = times[start:]
        slow_end = rest[0] > (1 + SMALL_CHANGE) * max(rest[1:])
        if not slow_end and (len(rest) < window or not has_trend(rest)):
            return start
    return first if 0 < len(times) - first < TREND_BLOCKS else None


# How well a process knows its median, and whether that is the end of its blocks.

LOOK_AGAIN = 1.05
"""Times as many blocks as at the last look: an interval shrinks with their root, so before that it is much the same;
and tens of thousands of short blocks are not sorted again for every two more."""


@dataclass
class TurnBudget:
    """The turns of a process since its warm-up."""

    settings: Settings
    spent_s: float = 0.0
    """Running time: blocks, what they needed before, re-warming."""
    blocks: int = 0
    _look_at: int = 0

    def took(self, blocks: int, seconds: float) -> None:
        self.blocks += blocks
        self.spent_s += seconds

    def spoilt(self) -> None:
        """Forget them: they were warm-up."""
        self.spent_s, self.blocks, self._look_at = 0.0, 0, 0

    def enough(self, steady: Callable[[], Sequence[float]]) -> bool:
        """Say whether no further turn is needed, or none can be paid; `steady` gives the times of the blocks."""
        if self._target is None or self.spent_s >= self.settings.stable_budget_s:
            return True
        if self.blocks < max(self.settings.repeat, self._look_at):
            return False
        self._look_at = math.ceil(LOOK_AGAIN * self.blocks)
        until = self.reached(steady())
        return until is not None and until.stable

    def reached(self, steady: Sequence[float]) -> Until | None:
        """Return what they have brought; None where the number of blocks is fixed."""
        target = self._target
        if target is None:
            return None
        width = half_width(steady)
        return Until(
            target=target,
            budget_s=self.settings.stable_budget_s,
            half_width=width,
            spent_s=self.spent_s,
            stable=width is not None and width <= target,
        )

    @property
    def _target(self) -> float | None:
        return None if self.settings.preset == "peer" else self.settings.until_stable
