"""What is known of the latency of a refused result: threads that waited for a core bound it from both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.schedule.quiet import WAITS
from store.stats.median import median_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.messages import Report


def bounds(report: Report, reasons: Iterable[str | None], iterations: int) -> tuple[float, float] | None:
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
    if len(report.waits_all) < len(report.kinds):  # the kernel tells no waits
        return None
    loops = report.inner_loops or [1] * len(report.kinds)
    blocks = [
        (time / iterations, None if waited is None else (time - waited / count) / iterations)
        for time, waited, count, kind in zip(
            report.metrics["total_time"], report.waits_all, loops, report.kinds, strict=True
        )
        if kind in ("steady", "disturbed")
    ]
    without_waits = [low for _, low in blocks if low is not None]
    low, high = median_interval(without_waits), median_interval([high for high, _ in blocks])
    if low is None or high is None or len(without_waits) < len(blocks) or low[0] <= 0:
        return None
    return low[0], high[1]
