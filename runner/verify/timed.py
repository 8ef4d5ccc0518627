"""Results that the timed process has left in a file are judged, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from runner.verify.compare import Expected, TensorFinding, compare, kind_of, moved, stale
from runner.verify.copies import Results
from runner.verify.judge import COSINE
from runner.verify.leaves import INPUT_GRADIENT

_GRADIENTS = ("grad", INPUT_GRADIENT)
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
    raised: bool = False
    """The timed process raised an exception where eager did not, so that a wrong result would not have been noticed."""
    notes: list[str] = field(default_factory=list)


def compare_with(
    path: str,
    expected: Expected,
    eager: Results,
    *,
    rounded: Callable[[], list[dict[str, Any]] | None] | None = None,
    unstable: Callable[[], Mapping[tuple[int, str], float]] = dict,
    same_batch: bool = True,
) -> Answer:
    """Judge the results in a file; what depends on how often or with which random numbers it ran is not compared.

    Args:
        path: the file.
        expected: what verification compares with.
        eager: its first run.
        rounded: returns float64's results with the rounding of the timed process's products; None: it is as exact.
            Where it is not, gradients are not compared.
        unstable: returns how far rounding moves float64 by iteration and leaf, for what is wrong otherwise.
        same_batch: the timed batch is the one that is compared.
    """
    if not Path(path).exists():
        return Answer(verdict="not compared: the timed process kept no results")
    saved: dict[str, Any] = torch.load(path, weights_only=True)
    timed, raised = saved["usual"], saved["raised"]
    answer = Answer(verdict="not compared: the timed process raised an exception")
    if timed or raised is None:
        answer = _compared(
            timed, expected, dropout=eager.dropout, rounded=rounded, unstable=unstable, same_batch=same_batch
        )
    if answer.failed is None and raised is not None and (eager.other or not timed):
        inputs = "with other inputs" if timed else "after its last timed block"
        answer.notes.append(f"{inputs}, the timed process raised an exception and eager did not: {raised}")
        answer.raised = True
        return answer
    # A block that is dropped by chance, with the same seed in both iterations, has no gradient in either.
    names = [
        name for name in timed if name not in expected.seeded and not (eager.dropout and kind_of(name) in _GRADIENTS)
    ]
    if answer.failed is None and (stays := stale((eager.leaves[-1], eager.other), (timed, saved["other"]), names)):
        note = f"{stays[0]}: with other inputs, the timed process gives the same, eager does not"
        failed = TensorFinding(passed=False, decided_by="bitwise", first_failed=stays[0])
        return Answer(verdict="differ", failed=failed, notes=[*answer.notes, note])
    return answer


def _compared(
    timed: dict[str, Any],
    expected: Expected,
    *,
    dropout: bool,
    rounded: Callable[[], list[dict[str, Any]] | None] | None,
    unstable: Callable[[], Mapping[tuple[int, str], float]],
    same_batch: bool,
) -> Answer:
    """Judge the results of the usual inputs."""
    if dropout:
        return Answer(verdict="not compared: dropout is active in the timed process, and verification leaves it out")
    first = {name: leaf for name, leaf in expected.eager[0].items() if isinstance(leaf, torch.Tensor)}
    lasting = {name for name, leaf in first.items() if all(leaves.get(name) is leaf for leaves in expected.eager)}
    names = [
        name
        for name in first
        if name in lasting and name not in expected.seeded and (name in timed or kind_of(name) == "output")
        if rounded is None or kind_of(name) not in _GRADIENTS
    ]
    of_all = any(kind_of(name) in ("loss", *_GRADIENTS) for name in names)
    other_shape = any(name in timed and first[name].shape != timed[name].shape for name in names)
    if not names or (not same_batch and (of_all or other_shape)):
        return Answer(verdict="not compared: they change from iteration to iteration, or are of another batch")
    rule = expected.rule
    if rounded is not None:
        rule = replace(rule, tolerance=max(_REDUCED, rule.tolerance))
    double = [{name: expected.double[0].get(name) for name in names}] if expected.double else None
    wanted = replace(expected, eager=[{name: first[name] for name in names}], double=double, rule=rule)
    if rounded is not None or double is None:
        # Another tolerance, or the sizes of fewer tensors; else the rules are those of the iterations.
        wanted = replace(wanted, _yardsticks={})
    left = {name: timed[name] for name in names if name in timed}
    finding = compare(wanted, [left])
    if not finding.passed and rounded is None:
        finding = compare(replace(wanted, unstable=unstable()), [left])
    if finding.passed:
        return Answer(verdict="agree" if finding.judged else "not compared: nothing in them could be judged")
    away = "" if finding.max_abs is None else f": up to {finding.max_abs} away"
    note = f"the timed process itself gave another {finding.first_failed}{away}"
    failed: TensorFinding | None = finding
    if rounded is not None and finding.decided_by not in ("structure", "shape", "dtype"):
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
