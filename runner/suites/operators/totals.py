"""What the operators of a model take together, beside the model itself (pure)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from store.operators import FLOOR, NEAR_FLOOR
from store.record import Record

_TOP = 10
_APART = 2.0


@dataclass
class Total:
    """The totals of one backend; times in seconds per iteration of the model."""

    operators_s: dict[str, float] = field(default_factory=dict)
    """Operator → number of calls x time of one call."""
    calls: dict[str, int] = field(default_factory=dict)
    near_floor: set[str] = field(default_factory=set)
    """Operators whose time is near the floor, so it consists mostly of launching and synchronizing."""
    quartiles_s: tuple[float, float] = (0.0, 0.0)
    """Sums of the lower and of the upper quartiles of their blocks; they are far apart if something interfered."""
    model_quartiles_s: tuple[float, float] | None = None
    without: int = 0
    """Number of operators without a time."""
    model_s: float | None = None

    @property
    def sum_s(self) -> float:
        return sum(self.operators_s.values())

    @property
    def near_floor_s(self) -> float:
        return sum(self.operators_s[name] for name in self.near_floor)


def totals(records: Iterable[Record], model: str) -> dict[str, Total]:
    """Return the total of each variant of a backend; where a run has several environments, of each in each of them.

    A/A controls and wrong answers are no part of it. The operators are those of a model, `SUITE/NAME`.
    """
    operators: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    by_backend: dict[str, Total] = defaultdict(Total)
    models: dict[str, list[Record]] = defaultdict(list)
    own = [record for record in records if record.twin_of is None]
    several = len({record.environment.name for record in own}) > 1
    for record in own:
        backend = f"{record.variant} in {record.environment.name}" if several else record.variant
        if record.used_by is not None and record.used_by.model == model:
            by_backend[backend].calls[record.model.model_name] = record.used_by.calls
            operators[backend][record.model.model_name].append(record)
        elif f"{record.model.suite_name}/{record.model.model_name}" == model:
            models[backend].append(record)
    for backend, total in by_backend.items():
        _fill(total, operators[backend], models[backend])
    return dict(by_backend)


def _fill(total: Total, operators: Mapping[str, Sequence[Record]], models: Sequence[Record]) -> None:
    """Add up operators, and set the model beside them."""
    ends = []
    for name, records in operators.items():
        blocks = [times for times in map(steady, records) if times]
        if not blocks:
            continue
        calls, seconds = total.calls[name], median(map(median, blocks))
        total.operators_s[name] = calls * seconds
        ends.append([calls * end for end in _quartiles(blocks)])
        floors = [floor for record in records for floor in record.metrics.get(FLOOR, ())]
        if floors and seconds < NEAR_FLOOR * median(floors):
            total.near_floor.add(name)
    total.without = len(total.calls) - len(total.operators_s)
    total.quartiles_s = (sum(low for low, _ in ends), sum(high for _, high in ends))
    blocks = [times for times in map(steady, models) if times]
    if blocks:
        total.model_s, total.model_quartiles_s = median(map(median, blocks)), _quartiles(blocks)


def steady(record: Record) -> list[float]:
    """Return a record's steady blocks, seconds per iteration; none of what did not run to its end or is wrong."""
    return record.steady_s() if record.status == "ok" and record.verification_code != "FAIL" else []


def _quartiles(blocks: Sequence[list[float]]) -> tuple[float, float]:
    """Return the lower and the upper quartile, the median over processes."""
    # `quantiles` takes two values or more; those of one value are that value.
    quartiles = [quantiles(times * 2 if len(times) == 1 else times, n=4, method="inclusive") for times in blocks]
    return median(low for low, _, _ in quartiles), median(high for _, _, high in quartiles)


LIMITS = (
    "  An operator alone is not fused with its neighbours, includes waiting, and finds its inputs in caches. The sum "
    "does not include views and the model's own Python. Therefore it may be above or below the model's time, and "
    "ratios of operators say nothing about fused models."
)
"""Limits of a sum of operators, printed below it."""


DISTURBED = (
    "  The quartiles differ by a factor of two: something else ran on the machine, and the ratio may be far too high "
    "or too low. It disturbs an iteration of the model more often than a short block, and all threads wait for one "
    "without a core. Measure again with --threads 1, or with OMP_WAIT_POLICY=passive in the environment."
)


def _disturbed(total: Total) -> bool:
    """Say whether the sum or the model's own time was disturbed so far that their ratio says nothing."""
    ends = [total.quartiles_s, total.model_quartiles_s or (0.0, 0.0)]
    return any(high > _APART * low for low, high in ends)


def _sentence(backend: str, total: Total) -> str:
    text = f"  {backend}: sum of {len(total.operators_s)} operators {_ms(total.sum_s, total.quartiles_s)}"
    if total.model_s is not None and total.model_quartiles_s is not None:
        own = _ms(total.model_s, total.model_quartiles_s)
        text += f", the model {own}: {total.sum_s / total.model_s:.2f} of it"
    if total.near_floor:
        share = total.near_floor_s / total.sum_s
        text += f"; {len(total.near_floor)} of them below {NEAR_FLOOR:g} x their floor, {share:.0%} of the sum"
    return text + (f"; {total.without} operators have no time" if total.without else "")


def _ms(seconds: float, ends: tuple[float, float]) -> str:
    return f"{seconds * 1e3:.3g} ms [{ends[0] * 1e3:.3g}, {ends[1] * 1e3:.3g}]"


def sentences(by_backend: dict[str, Total], model: str) -> list[str]:
    """Return the last lines of a run: one per backend, then the operators that take most time in eager."""
    lines = [f"Operators of {model}, time of one call x calls (in brackets the quartiles of the blocks):"]
    lines += [_sentence(backend, total) for backend, total in by_backend.items()]
    if any(map(_disturbed, by_backend.values())):
        lines.append(DISTURBED)
    eager = (total for backend, total in by_backend.items() if backend.partition(" ")[0] == "eager")
    base = next(eager, None) or next(iter(by_backend.values()), Total())
    for name in sorted(base.operators_s, key=base.operators_s.__getitem__, reverse=True)[:_TOP]:
        cells = [
            f"{backend} {total.operators_s[name] * 1e3:.3g} ms"
            for backend, total in by_backend.items()
            if name in total.operators_s
        ]
        lines.append(f"  {base.calls[name]} x {name}: {', '.join(cells)}")
    return [*lines, LIMITS]
