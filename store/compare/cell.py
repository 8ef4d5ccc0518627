"""A cell of a comparison: one experiment on both sides, what differs between them, its verdict, and what follows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from store.compare.calibration import FalseAlarms
from store.compare.sides import Side
from store.query import DEFAULT_BASELINE, Connection, fetch, named
from store.report.table import Cell as Value
from store.report.table import Column, Table, text_columns
from store.stats.floors import Floor
from store.stats.verdicts import Verdict

MUST_AGREE = (
    "machine_id",
    "threads",
    "dtype",
    "batch_size",
    "requested_batch_size",
    "loss",
    "optimizer",
    "start",
    "policy",
    "iterations_per_run",
    "test",
    "accelerator",
    "accelerator_model",
    "workload",
)
"""Fields that keep two times from being compared where they differ; versions may, as they are compared."""

MAY_BE_UNKNOWN = frozenset({"policy"})
"""Fields that older records lack: these records are compared all the same, and are suspected at most."""


class Difference(NamedTuple):
    """One field and its value on both sides; None is unknown, which is never equal to anything known."""

    field: str
    old: Any
    new: Any


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Return all fields that differ, in the order of the first mapping, then of the second."""
    fields = dict.fromkeys([*old, *new])
    return [Difference(field, old.get(field), new.get(field)) for field in fields if old.get(field) != new.get(field)]


