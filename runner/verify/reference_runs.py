"""What right results are: eager twice, eager in float64, and copies that vary, or what another member has computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from runner.verify import fit, references
from runner.verify.compare import REQUIRED, Expected, compare, differences, kind_of, shifting, unchanged
from runner.verify.copies import Copies, Results
from runner.verify.judge import TensorRule
from runner.verify.leaves import identical
from runner.verify.references import ReferenceResults
from store.errors import Signal
from store.record import Verification

T = TypeVar("T")


class Stopped(Signal):
    """A run of a copy failed, so there is nothing to compare."""

    def __init__(self, code: str, error: Exception) -> None:
        super().__init__(str(error))
        self.code = code
        self.error = error


def run_or_stop(step: Callable[[], T], code: str) -> T:
    """Run a step without which there is no verdict.

    Raises:
        Stopped: it failed.
    """
    try:
        return step()
    except Exception as error:
        raise Stopped(code, error) from error


def attempt(copy: Callable[[], Results], note: str, notes: list[str]) -> Results | None:
    """Run a copy without which there is a verdict, too; the note says what kind of exception it raised."""
    try:
        return copy()
    except Exception as error:  # noqa: BLE001 - a model may raise anything where its weights or inputs are others
        notes.append(note.format(type(error).__name__))
        return None


@dataclass(kw_only=True)
class ReferenceRuns:
    """Finds out what right results are; what it notices goes into `verification`."""

    copies: Copies
    verification: Verification
    limits: fit.FitLimits
    shared: str | None
    """The folder in which members of a group share what does not depend on the backend."""
    _double_parts_n: int = 1

    def reference(self) -> ReferenceResults | None:
        """Return what results are compared with; None where eager's runs differ, which is the verdict then.

        Raises:
            Stopped: eager failed.
            fit.TooLarge: eager or float64 cannot run at this batch size.
        """
        return self._shared() or self._computed()

    def _shared(self) -> ReferenceResults | None:
        """Return what another member of the group has computed, if eager gives the same here."""
        reference = references.read(self.shared, self.copies) if self.shared else None
        if reference is None:
            return None
        verification, expected, criteria = self.verification, reference.expected, self.copies.criteria
        verification.batch_size, verification.timed_batch_size = reference.eager.batch_size, reference.timed_batch_size
        verification.iterations, verification.reference = len(reference.eager.leaves), reference.kind
        verification.notes += reference.notes
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

    def _eager(self) -> Results | None:
        """Run eager twice; None where the runs differ, which is the verdict then."""
        first, taken_bytes = self.limits.measured(self._first_eager)
        self.verification.batch_size = first.batch_size
        self.verification.timed_batch_size = self.copies.timed_batch_size
        self._note_batch(first.batch_size)
        self._fit(first, taken_bytes)
        second = run_or_stop(lambda: self.copies.eager(once=first.stateless), "EAGER_FAILED")
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
        other = run_or_stop(lambda: self.copies.eager(reseeded=True), "EAGER_FAILED")
        seeded = frozenset(name for name, _ in differences(eager.leaves, other.leaves))
        return seeded, shifting(eager.leaves, other.leaves, seeded)

    def _constant(self, expected: Expected) -> frozenset[str]:
        """Return the leaves that a copy with other weights and inputs has, too."""
        note = "constants are not known: the disturbed copy raised {}"
        copy = attempt(partial(self.copies.eager, disturbed=True), note, self.verification.notes)
        return unchanged(expected, copy.leaves[0]) if copy and copy.disturbed else frozenset()

    def _from_earlier_call(self, eager: Results) -> frozenset[str]:
        """Return the leaves that other inputs do not change, except in a copy that has had no inputs before."""
        usual = eager.leaves[-1]
        same = {name for name, leaf in eager.other.items() if kind_of(name) in REQUIRED}
        same = {name for name in same if name in usual and identical(usual[name], eager.other[name])}
        if not same or not eager.stateless:
            return frozenset()
        note = "a copy that begins with other inputs raised {}"
        only_other = attempt(partial(self.copies.eager, only_other=True), note, self.verification.notes)
        if only_other is None:
            return frozenset()
        return frozenset(name for name in same if not identical(only_other.leaves[0].get(name), eager.other[name]))

    def _rule(self, *, cosine: bool) -> TensorRule:
        criteria = self.copies.criteria
        return TensorRule(
            tolerance=criteria.tolerance,
            cosine=cosine,
            larger_multiplier=criteria.larger_multiplier,
            iou=criteria.iou,
            widen=self.copies.load.config.dtype == "amp",
        )
