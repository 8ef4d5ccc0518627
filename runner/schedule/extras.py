"""What an experiment's extra processes found: verification, dumps, profiles; all joined into its one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from store import advice, verification

if TYPE_CHECKING:
    from runner.messages import Instrumented
    from store.record import Artifact, Finding, Proof, Verification


@dataclass(kw_only=True)
class Extras:
    """Empty where nothing extra was asked for."""

    verification: Verification | None = None
    proof: Proof | None = None
    verify_metrics: dict[str, Any] = field(default_factory=dict)
    """Metrics for the record if no process was timed."""
    instrumented: list[Instrumented] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    """Logs of all processes and whatever they wrote; paths relative to the run folder."""
    warnings: list[str] = field(default_factory=list)

    def all_warnings(self) -> list[str]:
        """Return the scheduler's warnings and those of the processes."""
        return [*self.warnings, *(text for each in self.instrumented for text in each.warnings)]

    def findings(self) -> list[Finding]:
        """Return what makes the verification's answer doubtful."""
        return [advice.finding("vacuous_check")] if verification.is_vacuous(self.verification) else []

    def outputs_file(self) -> str | None:
        """Return where the outputs of the last iteration lie, if they are whole."""
        return next((each.path for each in self.artifacts if each.kind == "output" and not each.note), None)
