"""The order of a verification: eager twice, eager in float64, the backend, the negative control."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from runner import failure
from runner.backends import backend_of
from runner.verify import control, determinism, notes, tables
from runner.verify.compare import Finding, compare, first_difference, kind_of
from runner.verify.copies import Copies, NotBuilt, Results
from runner.verify.judge import Rule
from store.record import Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.messages import Load
    from runner.verify.tables import Criteria
    from store.record import VerificationCode

T = TypeVar("T")


class Stopped(Exception):
    """A run of a copy failed, so there is nothing to compare."""

    def __init__(self, code: VerificationCode, error: Exception) -> None:
        super().__init__(str(error))
        self.code = code
        self.error = error


def verify(load: Load) -> Verification:
    """Compare the backend's results with eager's; what the copies raise is part of the answer."""
    began = time.perf_counter()
    criteria = tables.criteria(load.config, load.settings)
    found = Verification(
        code="VERIFIER_SKIPPED",
        tolerance=criteria.tolerance,
        iterations=load.settings.verify_iterations,
        notes=list(criteria.notes),
    )
    if criteria.skip is not None:
        found.decided_by = "table"
        found.notes.append(criteria.skip)
    else:
        try:
            determinism.make_deterministic(load.config, load.settings.threads)
            _Check(_run(lambda: _open(load, criteria), "EXCEPTION_RAISED"), found).carry_out()
        except Stopped as stopped:
            _tell(found, stopped)
    found.seconds = time.perf_counter() - began
    return found


def _tell(found: Verification, stopped: Stopped) -> None:
    """Say what stopped a verification; out of memory has a name of its own."""
    cause = stopped.error.__cause__ if isinstance(stopped.error, NotBuilt) else None
    found.code = stopped.code
    found.error = failure.describe("load", cause) if cause else failure.describe("verify", stopped.error)
    out_of_memory = failure.status_of("verify", cause or stopped.error) == "oom"
    found.decided_by = "oom" if out_of_memory else "exception"


def _open(load: Load, criteria: Criteria) -> Copies:
    config = load.config
    backend = backend_of(config.xla, config.dynamo, config.torch_xla2)
    return Copies(load=load, criteria=criteria, runtime=backend.open(config, load.settings.device_index))


@dataclass
class _Check:
    """One verification on its way; what it learns goes into `found`."""

    copies: Copies
    found: Verification

    def carry_out(self) -> None:
        """Run the copies in order and give the verdict."""
        eager = self._eager()
        if eager is None:
            return
        double = self._double()
        result = _run(self.copies.backend, "EXCEPTION_RAISED")
        self.found.notes += result.notes
        criteria = self.copies.criteria
        rule = self._rule(cosine=criteria.cosine or double is None)
        finding = compare(eager.leaves, result.leaves, double, rule, criteria.deviations)
        del result
        self._conclude(finding)
        if finding.passed and finding.tensors:
            self._control(eager, double, rule)

    def _eager(self) -> Results | None:
        """Run eager twice; None where the runs differ, which is the verdict then."""
        first = _run(self.copies.eager, "EAGER_FAILED")
        second = _run(self.copies.eager, "EAGER_FAILED")
        self.found.batch_size = first.batch_size
        if first.draws:
            self.found.notes.append("the model draws random numbers: another device or compiler draws other ones")
        name = first_difference(first.leaves, second.leaves)
        if name is None:
            return first
        found, rule = self.found, self._rule(cosine=False)
        distance = compare(first.leaves, second.leaves, None, rule)
        found.code, found.decided_by, found.first_failed = "NONDETERMINISTIC_EAGER_RUN", "bitwise", name
        found.max_abs_error, found.max_rel_error = distance.max_abs, distance.max_rel
        found.tensors = distance.tensors
        return None

    def _double(self) -> dict[str, Any] | None:
        """Run in float64; None where that cannot be, which makes the check weaker."""
        try:
            leaves = self.copies.double().leaves
        except Exception as error:  # noqa: BLE001 - a model may raise anything in a precision it does not know
            self.found.reference = "eager"
            first_line = str(error).strip().partition("\n")[0][:200]
            self.found.notes.append(
                f"float64 could not run ({type(error).__name__}: {first_line}): "
                "judged by cosine similarity with eager, a weaker check"
            )
            return None
        self.found.reference = "float64"
        return leaves

    def _rule(self, *, cosine: bool) -> Rule:
        config, criteria = self.copies.load.config, self.copies.criteria
        return Rule(
            tolerance=criteria.tolerance,
            cosine=cosine,
            larger_multiplier=criteria.larger_multiplier,
            max_multiplier=config.freezing and config.dtype == "bfloat16" and _folded_convolutions() > 0,
            iou=criteria.iou,
        )

    def _conclude(self, finding: Finding) -> None:
        """Take the finding into the record's words."""
        found = self.found
        found.code = "PASS" if finding.passed else "FAIL"
        found.decided_by, found.first_failed = finding.decided_by, finding.first_failed
        found.max_abs_error, found.max_rel_error = finding.max_abs, finding.max_rel
        found.rmse, found.rmse_eager, found.cosine = finding.rmse, finding.rmse_eager, finding.cosine
        found.tensors = finding.tensors
        found.notes += notes.of(finding)
        if finding.passed and not finding.tensors:
            found.code, found.decided_by = "VERIFIER_SKIPPED", None
            found.notes.append("the result holds no tensor: there is nothing to compare")

    def _control(self, eager: Results, double: dict[str, Any] | None, rule: Rule) -> None:
        """Run a disturbed eager copy through the same check, which has to notice."""
        found = self.found
        try:
            copy = self.copies.eager(disturbed=True)
        except Exception as error:  # noqa: BLE001 - disturbed weights may break a model
            found.control = f"none: the disturbed copy raised {type(error).__name__}"
            return
        if copy.disturbed is None:
            found.control = "none: the model has neither floating weights nor floating inputs"
            return
        references = {name: leaf for name, leaf in eager.leaves.items() if kind_of(name) not in control.TRIVIAL}
        results = {name: leaf for name, leaf in copy.leaves.items() if kind_of(name) not in control.TRIVIAL}
        seen = compare(references, results, double, rule)
        if not seen.passed:
            found.control = "noticed"
            return
        found.control = "vacuous"
        difference = "equal" if not seen.max_abs else f"at most {seen.max_abs:.3g} away"
        found.notes.append(
            f"PASS is vacuous: results of a copy with disturbed {copy.disturbed} pass the same check ({difference})"
        )


def _run(step: Callable[[], T], code: VerificationCode) -> T:
    try:
        return step()
    except Exception as error:
        raise Stopped(code, error) from error


def _folded_convolutions() -> int:
    from torch._dynamo.utils import counters

    return int(counters["inductor"]["binary_folding_conv"])
