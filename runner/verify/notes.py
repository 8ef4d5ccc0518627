"""What a reader has to know about a comparison beside its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.verify.compare import Finding

_NAMED = 3
"""Tensors that a note names; it counts the others."""
_NO_ROUNDING = 100.0
"""Times eager's own error: what is further off is not explained by another order of additions."""


def of(finding: Finding) -> list[str]:
    """Return the notes of a comparison, each with the tensors it is about."""
    found = []
    if finding.failed_iteration and finding.failed_iteration > 1:
        found.append(f"{finding.first_failed}: right before iteration {finding.failed_iteration}")
    if finding.failed_samples:
        first, last = finding.failed_samples
        found.append(f"{finding.first_failed}: samples {first} to {last} are furthest off (from 0 on)")
    for reason in dict.fromkeys(finding.deviating.values()):
        about = [name for name, its in finding.deviating.items() if its == reason]
        found.append(f"{_names(about)}: outside the tolerance, but known: {reason}")
    if _far_off(finding):
        found.append(
            f"{finding.furthest}: RMSE {finding.rmse:.2g} against eager's {finding.rmse_eager:.2g}; "
            "the tolerance allows it, rounding does not explain it"
        )
    if finding.tight:
        found.append(
            f"{_names(finding.tight)}: judged more strictly, because the table's tolerance would not notice 5 %"
        )
    for reason in dict.fromkeys(finding.unjudged.values()):
        about = [name for name, its in finding.unjudged.items() if its == reason]
        found.append(f"{_names(about)}: not judged: {reason}")
    if finding.far:
        name, distance = max(finding.far.items(), key=lambda each: each[1])
        found.append(f"{_names(list(finding.far))}: not judged, and {distance:.3g} away ({name})")
    if finding.widened:
        found.append(f"{_names(finding.widened)}: of another dtype than eager's")
    if finding.opaque:
        found.append(f"{_names(finding.opaque)}: no tensor, not compared")
    return found


def inconclusive(finding: Finding) -> str:
    """Say why agreement is no PASS."""
    missing = finding.missing()
    if missing:
        return f"no PASS: {_names(missing)} would have to be judged"
    return "no PASS: no output varies with weights and inputs, so nothing could be judged"


def _far_off(finding: Finding) -> bool:
    """Say whether the worst tensor of a pass is off by more than rounding, and nothing explains it yet."""
    if not finding.passed or finding.rmse is None or not finding.rmse_eager or finding.furthest in finding.deviating:
        return False
    return finding.rmse > _NO_ROUNDING * finding.rmse_eager


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown
