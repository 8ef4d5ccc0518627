"""Compare results leaf by leaf, in every iteration; one finding says how close they are and which check decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from runner.verify.judge import CONSTANT, STRENGTH, ZEROS, Judgement, TensorRule, Yardstick
from runner.verify.leaves import Opaque, identical, largest
from runner.verify.tables import Deviation

Leaves = Mapping[str, Any]

_WEAKEST_LAST = ("bitwise", "allclose", "rmse", "iou", "cosine")
"""What a pass rests on is the weakest check that one of its tensors needed."""
_UNSTABLE = 3.0
"""Times float64's own change by which a result may be off that is unstable."""
_UNVARIED = frozenset({CONSTANT, ZEROS})
"""Reasons for which a tensor is no evidence, and yet can be wrong."""
_WRONG_KINDS = frozenset({"shape", "dtype", "structure", "finite"})
"""Checks that fail a value whatever it is compared with."""
OPAQUE = "it is of a kind that cannot be compared"
SEEDED = "it changes with the seed of the random numbers"
FROM_EARLIER_CALL = "eager gives the same as for other inputs"
UNSTABLE = "float64 itself changes as much if weights and inputs are rounded differently"
BY_SAMPLE = frozenset({"output", "prediction", "result"})
"""Kinds of leaves whose first dimension may be that of samples."""
WRITTEN = frozenset({"input", "buffer", "param"})
"""Kinds of leaves that a step writes into: one that only the backend's results hold is changed by it alone."""
REQUIRED = frozenset({"output", "loss", "result"})
"""Kinds of leaves that have to be judged, as far as they vary: without them there is no PASS."""


@dataclass(kw_only=True)
class TensorFinding:
    """What comparing all leaves found.

    Figures are the largest over all tensors (of cosine the least); tensors that are not judged have no part in them.
    """

    passed: bool = True
    decided_by: str | None = None
    first_failed: str | None = None
    failed_iteration: int | None = None
    """Iteration of the first failure, from 1."""
    failed_samples: tuple[int, int] | None = None
    """First and last sample of the chunk that is furthest off, at the first failure."""
    tensors: int = 0
    """Compared, judged or not."""
    judged: set[str] = field(default_factory=set)
    """Leaves that the verdict rests on."""
    max_abs: float | None = None
    max_rel: float | None = None
    rmse: float | None = None
    rmse_eager: float | None = None
    furthest: str | None = None
    """Whose RMSE these are: the first failure, else the leaf furthest from float64."""
    cosine: float | None = None
    tight: list[str] = field(default_factory=list)
    """Leaves whose rule was tightened, because the harness's would not have noticed a wrong one."""
    opaque: list[str] = field(default_factory=list)
    """Leaves that cannot be compared."""
    unjudged: dict[str, str] = field(default_factory=dict)
    """Leaves that the verdict does not rest on, with the reason."""
    far: dict[str, float] = field(default_factory=dict)
    """Leaves among these that even the harness's rule would fail, with the largest difference."""
    deviating: dict[str, str] = field(default_factory=dict)
    """Leaves that pass only because of an entry of `deviations.yaml`, with its reason."""
    widened: list[str] = field(default_factory=list)
    """Leaves whose dtype is not eager's."""

    def missing(self) -> list[str]:
        """Return the leaves that would have to be judged for a PASS and are not: those that vary."""
        return [name for name, why in self.unjudged.items() if kind_of(name) in REQUIRED and why not in _UNVARIED]

    @property
    def conclusive(self) -> bool:
        """Say whether a pass is one: all outputs that vary, or the loss, were judged."""
        return not self.missing() and any(kind_of(name) in REQUIRED for name in self.judged)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What right results are."""

    eager: Sequence[Leaves]
    """Eager's results of each iteration."""
    double: Sequence[Leaves] | None
    rule: TensorRule
    deviations: Sequence[Deviation] = ()
    seeded: frozenset[str] = frozenset()
    """Leaves that change with the seed."""
    shifting: frozenset[tuple[str, str]] = frozenset()
    """Leaf and `shape` or `finite`: its shape, or its places of infinity and NaN, change with the seed as well."""
    constant: frozenset[str] = frozenset()
    """Leaves that other weights and inputs leave as they are."""
    from_earlier_call: frozenset[str] = frozenset()
    """Leaves that eager returns as an earlier call computed them, whatever the inputs are."""
    unstable: Mapping[tuple[int, str], float] = field(default_factory=dict)
    """Iteration from 0 and leaf → the RMSE by which float64 changes when weights and inputs are perturbed."""
    initial: Leaves = field(default_factory=dict)
    """Weights and buffers before the first iteration of train."""
    samples: int | None = None
    """Samples of an iteration: the first dimension of what is judged chunk by chunk."""
    rows: int | None = None
    """Samples of a chunk."""
    _yardsticks: dict[tuple[int, int, str], Yardstick] = field(default_factory=dict)

    def yardstick(self, name: str, iteration: int, scale: float) -> Yardstick:
        """Return by what a leaf is judged; equal tensors of two iterations are one object, and have one yardstick."""
        eager = self.eager[iteration][name]
        # Random numbers in float64 are other ones.
        double = self.double[iteration].get(name) if self.double and name not in self.seeded else None
        key = (id(eager), id(double), name)
        if key not in self._yardsticks:
            rows = self.rows if kind_of(name) in BY_SAMPLE and self._by_sample(eager) else None
            before = (self.eager[iteration - 1] if iteration else self.initial).get(name)
            self._yardsticks[key] = Yardstick.of(eager, double, self.rule, scale, rows, before)
        return self._yardsticks[key]

    def part(self, kinds: Collection[str], *, but: bool = False) -> Expected:
        """Return what is expected of leaves of these kinds, or of all the others."""

        def chosen(leaves: Leaves) -> Leaves:
            return {name: leaf for name, leaf in leaves.items() if (kind_of(name) in kinds) != but}

        double = None if self.double is None else [chosen(leaves) for leaves in self.double]
        return replace(self, eager=[chosen(leaves) for leaves in self.eager], double=double)

    def _by_sample(self, eager: Any) -> bool:
        return _is_tensor(eager) and self.samples is not None and eager.dim() > 0 and eager.shape[0] == self.samples


