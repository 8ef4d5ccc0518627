"""The results of the timed process itself: it leaves them in a file, and verification judges them, too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.verify.compare import Expected, Finding, compare

if TYPE_CHECKING:
    from runner.verify.copies import Results

_REDUCED = 1e-2
"""Tolerance where the timed process computes products less exactly than verification does."""


@dataclass(kw_only=True)
class Answer:
    """What became of the comparison."""

    verdict: str
    """`agree`, `differ`, or why they were not compared."""
    failed: Finding | None = None
    notes: list[str] = field(default_factory=list)


def compare_with(path: str, expected: Expected, eager: Results, *, exact: bool) -> Answer:
    """Judge the results in a file; what depends on how often or with which random numbers it ran is not compared."""
    import torch

    if not Path(path).exists():
        return Answer(verdict="not compared: the timed process left none")
    if eager.dropout:
        return Answer(verdict="not compared: the timed process drops out what verification keeps")
    kept: dict[str, Any] = torch.load(path, weights_only=True)
    first = {name: leaf for name, leaf in expected.eager[0].items() if name in kept}
    lasting = {name for name, leaf in first.items() if all(each.get(name) is leaf for each in expected.eager)}
    names = [name for name in first if name in lasting and name not in expected.seeded]
    if not names or any(first[name].shape != kept[name].shape for name in names):
        return Answer(verdict="not compared: they change from iteration to iteration, or are of another batch")
    rule = expected.rule if exact else replace(expected.rule, tolerance=max(_REDUCED, expected.rule.tolerance))
    double = [{name: expected.double[0].get(name) for name in names}] if expected.double else None
    wanted = replace(expected, eager=[{name: first[name] for name in names}], double=double, rule=rule)
    wanted = replace(wanted, _yardsticks={})
    finding = compare(wanted, [{name: kept[name] for name in names}])
    if finding.passed:
        return Answer(verdict="agree" if finding.judged else "not compared: nothing in them could be judged")
    note = f"the timed process itself gave another {finding.first_failed}: up to {finding.max_abs} away"
    if not exact:
        return Answer(verdict="differ", notes=[f"{note}; it computes products less exactly than verification"])
    return Answer(verdict="differ", failed=finding, notes=[note])
