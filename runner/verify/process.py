"""The order of a verification: eager twice, eager in float64, copies that vary, the backend, the timed process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from runner import failure
from runner.backends import backend_of, steps
from runner.messages import Load
from runner.verify import fit, references, tables
from runner.verify.compare import (
    REQUIRED,
    Expected,
    TensorFinding,
    compare,
    differences,
    inconclusive,
    kind_of,
    moved,
    notes_of,
    shifting,
    stale,
    unchanged,
)
from runner.verify.copies import ComparedSize, Copies, NotBuilt, Results
from runner.verify.judge import TensorRule
from runner.verify.leaves import identical
from runner.verify.preparation import make_deterministic
from runner.verify.references import ReferenceResults
from runner.verify.timed import compare_with
from store.record import Verification
from store.verification import at_batch

T = TypeVar("T")

_PERTURBATIONS = 4
"""Copies changed by rounding, made where a result fails: behind an input near zero about half of them jump."""


_TF32, _BFLOAT16 = 2.0**-10, 2.0**-7
"""Relative distance of neighbouring numbers in the formats that such products round to: twice the rounding."""


class Stopped(Exception):
    """A run of a copy failed, so there is nothing to compare."""

    def __init__(self, code: str, error: Exception) -> None:
        super().__init__(str(error))
        self.code = code
        self.error = error


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
            runtime = _run(lambda: backend.open(load.config, load.settings.device_index), "EXCEPTION_RAISED")
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
        reference = self._shared() or self._computed()
        if reference is None:
            return
        eager, expected = reference.eager, reference.expected
        result = _run(self.copies.backend, "EXCEPTION_RAISED")
        self.verification.notes += result.notes
        finding = self._compare_steps(expected.part({"prediction"}, but=True), result)
        self._try_other_inputs(finding, eager, result)
        del result
        self._conclude(self._with_predictions(expected, finding), eager)
        self._compare_timed(expected, eager)

    def _shared(self) -> ReferenceResults | None:
        """Return what another member of the group has computed, if eager gives the same here."""
        reference = references.read(self.shared, self.copies) if self.shared else None
        if reference is None:
            return None
        verification, expected, criteria = self.verification, reference.expected, self.copies.criteria
        verification.batch_size, verification.timed_batch_size = reference.eager.batch_size, reference.timed_batch_size
        verification.iterations, verification.reference = len(reference.eager.leaves), reference.kind
        verification.notes += reference.notes
        self._double_parts_n = reference.double_parts_n
        return replace(reference, expected=replace(expected, deviations=criteria.deviations))

    def _computed(self) -> ReferenceResults | None:
        """Compute what right results are, for the other members of the group too; None where eager's runs differ."""
        wanted, notes_n = self.copies.size, len(self.verification.notes)
        eager = self._eager()
        if eager is None:
            return None
        copies, expected = self.copies, self._expected(eager)
        reference = ReferenceResults(
            eager=eager,
            expected=expected,
            kind=self.verification.reference,
            notes=self.verification.notes[notes_n:],
            double_parts_n=self._double_parts_n,
            size=copies.size,
            timed_batch_size=copies.timed_batch_size,
            written=copies.written,
            changed=copies.changed,
        )
        if self.shared:
            references.write(self.shared, wanted, copies, reference)
        return reference

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
            perturbed = self._attempt(partial(self.copies.double, perturbation_seed=seed), note)
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

    def _eager(self) -> Results | None:
        """Run eager twice; None where the runs differ, which is the verdict then."""
        first, taken_bytes = self.limits.measured(self._first_eager)
        self.verification.batch_size = first.batch_size
        self.verification.timed_batch_size = self.copies.timed_batch_size
        self._note_batch(first.batch_size)
        self._fit(first, taken_bytes)
        second = _run(lambda: self.copies.eager(once=first.stateless), "EAGER_FAILED")
        compared = first.leaves[: len(second.leaves)]
        verification, differing = self.verification, differences(compared, second.leaves)
        if not differing:
            return first
        name, iteration = differing[0]
        rule = self._rule(cosine=False)
        distance = compare(Expected(eager=compared, double=None, rule=rule), second.leaves)
        verification.code, verification.decided_by = "NONDETERMINISTIC_EAGER_RUN", "bitwise"
        verification.first_failed = name
        verification.failed_iteration = iteration + 1
        verification.max_abs_error, verification.max_rel_error = distance.max_abs, distance.max_rel
        verification.tensors = distance.tensors
        return None

    def _first_eager(self) -> Results:
        try:
            return self.copies.eager(identified=self.shared is not None)
        except Exception as error:
            if fit.is_out_of_memory(error):
                size = self.copies.size
                raise fit.TooLarge("eager does not fit into memory", size.batch_size, error) from error
            raise Stopped("EAGER_FAILED", error) from error

    def _note_batch(self, checked: int | None) -> None:
        """Say where the batch is not the one that was asked for."""
        asked, most, timed_ = self.copies.size.batch_size, self.copies.size.most, self.copies.timed_batch_size
        if most is not None and checked != timed_:
            self.verification.notes.append(
                f"preset peer compares {most} samples at most, as its runner does; {timed_} are timed"
            )
        elif asked is not None and checked is not None and asked != checked:
            self.verification.notes.append(f"batch size {asked} was requested, but the model fixes it at {checked}")

    def _fit(self, first: Results, taken_bytes: int) -> None:
        """Take fewer iterations where all of them would take too long."""
        iterations = self.limits.iterations(first.seconds)
        if iterations < 1:
            raise fit.TooLarge(
                f"an iteration of eager takes {max(first.seconds):.3g} s, too long for all copies", first.batch_size
            )
        if iterations < len(first.leaves):
            self.verification.notes.append(
                f"{iterations} of {len(first.leaves)} iterations are compared: all would take too long"
            )
            self.copies.size = replace(self.copies.size, iterations=iterations)
            del first.leaves[iterations:]
        self.verification.iterations = len(first.leaves)
        self._taken_bytes = taken_bytes

    def _expected(self, eager: Results) -> Expected:
        """Find out what right results are, and which of them are evidence."""
        double = self._double(eager)
        criteria = self.copies.criteria
        seeded, shifts = self._seeded(eager)
        made = Expected(
            eager=eager.leaves,
            double=double,
            rule=self._rule(cosine=criteria.cosine or double is None),
            deviations=criteria.deviations,
            seeded=seeded,
            shifting=shifts,
            initial=eager.initial,
            samples=eager.batch_size,
            rows=criteria.most_samples,
        )
        return replace(made, constant=self._constant(made), from_earlier_call=self._from_earlier_call(eager))

    def _double(self, eager: Results) -> list[dict[str, Any]] | None:
        """Run in float64; None where that cannot be, which makes the check weaker."""
        try:
            leaves, self._double_parts_n = fit.double(
                self.copies, eager, self._taken_bytes, self.limits, self.verification.notes
            )
        except fit.TooLarge:
            raise
        except Exception as error:  # noqa: BLE001 - a model may raise anything in a precision it does not know
            self.verification.reference = "eager"
            first_line = str(error).strip().partition("\n")[0][:200]
            self.verification.notes.append(
                f"float64 could not run ({type(error).__name__}: {first_line}): "
                "judged by cosine similarity with eager, a weaker check"
            )
            return None
        self.verification.reference = "float64"
        return leaves

    def _seeded(self, eager: Results) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """Return the leaves that change with the seed of the iterations, and those whose shape or infinities do."""
        if not eager.draws:
            return frozenset(), frozenset()
        self.verification.notes.append("the model draws random numbers: another device or compiler draws other ones")
        other = _run(lambda: self.copies.eager(reseeded=True), "EAGER_FAILED")
        seeded = frozenset(name for name, _ in differences(eager.leaves, other.leaves))
        return seeded, shifting(eager.leaves, other.leaves, seeded)

    def _constant(self, expected: Expected) -> frozenset[str]:
        """Return the leaves that a copy with other weights and inputs has, too."""
        note = "constants are not known: the disturbed copy raised {}"
        copy = self._attempt(partial(self.copies.eager, disturbed=True), note)
        return unchanged(expected, copy.leaves[0]) if copy and copy.disturbed else frozenset()

    def _from_earlier_call(self, eager: Results) -> frozenset[str]:
        """Return the leaves that other inputs do not change, except in a copy that has had no inputs before."""
        usual = eager.leaves[-1]
        same = {name for name, leaf in eager.other.items() if kind_of(name) in REQUIRED}
        same = {name for name in same if name in usual and identical(usual[name], eager.other[name])}
        if not same or not eager.stateless:
            return frozenset()
        note = "a copy that begins with other inputs raised {}"
        only_other = self._attempt(partial(self.copies.eager, only_other=True), note)
        if only_other is None:
            return frozenset()
        return frozenset(name for name in same if not identical(only_other.leaves[0].get(name), eager.other[name]))

    def _rule(self, *, cosine: bool) -> TensorRule:
        config, criteria, folded = self.copies.load.config, self.copies.criteria, 0
        if config.freezing and config.dtype == "bfloat16":
            from torch._dynamo.utils import counters

            folded = int(counters["inductor"]["binary_folding_conv"])
        return TensorRule(
            tolerance=criteria.tolerance,
            cosine=cosine,
            larger_multiplier=criteria.larger_multiplier,
            max_multiplier=folded > 0,
            iou=criteria.iou,
            widen=config.dtype == "amp",
        )

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
        rounded = self._attempt(partial(self.copies.double, once=True, perturbation_seed=0, rounding=rounding), note)
        return rounded.leaves if rounded else None

    def _attempt(self, copy: Callable[[], Results], note: str) -> Results | None:
        """Run a copy without which there is a verdict, too; the note says what kind of exception it raised."""
        try:
            return copy()
        except Exception as error:  # noqa: BLE001 - a model may raise anything where its weights or inputs are others
            self.verification.notes.append(note.format(type(error).__name__))
            return None


def _run(step: Callable[[], T], code: str) -> T:
    try:
        return step()
    except Exception as error:
        raise Stopped(code, error) from error