def compare(expected: Expected, results: Sequence[Leaves]) -> TensorFinding:
    """Judge every leaf of every iteration; one that fails is judged once more where a deviation of it is known."""
    finding = TensorFinding()
    seen: dict[tuple[int, ...], None] = {}
    for iteration, (eager, result) in enumerate(zip(expected.eager, results, strict=True)):
        missing = next((name for name in [*eager, *result] if name not in eager or name not in result), None)
        if missing is not None:
            return TensorFinding(
                passed=False, decided_by="structure", first_failed=missing, failed_iteration=iteration + 1
            )
        scales = {} if expected.double else _scales(eager)
        for name, value in eager.items():
            double = expected.double[iteration].get(name) if expected.double else None
            key = (id(value), id(result[name]), id(double))
            if isinstance(value, Opaque):
                text = f"{name} ({value.kind})"
                finding.opaque += [text] if text not in finding.opaque else []
                if not value.code:
                    finding.unjudged[name] = OPAQUE
            elif key not in seen or not _is_tensor(value):
                # The same three tensors in a later iteration say the same.
                seen[key] = None
                yardstick = expected.yardstick(name, iteration, scales.get(kind_of(name), 0.0))
                judged = _judged(expected, finding, (iteration, name), yardstick, result[name], double)
                if not judged.passed or isinstance(yardstick.eager, torch.Tensor):
                    _add(finding, expected, name, iteration, judged)
            if iteration == 0:
                finding.tensors += _is_tensor(value)
            if _is_tensor(value) and _is_tensor(result[name]) and value.dtype != result[name].dtype:
                finding.widened += [name] if name not in finding.widened else []
    return finding


def unchanged(expected: Expected, results: Leaves) -> frozenset[str]:
    """Return the leaves of the first iteration that are what they were although weights and inputs were disturbed."""
    names = set()
    scales = {} if expected.double else _scales(expected.eager[0])
    for name, value in expected.eager[0].items():
        if not _is_tensor(value) or not _is_tensor(results.get(name)) or kind_of(name) == "param":
            continue
        yardstick = expected.yardstick(name, 0, scales.get(kind_of(name), 0.0))
        if yardstick.unjudged is None and not yardstick.differs_beyond_eager(results[name]):
            names.add(name)
    return frozenset(names)