def incomparable(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Name the first field that must agree and does not, with both values; None where all agree."""
    for difference in differences(old, new):
        unknown = difference.field in MAY_BE_UNKNOWN and None in (difference.old, difference.new)
        if difference.field in MUST_AGREE and not unknown and not _only_waiting(difference):
            none = "the default" if difference.field == "workload" else "unknown"
            sides = (none if value is None else value for value in (difference.old, difference.new))
            return f"{difference.field} differs: {' and '.join(map(str, sides))}"
    return None


def variables_of(policy: str | None) -> list[str]:
    """Return the environment variables in a policy, which change how the libraries work."""
    return [part for part in (policy or "").split(", ") if "=" in part]


def _priority_of(policy: str) -> list[str]:
    return [part for part in policy.split(", ") if part != "libraries" and "=" not in part]


def _only_waiting(difference: Difference) -> bool:
    """Tell whether two policies differ in variables alone: somebody has set them, and asks what they change."""
    known = difference.field == "policy" and None not in (difference.old, difference.new)
    return known and _priority_of(difference.old) == _priority_of(difference.new)


_NAMES = text_columns("suite", "model", "test", "variant")
_SPLIT = (
    *_NAMES,
    Column(title="environment"),
    Column(title="speedup old", digits=3, numeric=True, definition="Baseline time / time above, on the old side."),
    Column(title="speedup new", digits=3, numeric=True, definition="The same on the new side."),
    Column(title="new / old", digits=3, numeric=True, definition="Product of the next two columns."),
    Column(title="by the backend", digits=3, numeric=True, definition="Its old time / its new time."),
    Column(title="by the baseline", digits=3, numeric=True, definition="The baseline's new time / its old time."),
)
_BREAK_EVEN = (
    *_NAMES,
    Column(
        title="wait old",
        unit="s",
        numeric=True,
        definition="Time to steady: the warm-up minus as many steady blocks.",
    ),
    Column(title="wait new", unit="s", numeric=True, definition="The same on the new side."),
    Column(
        title="ahead",
        definition="When the new side is ahead, compile time included; undecided: the interval contains 1.",
    ),
    Column(
        title="iterations",
        digits=0,
        numeric=True,
        definition="Iterations until the new side is ahead, if it is not ahead from the start.",
    ),
)


def speedup_changes(cells: Sequence[Cell]) -> Table | None:
    """Return how each speedup over inductor moved, and how much of it is only its baseline; None without a baseline."""
    baselines = {cell.alike: times for cell in cells if cell.variant == DEFAULT_BASELINE and (times := _times(cell))}
    rows: list[tuple[Value, ...]] = []
    for cell in cells:
        times, base = _times(cell), baselines.get(cell.alike)
        if cell.variant != DEFAULT_BASELINE and times and base:
            (old, new), (old_base, new_base) = times, base
            backend, baseline = split_change(old_base, old, new_base, new)
            numbers = (old_base / old, new_base / new, backend * baseline, backend, baseline)
            rows.append((*_names(cell), cell.environment, *numbers))
    if not rows:
        return None
    return Table(title=f"Speedups over {DEFAULT_BASELINE}: backend or baseline?", columns=_SPLIT, rows=tuple(rows))


def break_evens(con: Connection, cells: Sequence[Cell], old: Side, new: Side) -> Table | None:
    """Return from when on the new backend is ahead, its compile time included; None where no backends are compared."""
    if old.variant is None or new.variant is None:
        return None
    before, after = (_waits(con, side) for side in (old, new))
    rows: list[tuple[Value, ...]] = []
    for cell in cells:
        work = after.get((cell.experiment_id, cell.environment))
        base = before.get((cell.old_experiment_id, cell.old_environment))
        if _times(cell) and work is not None and base is not None:
            times = (work.wait_s, work.latency_s, base.wait_s, base.latency_s)
            outcome, iterations = break_even(*times)
            if at_first_n := ahead_at_first(*times):
                outcome = f"only for the first {at_first_n} iterations" if at_first_n > 1 else "only for one iteration"
            if not differ(work, base):
                outcome, iterations = "undecided", None
            rows.append((*_names(cell), base.wait_s, work.wait_s, outcome, iterations))
    if not rows:
        return None
    return Table(title="Break-even: compile time against speed", columns=_BREAK_EVEN, rows=tuple(rows))


def _times(cell: Cell) -> tuple[float, float] | None:
    """Return the times of both sides, where they can be compared."""
    return (cell.old_s, cell.new_s) if cell.verdict.word != "not comparable" and cell.old_s and cell.new_s else None


def _names(cell: Cell) -> tuple[Value, ...]:
    return cell.suite, cell.model, cell.test, cell.variant


class Work(NamedTuple):
    """Time of a result: one wait for the compilation, then the iterations."""

    wait_s: float
    latency_s: float
    low_s: float | None
    high_s: float | None
    """Ends of the 95 % interval of the latency."""


def differ(work: Work, base: Work) -> bool:
    """Tell whether the interval of the ratio of both latencies excludes 1; it is that of macro speedups."""
    if not (work.low_s and work.high_s and base.low_s and base.high_s):
        return False
    ratio = math.log(base.latency_s / work.latency_s)
    below = math.hypot(math.log(base.latency_s / base.low_s), math.log(work.high_s / work.latency_s))
    above = math.hypot(math.log(base.high_s / base.latency_s), math.log(work.latency_s / work.low_s))
    return not ratio - below <= 0 <= ratio + above


def _waits(con: Connection, side: Side) -> dict[tuple[str, str], Work]:
    rows = fetch(con, named("waits"), {"run": side.run_id})
    return {
        (row["experiment_id"], row["environment"]): Work(
            row["time_to_steady_s"], row["latency_s"], row["latency_low_s"], row["latency_high_s"]
        )
        for row in rows
        if row["time_to_steady_s"] is not None
    }


def split_change(old_base: float, old: float, new_base: float, new: float) -> tuple[float, float]:
    """Split speedup_new / speedup_old, speedup = base / time: a speedup also moves when only its baseline does.

    Returns two factors, above 1 where they raised it: the backend's own change (its old time / its new time), and the
    baseline's (its new time / its old time).
    """
    return old / new, new_base / old_base


def break_even(wait_s: float, time_s: float, base_wait_s: float, base_time_s: float) -> tuple[str, int | None]:
    """Return when the whole work is done earlier than with the baseline, and from which iteration on if it is `after`.

    The outcome is `ahead from the start`, `after` or `never`, also where it starts ahead and loses it again.

    Args:
        wait_s: time to steady state beyond the steady iterations themselves.
        time_s: steady time of an iteration.
        base_wait_s: the same of the baseline.
        base_time_s: the same of the baseline.
    """
    behind, gain = wait_s - base_wait_s, base_time_s - time_s
    if behind <= 0 <= gain:
        return "ahead from the start", None
    return ("after", math.floor(behind / gain) + 1) if gain > 0 else ("never", None)


def ahead_at_first(wait_s: float, time_s: float, base_wait_s: float, base_time_s: float) -> int:
    """Return for how many iterations work is ahead that loses it again, as it waits less but is slower; else 0."""
    behind, gain = wait_s - base_wait_s, base_time_s - time_s
    return math.ceil(behind / gain) - 1 if behind < 0 and gain < 0 else 0


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment on both sides; times are medians over processes of their medians, seconds per iteration."""

    suite: str
    model: str
    test: str
    variant: str
    environment: str
    experiment_id: str
    old_environment: str
    old_experiment_id: str
    """Experiment of the old side; the fields above are the new side's."""
    alike: tuple[Any, ...]
    """Values of `cells.ALIKE`, which are equal for cells that differ only in their variant."""
    old_s: float | None
    new_s: float | None
    verdict: Verdict
    fails_in_new_only: bool
    """The old side passed, and the new one failed or gave a wrong answer (macro outcome)."""
    floor: Floor
    differs: tuple[Difference, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Experiment and environment, which identify the cell in its comparison."""
        return self.experiment_id, self.environment or "default"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides and their cells; `only_old` and `only_new` name the experiments that only one side has."""

    old: Side
    new: Side
    cells: tuple[Cell, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    interleaved: bool
    """Both sides of every cell took turns."""
    looks: int = 1
    """How often verdicts of the runs may have been computed while processes were added."""
    false_alarms: tuple[FalseAlarms, ...] = ()
    """False alarms of the runs of both sides."""
    speedup_changes: Table | None = None
    break_even: Table | None = None
    findings: Table | None = None

    @property
    def renamed(self) -> str | None:
        """Say so where two runs are compared whose only environments have different names."""
        if self.old.run_id == self.new.run_id or not self.old.environment or not self.new.environment:
            return None
        return (
            f"Each run has one environment, {self.old.environment!r} and {self.new.environment!r}. They are compared "
            "with each other, although their names differ."
        )

    @property
    def has_comparable(self) -> bool:
        """Tell whether any experiment of both sides can be compared."""
        return any(cell.verdict.word != "not comparable" for cell in self.cells)

    def of(self, *words: str) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.verdict.word in words)


def row_names(cells: Sequence[Cell]) -> list[str]:
    """Return the names of compared experiments, each with what distinguishes it from its namesakes."""
    heads = [f"{cell.model} {cell.test} {cell.variant}" for cell in cells]
    namesakes: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for head, cell in zip(heads, cells, strict=True):
        namesakes[head].append(cell.alike)
    differ = {head: [len(set(values)) > 1 for values in zip(*same, strict=True)] for head, same in namesakes.items()}
    return [
        " · ".join([head, *(str(value) for value in compress(cell.alike, differ[head]) if value is not None)])
        for head, cell in zip(heads, cells, strict=True)
    ]
