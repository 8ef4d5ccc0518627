"""How well a process knows its median, and whether that is the end of its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.record import Until
from store.stats.median import half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.messages import Settings


def reached(settings: Settings, steady: Sequence[float], spent_s: float) -> Until | None:
    """Return what `spent_s` seconds of turns have brought; None where the number of blocks is fixed."""
    target = settings.until_stable
    if target is None or settings.preset == "peer":
        return None
    width = half_width(steady)
    return Until(
        target=target,
        budget_s=settings.stable_budget_s,
        half_width=width,
        spent_s=spent_s,
        stable=width is not None and width <= target,
    )


def enough(until: Until | None) -> bool:
    """Say whether no further turn is needed, or none can be paid."""
    return until is None or until.stable or until.spent_s >= until.budget_s
