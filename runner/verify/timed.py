"""Results that the timed process has left in a file are judged, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runner.verify.compare import Expected, TensorFinding, compare, kind_of, moved
from runner.verify.copies import Results
from runner.verify.judge import COSINE

_REDUCED = 1e-2
"""Tolerance where the timed process computes products less exactly than verification does."""
_OFTEN = 2.0
"""Times what rounding weights and inputs changes, because each layer rounds its own inputs as well."""


@dataclass(kw_only=True)
class Answer:
    """What became of the comparison."""

    verdict: str
    """`agree`, `differ`, or why they were not compared."""
    failed: TensorFinding | None = None
    notes: list[str] = field(default_factory=list)


def compare_with(
    path: str,
    expected: Expected,
    eager: Results,
    *,
    rounded: Callable[[], list[dict[str, Any]] | None] | None = None,
    same_batch: bool = True,
) -> Answer:
    """Judge the results in a file; what depends on how often or with which random numbers it ran is not compared.

    Args:
        path: the file.
        expected: what verification compares with.
        eager: its first run.
        rounded: returns float64's results with the rounding of the timed process's products; None: it is as exact.
        same_batch: the timed batch is the one that is compared.
    """
    import torch

    if not Path(path).exists():
        return Answer(verdict="not compared: the timed process kept no results")
    if eager.dropout:
        return Answer(verdict="not compared: dropout is active in the timed process, and verification leaves it out")
    timed: dict[str, Any] = torch.load(path, weights_only=True)
    first = {name: leaf for name, leaf in expected.eager[0].items() if isinstance(leaf, torch.Tensor)}
    lasting = {name for name, leaf in first.items() if all(leaves.get(name) is leaf for leaves in expected.eager)}
    names = [
        name
        for name in first
        if name in lasting and name not in expected.seeded and (name in timed or kind_of(name) == "output")
    ]
    other_batch = any(name in timed and first[name].shape != timed[name].shape for name in names) and not same_batch
    if not names or other_batch:
        return Answer(verdict="not compared: they change from iteration to iteration, or are of another batch")
    rule = expected.rule
    if rounded is not None:
        rule = replace(rule, tolerance=max(_REDUCED, rule.tolerance))
    double = [{name: expected.double[0].get(name) for name in names}] if expected.double else None
    wanted = replace(expected, eager=[{name: first[name] for name in names}], double=double, rule=rule)
    wanted = replace(wanted, _yardsticks={})
    finding = compare(wanted, [{name: timed[name] for name in names if name in timed}])
    if finding.passed:
        return Answer(verdict="agree" if finding.judged else "not compared: nothing in them could be judged")
    away = "" if finding.max_abs is None else f": up to {finding.max_abs} away"
    note = f"the timed process itself gave another {finding.first_failed}{away}"
    failed: TensorFinding | None = finding
    if rounded is not None and finding.decided_by not in ("structure", "shape", "dtype"):
        left = {name: timed[name] for name in names if name in timed}
        failed = _beyond_rounding(wanted, left, finding, rounded())
        explained = "it computes products less exactly than verification"
        note += f"; {explained}" if failed is None else "; less exact products do not explain it"
    return Answer(verdict="differ", failed=failed, notes=[note])


def _beyond_rounding(
    wanted: Expected, left: dict[str, Any], finding: TensorFinding, rounded: list[dict[str, Any]] | None
) -> TensorFinding | None:
    """Return how results fail that are further off than less exact products make them; None where these explain it.

    An integer, such as a position, is no evidence: it may turn with any rounding.
    """
    if wanted.double is None:
        return None if finding.cosine is not None and finding.cosine >= COSINE else finding
    if rounded is None:
        return None
    numbers = [name for name, leaf in wanted.eager[0].items() if name in left and leaf.is_floating_point()]
    unstable = {where: _OFTEN * rmse for where, rmse in moved(wanted, rounded).items()}
    chosen = replace(wanted, eager=[{name: wanted.eager[0][name] for name in numbers}], unstable=unstable)
    again = compare(chosen, [{name: left[name] for name in numbers}])
    return None if again.passed else again
