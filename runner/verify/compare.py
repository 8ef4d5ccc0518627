"""Compare two results leaf by leaf and say in one finding how close they are and which check decided."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from runner.verify.judge import Judgement, Rule, identical, judge, largest
from runner.verify.leaves import Opaque

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.verify.tables import Deviation

_WEAKEST_LAST = ("bitwise", "allclose", "rmse", "float64", "iou", "cosine", "nan")
"""What a pass rests on is the weakest check that one of its tensors needed."""


@dataclass(kw_only=True)
class Finding:
    """What comparing all leaves found.

    Figures are the largest over all tensors (of cosine the least); tensors of rounding noise have no part in the
    relative ones, unless they are what failed.
    """

    passed: bool = True
    decided_by: str | None = None
    first_failed: str | None = None
    tensors: int = 0
    max_abs: float | None = None
    max_rel: float | None = None
    rmse: float | None = None
    rmse_eager: float | None = None
    furthest: str | None = None
    """Whose RMSE these are: the first failure, else the leaf furthest from float64."""
    cosine: float | None = None
    relative: list[str] = field(default_factory=list)
    """Leaves whose tolerance was relative to their largest value."""
    opaque: list[str] = field(default_factory=list)
    """Leaves that cannot be compared."""
    noise: list[str] = field(default_factory=list)
    """Leaves in which eager itself is far from float64."""
    deviating: dict[str, str] = field(default_factory=dict)
    """Leaves that pass only because of an entry of `deviations.yaml`, with its reason."""
    not_finite: list[str] = field(default_factory=list)
    """Leaves with values of eager's that are not finite."""


def compare(
    eager: Mapping[str, Any],
    result: Mapping[str, Any],
    double: Mapping[str, Any] | None,
    rule: Rule,
    deviations: Sequence[Deviation] = (),
) -> Finding:
    """Judge every leaf; one that fails is judged once more where a deviation of the backend is known."""
    found = Finding()
    missing = next((name for name in [*eager, *result] if name not in eager or name not in result), None)
    if missing is not None:
        return Finding(passed=False, decided_by="structure", first_failed=missing)
    scales = {} if double else _scales(eager)
    for name, value in eager.items():
        if isinstance(value, Opaque):
            found.opaque.append(f"{name} ({value.kind})")
            continue
        reference = double.get(name) if double else None
        scale = scales.get(kind_of(name))
        judged = judge(value, result[name], reference, rule, scale)
        known = next((each for each in deviations if each.names(name)), None)
        if known and not judged.passed:
            judged = judge(value, result[name], reference, replace(rule, tolerance=known.tolerance), scale)
            if judged.passed:
                found.deviating[name] = known.reason
        _add(found, name, judged)
        found.tensors += _is_tensor(value)
        if _not_finite(value):
            found.not_finite.append(name)
    return found


def first_difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """Return the first leaf in which two runs of the same differ, or None."""
    names = dict.fromkeys([*first, *second])
    return next(
        (name for name in names if name not in first or name not in second or not identical(first[name], second[name])),
        None,
    )


def kind_of(name: str) -> str:
    """Return what a leaf's name begins with: `output`, `loss`, `grad`, `buffer`, `param`."""
    return name.partition(".")[0].partition("[")[0]


def _add(found: Finding, name: str, judged: Judgement) -> None:
    """Take a leaf's judgement into the finding."""
    if judged.scale != 1.0:
        found.relative.append(name)
    first_failure = found.passed and not judged.passed
    found.max_abs = _extreme(max, found.max_abs, judged.max_abs)
    if judged.noise:
        found.noise.append(name)
    if first_failure or not judged.noise:
        found.max_rel = _extreme(max, found.max_rel, judged.max_rel)
        found.cosine = _extreme(min, found.cosine, judged.cosine)
    if first_failure or (found.passed and (judged.rmse or 0.0) >= (found.rmse or 0.0)):
        found.rmse, found.rmse_eager, found.furthest = judged.rmse, judged.rmse_eager, name
    if first_failure:
        found.passed, found.first_failed, found.decided_by = False, name, judged.check
    elif found.passed:
        checks = [judged.check] if found.decided_by is None else [found.decided_by, judged.check]
        found.decided_by = max(checks, key=_WEAKEST_LAST.index)


def _extreme(choose: Any, *values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def _scales(leaves: Mapping[str, Any]) -> dict[str, float]:
    """Return the largest magnitude of each kind of leaf."""
    found: dict[str, float] = defaultdict(float)
    for name, value in _floating(leaves.items()):
        found[kind_of(name)] = max(found[kind_of(name)], largest(value))
    return found


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _not_finite(value: Any) -> bool:
    import torch

    return _is_tensor(value) and value.is_floating_point() and not bool(torch.isfinite(value).all())


def _floating(items: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in items if _is_tensor(value) and value.is_floating_point()]
