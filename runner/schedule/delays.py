"""What waits for a core say of a time: a quiet one without delays by other programs, and bounds of a refused one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from runner.messages import ProcessReport
from runner.schedule.quiet import WAITS
from store.record import Turns
from store.stats.median import median_interval

_PER_BLOCK = (
    "total_time",
    "per_iter_time",
    "trace_total_time",
    "trace_per_iter_time",
    "forward_time",
    "backward_time",
)
"""Times of a block and of its parts: the parts stay the same share of it."""


def without_delays(report: ProcessReport, turns: Turns, shares: Sequence[float]) -> ProcessReport:
    """Return a report whose times are without what other programs delayed; what was subtracted stays in its blocks.

    The thread that waits longest holds up the others, so the time of a block is longer by its wait. A turn's share is
    taken of each of its blocks, as that of single ones depends on where the kernel's ticks fall.

    Args:
        report: of a process whose turns were judged.
        turns: all turns since the warm-up.
        shares: of each turn, what to subtract.
    """
    places = [place for place, kind in enumerate(report.blocks.kind) if kind in ("steady", "disturbed")]
    of_blocks = [share for count, share in zip(turns.blocks, shares, strict=True) for _ in range(count)]
    if not any(shares) or len(places) != len(of_blocks):
        return report
    removed = dict(zip(places, of_blocks, strict=True))
    metrics = {
        name: [time * (1 - removed.get(place, 0.0)) for place, time in enumerate(times)]
        if name in _PER_BLOCK and len(times) == len(report.blocks.kind)
        else times
        for name, times in report.metrics.items()
    }
    removed_s = [time * removed.get(place, 0.0) for place, time in enumerate(report.metrics["total_time"])]
    blocks = msgspec.structs.replace(report.blocks, removed_s=removed_s)
    return msgspec.structs.replace(report, metrics=metrics, blocks=blocks)


def latency_bounds(report: ProcessReport, reasons: Iterable[str | None], iterations: int) -> tuple[float, float] | None:
    """Return seconds that one iteration takes at least and at most on a quiet machine; None where that is not known.

    Other programs only add time, so the measured time is the upper bound. They add at most what all threads together
    waited for a core, also where threads waited one after the other; without that time it is the lower bound. Each
    is an end of the 95 % interval of its median. This holds for waiting alone: a turn that a slow core, the
    hypervisor, a quota or the GPU disturbed may have lost time that no thread waited.

    Args:
        report: of a process whose turns were judged.
        reasons: why each turn is disturbed; None: it is quiet.
        iterations: of one timed block.
    """
    if not set(reasons) <= {None, WAITS}:
        return None
    kinds, waits = report.blocks.kind, report.blocks.wait_all_s
    if len(waits) < len(kinds):  # the kernel reports no waits
        return None
    loops = report.blocks.inner_loops or [1] * len(kinds)
    blocks = [
        (time / iterations, None if waited is None else (time - waited / count) / iterations)
        for time, waited, count, kind in zip(report.metrics["total_time"], waits, loops, kinds, strict=True)
        if kind in ("steady", "disturbed")
    ]
    without_waits = [low for _, low in blocks if low is not None]
    low, high = median_interval(without_waits), median_interval([high for high, _ in blocks])
    if low is None or high is None or len(without_waits) < len(blocks) or low[0] <= 0:
        return None
    return low[0], high[1]