def stale(eager: tuple[Leaves, Leaves], result: tuple[Leaves, Leaves], judged: Collection[str]) -> list[str]:
    """Return the judged leaves that other inputs leave as they are, to the last bit, although they change eager's.

    A smaller change of eager's is no evidence: rounding may hide it.

    Args:
        eager: its results of the usual inputs and of other ones.
        result: likewise, of the backend.
        judged: names of leaves.
    """
    names = []
    before: Any
    after: Any
    for name in sorted(judged):
        before, after, *ours = (leaves.get(name) for leaves in (*eager, *result))
        if not all(_is_tensor(leaf) and leaf.is_floating_point() for leaf in (before, after, *ours)):
            continue
        if before.shape == after.shape and identical(*ours) and largest(before - after) > STRENGTH * largest(before):
            names.append(name)
    return names


def differences(first: Sequence[Leaves], second: Sequence[Leaves]) -> list[tuple[str, int]]:
    """Return the leaves in which two runs of the same differ, each with its iteration, from 0 on."""
    differing = []
    for iteration, (one, other) in enumerate(zip(first, second, strict=True)):
        differing += [
            (name, iteration)
            for name in dict.fromkeys([*one, *other])
            if name not in one or name not in other or not identical(one[name], other[name])
        ]
    return differing


def shifting(first: Sequence[Leaves], second: Sequence[Leaves], names: Collection[str]) -> frozenset[tuple[str, str]]:
    """Return the leaves that another seed gives another shape, or infinity and NaN in other places, with the check."""
    rule = TensorRule(tolerance=0.0)
    return frozenset(
        (name, Yardstick.of(one[name], None, rule).judge(other.get(name)).check)
        for one, other in zip(first, second, strict=True)
        for name in names
        if name in one
    )


def moved(expected: Expected, perturbed: Sequence[Leaves]) -> dict[tuple[int, str], float]:
    """Return by iteration and leaf how far a perturbed float64 copy is from the reference, as RMSE."""
    distances: dict[tuple[int, str], float] = {}
    for iteration, (double, other) in enumerate(zip(expected.double or (), perturbed, strict=False)):
        for name, value in _floating(double.items()):
            if _is_tensor(other.get(name)) and other[name].shape == value.shape and value.numel():
                finite = value.isfinite() & other[name].isfinite()
                distances[iteration, name] = float((value - other[name]).where(finite, 0).square().mean().sqrt())
    return distances


def kind_of(name: str) -> str:
    """Return what a leaf's name begins with: `output`, `loss`, `grad`, `buffer`, `param`."""
    return name.partition(".")[0].partition("[")[0]


def _judged(
    expected: Expected, finding: TensorFinding, where: tuple[int, str], yardstick: Yardstick, result: Any, double: Any
) -> Judgement:
    """Judge a leaf of an iteration, once more where a deviation of the backend is known."""
    name = where[1]
    judged = yardstick.judge(result)
    known = next((deviation for deviation in expected.deviations if deviation.names(name)), None)
    if known and not judged.passed:
        looser = Yardstick.of(yardstick.eager, double, replace(expected.rule, tolerance=known.tolerance))
        again = replace(looser, tight=False, gain=None, slack=known.tolerance / 10, tolerance=known.tolerance).judge(
            result
        )
        if again.passed:
            finding.deviating[name] = known.reason
            return again
    limit = _UNSTABLE * expected.unstable.get(where, 0.0)
    if not judged.passed and judged.unjudged is None and judged.rmse is not None and judged.rmse <= limit:
        return replace(judged, unjudged=UNSTABLE)
    return judged


def _add(finding: TensorFinding, expected: Expected, name: str, iteration: int, judged: Judgement) -> None:
    """Take a leaf's judgement into the finding."""
    why = judged.unjudged if name not in expected.constant else judged.unjudged or CONSTANT
    if name in expected.seeded and not (judged.passed and why is None):
        why = SEEDED
    why = FROM_EARLIER_CALL if name in expected.from_earlier_call else why
    wrong_kind = judged.check in _WRONG_KINDS and (name, judged.check) not in expected.shifting
    failed = not judged.passed and (why is None or why in _UNVARIED or why == FROM_EARLIER_CALL or wrong_kind)
    if why is not None and not failed:
        finding.unjudged[name] = why
        finding.judged.discard(name)
        if not judged.passed:
            finding.far[name] = max(finding.far.get(name, 0.0), judged.max_abs or 0.0)
        return
    if name not in finding.unjudged:
        finding.judged.add(name)
    if judged.tight and name not in finding.tight:
        finding.tight.append(name)
    first_failure = finding.passed and failed
    finding.max_abs = _extreme(max, finding.max_abs, judged.max_abs)
    finding.max_rel = _extreme(max, finding.max_rel, judged.max_rel)
    finding.cosine = _extreme(min, finding.cosine, judged.cosine)
    if first_failure or (finding.passed and (judged.rmse or 0.0) >= (finding.rmse or 0.0)):
        finding.rmse, finding.rmse_eager, finding.furthest = judged.rmse, judged.rmse_eager, name
    if first_failure:
        finding.passed, finding.first_failed, finding.decided_by = False, name, judged.check
        finding.failed_iteration, finding.failed_samples = iteration + 1, judged.samples
    elif finding.passed:
        checks = [judged.check] if finding.decided_by is None else [finding.decided_by, judged.check]
        finding.decided_by = max(checks, key=_WEAKEST_LAST.index)


