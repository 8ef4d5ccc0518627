"""The order of a verification: what right results are, the backend's results, those of the timed process."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from runner import failure
from runner.backends import backend_of, steps
from runner.messages import Load
from runner.verify import fit, tables
from runner.verify.compare import (
    Expected,
    TensorFinding,
    compare,
    inconclusive,
    kind_of,
    moved,
    notes_of,
    stale,
)
from runner.verify.copies import ComparedSize, Copies, NotBuilt, Results
from runner.verify.preparation import make_deterministic
from runner.verify.reference_runs import ReferenceRuns, Stopped, attempt, run_or_stop
from runner.verify.timed import compare_with
from store.record import Verification
from store.verification import at_batch

_PERTURBATIONS = 4
"""Copies changed by rounding, made where a result fails: behind an input near zero about half of them jump."""


_TF32, _BFLOAT16 = 2.0**-10, 2.0**-7
"""Relative distance of neighbouring numbers in the formats that such products round to: twice the rounding."""


def verify(load: Load, timed_results: str | None = None, shared: str | None = None) -> Verification:
    """Compare the backend's results with eager's; what the copies raise is part of the answer.

    Args:
        load: the experiment, as the timed process was asked for it.
        timed_results: the file in which the timed process left results of its own, or None.
        shared: the folder in which members of a group share what does not depend on the backend, or None.
    """
    began = time.perf_counter()
    criteria = tables.criteria(load.config, load.settings)
    verification = Verification(
        code="VERIFIER_SKIPPED",
        tolerance=criteria.tolerance,
        iterations=load.settings.verify_iterations,
        notes=list(criteria.notes),
    )
    if criteria.skip is not None:
        verification.decided_by = "table"
        verification.notes.append(criteria.skip)
    else:
        try:
            make_deterministic(load.config, load.settings.threads)
            backend = backend_of(load.config.xla, load.config.dynamo, load.config.torch_xla2)
            runtime = run_or_stop(lambda: backend.open(load.config, load.settings.device_index), "EXCEPTION_RAISED")
            size = ComparedSize(batch_size=load.batch_size, iterations=load.settings.verify_iterations)
            copies = Copies(load=load, criteria=criteria, runtime=runtime, size=size)
            limits = fit.FitLimits.of(load.settings, began)
            _at_the_largest_size(
                _Check(
                    copies=copies, verification=verification, limits=limits, timed_results=timed_results, shared=shared
                )
            )
        except Stopped as stopped:
            cause = stopped.error.__cause__ if isinstance(stopped.error, NotBuilt) else None
            verification.code = stopped.code
            verification.error = failure.describe("load" if cause else "verify", cause or stopped.error)
            # Out of memory has a name of its own.
            out_of_memory = failure.status_of("verify", cause or stopped.error) == "oom"
            verification.decided_by = "oom" if out_of_memory else "exception"
    verification.seconds = time.perf_counter() - began
    return verification


def _at_the_largest_size(check: _Check) -> None:
    """Check at the timed batch size; at a smaller one only if eager or float64 cannot run at it."""
    copies, verification = check.copies, check.verification
    if copies.load.settings.preset == "peer":
        copies.size = replace(copies.size, most=copies.criteria.most_samples)
    while True:
        usual = list(verification.notes)
        try:
            replace(check).carry_out()
        except fit.TooLarge as too_large:
            smaller = fit.smaller(copies, too_large.batch_size)
            if smaller is None:
                raise Stopped("EAGER_FAILED", too_large.error or too_large) from too_large
            verification.notes = [*usual, f"{too_large}: {smaller.batch_size} samples are compared instead"]
            copies.size = smaller
        else:
            return


@dataclass(kw_only=True)
class _Check:
    """One running verification; its results go into `verification`."""

    copies: Copies
    verification: Verification
    limits: fit.FitLimits
    timed_results: str | None
    shared: str | None
    _moved: dict[tuple[int, str], float] | None = None
    """What `_unstable` has found."""
    _double_parts_n: int = 1
    """In how many parts of the batch float64 was computed."""
    _refuses_others: bool = False
    """The backend raised an exception for other inputs, and eager did not."""

    def carry_out(self) -> None:
        reference = ReferenceRuns(
            copies=self.copies, verification=self.verification, limits=self.limits, shared=self.shared
        ).reference()
        if reference is None:
            return
        self._double_parts_n = reference.double_parts_n
        # Eager's own copy would only repeat what the reference has shown to be deterministic.
        own = self.copies.is_eager()
        result = reference.eager if own else run_or_stop(self.copies.backend, "EXCEPTION_RAISED")
        eager, expected = reference.eager, self._folded(reference.expected)
        self.verification.notes += result.notes
        finding = self._compare_steps(expected.part({"prediction"}, but=True), result)
        self._try_other_inputs(finding, eager, result)
        del result
        self._conclude(self._with_predictions(expected, finding), eager)
        self._compare_timed(expected, eager)

    def _folded(self, expected: Expected) -> Expected:
        """Widen the rule where inductor folded convolutions in bfloat16: this is known when it has compiled."""
        config = self.copies.load.config
        if not (config.freezing and config.dtype == "bfloat16"):
            return expected
        from torch._dynamo.utils import counters

        if not counters["inductor"]["binary_folding_conv"]:
            return expected
        return replace(expected, rule=replace(expected.rule, max_multiplier=True), _yardsticks={})

    def _compare_steps(self, expected: Expected, result: Results) -> TensorFinding:
        """Compare; what fails is compared once more with what rounding alone makes of float64."""
        finding = compare(expected, result.leaves)
        if finding.passed:
            return finding
        return compare(replace(expected, unstable=self._unstable(expected)), result.leaves)

    def _unstable(self, expected: Expected) -> dict[tuple[int, str], float]:
        """Return by iteration and leaf how far rounding alone moves float64; empty where this is not known."""
        if self._double_parts_n > 1 or expected.double is None or self.copies.load.config.dtype != "float32":
            return {}
        if self._moved is not None:
            return self._moved
        unstable: dict[tuple[int, str], float] = {}
        for seed in range(_PERTURBATIONS):
            if time.perf_counter() - self.limits.began > self.limits.seconds:
                break
            note = "float64 with rounded weights and inputs raised {}: not compared with it"
            perturbed = attempt(partial(self.copies.double, perturbation_seed=seed), note, self.verification.notes)
            if perturbed is None:
                break
            for where, rmse in moved(expected, perturbed.leaves).items():
                unstable[where] = max(rmse, unstable.get(where, 0.0))
        self._moved = unstable
        return unstable

    def _try_other_inputs(self, finding: TensorFinding, eager: Results, result: Results) -> None:
        """Fail results that do not follow the inputs: all iterations before had the same ones."""
        if not finding.passed or not eager.other:
            return
        if not result.other:
            self._refuses_others = True
            self.verification.notes.append(
                "no PASS, because the backend raised an exception with other inputs and eager did not"
            )
            return
        usual_and_other = (eager.leaves[-1], eager.other), (result.leaves[-1], result.other)
        ignoring = stale(*usual_and_other, finding.judged)
        if ignoring:
            finding.passed, finding.decided_by, finding.first_failed = False, "bitwise", ignoring[0]
            self.verification.notes.append(
                f"{ignoring[0]}: with other inputs, the backend gives the same, eager does not"
            )

    def _with_predictions(self, expected: Expected, finding: TensorFinding) -> TensorFinding:
        """Judge what the model predicts in training, where the rest is right: the verdict is that of both."""
        if not finding.passed or not self.copies.judges_predictions():
            return finding
        try:
            result = self.copies.backend_with_predictions()
        except Exception as error:  # noqa: BLE001 - this program is not the timed one, so its failure is none of that
            self.verification.notes.append(
                f"predictions are not compared: the step that returns them raised {error!r}"[:300]
            )
            return finding
        wanted = replace(expected, eager=expected.eager[:1]).part({"prediction"})
        leaves = {name: leaf for name, leaf in result.leaves[0].items() if kind_of(name) == "prediction"}
        predicted = compare(wanted, [leaves])
        if not predicted.passed:
            self.verification.notes.append("the loss is right, but the predictions that it is computed from are not")
            return predicted
        finding.tensors += predicted.tensors
        finding.judged |= predicted.judged
        finding.unjudged |= predicted.unjudged
        return finding

    def _conclude(self, finding: TensorFinding, eager: Results) -> None:
        """Take the finding into the record's words."""
        verification = self.verification
        verification.code = "PASS" if finding.passed else "FAIL"
        verification.decided_by, verification.first_failed = finding.decided_by, finding.first_failed
        verification.failed_iteration = finding.failed_iteration
        verification.max_abs_error, verification.max_rel_error = finding.max_abs, finding.max_rel
        verification.rmse, verification.rmse_eager = finding.rmse, finding.rmse_eager
        verification.cosine = finding.cosine
        verification.tensors, verification.judged = finding.tensors, len(finding.judged)
        verification.unjudged = [f"{name}: {why}" for name, why in finding.unjudged.items()]
        verification.notes += notes_of(finding)
        if not finding.passed:
            return
        if not finding.tensors:
            verification.code, verification.decided_by = "VERIFIER_SKIPPED", None
            verification.notes.append("the result holds no tensor: there is nothing to compare")
        elif not finding.conclusive:
            verification.code, verification.decided_by = "VERIFIER_SKIPPED", "unjudged"
            verification.notes.append(inconclusive(finding))
        elif self._refuses_others:
            verification.code, verification.decided_by = "VERIFIER_SKIPPED", "unjudged"
        else:
            verification.control = "noticed"
            verification.code = at_batch(eager.batch_size, self.copies.timed_batch_size)

    def _compare_timed(self, expected: Expected, eager: Results) -> None:
        """Judge the results that the timed process itself left, where they are those of the same weights."""
        if self.timed_results is None or self.verification.code not in ("PASS", "VERIFIER_SKIPPED"):
            return
        config = self.copies.load.config
        exact = steps.precision(config) == "highest" and (config.accelerator == "cpu" or config.disable_tf32)
        same_batch = eager.batch_size == self.copies.timed_batch_size
        answer = compare_with(
            self.timed_results,
            expected,
            eager,
            rounded=None if exact else self._rounded,
            unstable=lambda: self._unstable(expected),
            same_batch=same_batch,
        )
        verification, failed = self.verification, answer.failed
        verification.timed_results = answer.verdict
        verification.notes += answer.notes
        if answer.raised:
            verification.code, verification.decided_by, verification.control = "VERIFIER_SKIPPED", "unjudged", None
        if failed is not None:
            verification.code, verification.decided_by = "FAIL", failed.decided_by
            verification.first_failed = f"timed process: {failed.first_failed}"
            verification.max_abs_error, verification.max_rel_error = failed.max_abs, failed.max_rel
            verification.rmse, verification.rmse_eager = failed.rmse, failed.rmse_eager
            verification.control = None

    def _rounded(self) -> list[dict[str, Any]] | None:
        """Return float64's leaves with weights and inputs rounded as the timed process rounds those of products."""
        if self._double_parts_n > 1 or time.perf_counter() - self.limits.began > self.limits.seconds:
            return None
        low = steps.precision(self.copies.load.config) in ("medium", "default")
        rounding = _BFLOAT16 if low else _TF32
        note = "float64 rounded like the products raised {}: not compared with it"
        copy = partial(self.copies.double, once=True, perturbation_seed=0, rounding=rounding)
        rounded = attempt(copy, note, self.verification.notes)
        return rounded.leaves if rounded else None
