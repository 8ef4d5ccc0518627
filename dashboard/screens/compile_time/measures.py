"""The numbers that one may look at; they measure different things."""

from __future__ import annotations

from store.metrics import Metric, metric

NAMES = ("first_iteration_s", "compiler_time_s", "time_to_steady_s", "compile_peer_s", "graphs_number")
MEASURES: dict[str, str] = {metric(name).label: name for name in NAMES}
"""Label of each number in the registry → its column; the first one is shown first."""


def metric_of(label: str | None) -> Metric:
    """Return the metric of a label; of an unknown one the first."""
    return metric(MEASURES.get(label or "", NAMES[0]))


def is_time(chosen: Metric) -> bool:
    """Tell seconds from counts."""
    return chosen.unit == "s"