def _extreme(choose: Any, *values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def _scales(leaves: Leaves) -> dict[str, float]:
    """Return the largest magnitude of each kind of leaf."""
    scales: dict[str, float] = defaultdict(float)
    for name, value in _floating(leaves.items()):
        scales[kind_of(name)] = max(scales[kind_of(name)], largest(value))
    return scales


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _floating(items: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in items if _is_tensor(value) and value.is_floating_point()]


_NAMED = 3
"""Tensors that a note names; it counts the others."""
_NO_ROUNDING = 100.0
"""Times eager's own error: what is further off is not explained by another order of additions."""


# Notes about a comparison that its figures do not show.


def notes_of(finding: TensorFinding) -> list[str]:
    """Return the notes of a comparison, each with the tensors it is about."""
    notes = _of_failure(finding)
    for reason in dict.fromkeys(finding.deviating.values()):
        about = [name for name, its in finding.deviating.items() if its == reason]
        notes.append(f"{_names(about)}: outside the tolerance, but known: {reason}")
    unexplained = finding.passed and finding.furthest not in finding.deviating
    if unexplained and finding.rmse_eager and (finding.rmse or 0.0) > _NO_ROUNDING * finding.rmse_eager:
        notes.append(
            f"{finding.furthest}: RMSE {finding.rmse:.2g} against eager's {finding.rmse_eager:.2g}; "
            "the tolerance allows it, rounding does not explain it"
        )
    if finding.tight:
        notes.append(
            f"{_names(finding.tight)}: judged more strictly, because the table's tolerance would not notice a wrong one"
        )
    for reason in dict.fromkeys(finding.unjudged.values()):
        about = [name for name, its in finding.unjudged.items() if its == reason]
        notes.append(f"{_names(about)}: not judged: {reason}")
    if finding.far:
        name, distance = max(finding.far.items(), key=lambda item: item[1])
        notes.append(f"{_names(list(finding.far))}: not judged, and {distance:.3g} away ({name})")
    if finding.widened:
        notes.append(f"{_names(finding.widened)}: of another dtype than eager's")
    if finding.opaque:
        notes.append(f"{_names(finding.opaque)}: no tensor, not compared")
    return notes


def _of_failure(finding: TensorFinding) -> list[str]:
    """Return the notes about the first tensor that failed."""
    notes = []
    if finding.decided_by == "structure" and kind_of(finding.first_failed or "") in WRITTEN:
        notes.append(f"{finding.first_failed}: the backend changes it, eager does not")
    elif finding.failed_iteration and finding.failed_iteration > 1:
        notes.append(f"{finding.first_failed}: correct before iteration {finding.failed_iteration}")
    if finding.failed_samples:
        first, last = finding.failed_samples
        notes.append(f"{finding.first_failed}: samples {first} to {last} (counted from 0) deviate most")
    if finding.decided_by == "rmse" and not finding.passed and finding.rmse_eager and finding.rmse:
        times = finding.rmse / finding.rmse_eager
        notes.append(
            f"{finding.first_failed}: {times:.3g} times as far from float64 as eager's "
            f"(RMSE {finding.rmse:.2g} and {finding.rmse_eager:.2g})"
        )
    return notes


def inconclusive(finding: TensorFinding) -> str:
    """Say why agreement is no PASS, and how much agrees."""
    missing, right = finding.missing(), len(finding.judged)
    why = f"{_names(missing)} could not be judged" if missing else "no output varies with weights and inputs"
    share = f"{right} of {finding.tensors} tensors were judged and are right" if right else "nothing could be judged"
    return f"no PASS, because {why}: {share}"


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown
