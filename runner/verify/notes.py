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
    for reason in dict.fromkeys(finding.deviating.values()):
        about = [name for name, its in finding.deviating.items() if its == reason]
        found.append(f"{_names(about)}: outside the tolerance, but known: {reason}")
    if _far_off(finding):
        found.append(
            f"{finding.furthest}: RMSE {finding.rmse:.2g} against eager's {finding.rmse_eager:.2g}; "
            "the tolerance allows it, rounding does not explain it"
        )
    if finding.relative:
        found.append(
            f"{_names(finding.relative)}: all values lie below the tolerance, so it is relative to the largest one"
        )
    if finding.noise:
        found.append(f"{_names(finding.noise)}: eager itself is far from float64 there, so nothing exact can be asked")
    if finding.not_finite:
        found.append(f"{_names(finding.not_finite)}: eager's values are not all finite")
    if finding.opaque:
        found.append(f"{_names(finding.opaque)}: no tensor, not compared")
    return found


def _far_off(finding: Finding) -> bool:
    """Say whether the worst tensor of a pass is off by more than rounding, and nothing explains it yet."""
    if not finding.passed or finding.rmse is None or not finding.rmse_eager or finding.furthest in finding.deviating:
        return False
    return finding.rmse > _NO_ROUNDING * finding.rmse_eager


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown
