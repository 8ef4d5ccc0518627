"""What the operators of a model take together, beside the model itself (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from store.identity import backend_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.record import Record

_TOP = 10


@dataclass
class Total:
    """Of one backend; times in seconds per iteration of the model."""

    operators_s: dict[str, float] = field(default_factory=dict)
    """By operator: calls x time of one."""
    calls: dict[str, int] = field(default_factory=dict)
    without: int = 0
    """Operators that have no time here."""
    model_s: float | None = None

    @property
    def sum_s(self) -> float:
        return sum(self.operators_s.values())


def totals(records: Iterable[Record], model: str) -> dict[str, Total]:
    """Return the total of each backend.

    Args:
        records: of one run.
        model: `SUITE/NAME`, whose operators were recorded.
    """
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    found: dict[str, Total] = defaultdict(Total)
    models: dict[str, list[float]] = defaultdict(list)
    for record in records:
        experiment = record.experiment
        backend = backend_name(experiment.xla, experiment.dynamo, experiment.torch_xla2)
        seconds = latency(record)
        if record.used_by is not None and record.used_by.model == model:
            key = (backend, record.model.model_name)
            found[backend].calls[key[1]] = record.used_by.calls
            if seconds is not None:
                times[key].append(seconds)
        elif f"{record.model.suite_name}/{record.model.model_name}" == model and seconds is not None:
            models[backend].append(seconds)
    for (backend, name), values in times.items():
        found[backend].operators_s[name] = found[backend].calls[name] * median(values)
    for backend, total in found.items():
        total.model_s = median(models[backend]) if models[backend] else None
        total.without = len(total.calls) - len(total.operators_s)
    return dict(found)


def latency(record: Record) -> float | None:
    """Return the median of a record's steady blocks, seconds per iteration; None without one."""
    kinds = zip(record.metrics.get("per_iter_time", ()), record.measurement.blocks.kind, strict=False)
    steady = [time for time, kind in kinds if kind == "steady"]
    return median(steady) if steady and record.status == "ok" else None


LIMITS = (
    "  An operator alone is not fused with its neighbours, pays for waiting, and finds its inputs in caches: the sum "
    "may lie above the model's time or below, and ratios of operators say nothing about fused models."
)
"""What every reader of a sum has to know."""


def sentences(found: dict[str, Total], model: str) -> list[str]:
    """Return what is said at the end of a run: a line per backend, then the operators that take most in eager."""
    lines = [f"Operators of {model}, time of one call x calls:"]
    for backend, total in found.items():
        text = f"  {backend}: sum of {len(total.operators_s)} operators {total.sum_s * 1e3:.3g} ms"
        if total.model_s is not None:
            text += f", the model {total.model_s * 1e3:.3g} ms: {total.sum_s / total.model_s:.2f} of it"
        lines.append(text + (f"; {total.without} operators have no time" if total.without else ""))
    base = found.get("eager") or next(iter(found.values()), Total())
    for name in sorted(base.operators_s, key=base.operators_s.__getitem__, reverse=True)[:_TOP]:
        cells = [
            f"{backend} {total.operators_s[name] * 1e3:.3g} ms"
            for backend, total in found.items()
            if name in total.operators_s
        ]
        lines.append(f"  {base.calls[name]} x {name}: {', '.join(cells)}")
    return [*lines, LIMITS]
