"""Timing proofs of a run: taken once, kept in the home, and held against each result of their backend."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from runner.messages import Prove, Proved
from runner.proof import stored_proofs
from runner.proof.judge import RULE
from runner.schedule.quiet import BUSY_CPUS
from store.record import Error, Proof

if TYPE_CHECKING:
    from pathlib import Path

    from runner.schedule.job import Job
    from runner.schedule.outcome import Outcome

NOT_PROVED = "TimingProof"
"""Type of the error of a result whose backend's proof failed."""


@dataclass(kw_only=True)
class Proofs:
    """What the run knows of its backends' clocks."""

    folder: Path | None = None
    """Where proofs are kept; None: they last as long as the run."""
    _known: dict[str, Proof] = field(default_factory=dict)

    def of(self, job: Job, result: Outcome) -> Proof | None:
        """Return the proof that a result needs, taken now where it is not known; None where there is no number."""
        if job.settings.prove == "off" or result.status != "ok":
            return None
        key = stored_proofs.key_of(job.entry, job.facts.environment)
        if key not in self._known:
            found = None
            if self.folder is not None and job.settings.prove == "once":
                found = stored_proofs.read(self.folder, key)
            if found is None and job.settings.prove == "once" and (taken := _others(job)) > BUSY_CPUS:
                # The next result asks again.
                return _unknown(f"other programs used {taken:.1f} CPUs, so no timing proof was taken")
            self._known[key] = found or self._take(job, key)
        return self._known[key]

    def _take(self, job: Job, key: str) -> Proof:
        job.progress.note(
            f"Timing proof: checking once that the measured times of {job.entry.backend} include all of its work."
        )
        proof = _taken_now(job)
        if proof.verdict == "failed" and proof.outputs_equal:
            # To refuse a backend for its times, they have to be wrong twice.
            proof = _taken_now(job)
        if self.folder is not None and proof.verdict != "unknown":
            stored_proofs.write(self.folder, key, stored_proofs.of(job.entry, job.facts.environment, proof))
        return proof


def _taken_now(job: Job) -> Proof:
    """Take a proof in a process of its own."""
    _others(job)
    outcome = job.lead_extra("proof", Prove(load=job.load()))
    taken = _others(job)
    if not isinstance(outcome.answer, Proved):
        what = outcome.error.message if outcome.error else outcome.status
        return _unknown(f"the proof failed to finish: {what}")
    proof = outcome.answer.proof
    if taken > BUSY_CPUS and proof.outputs_equal is not False:
        # Times beside others prove nothing either way; an output that is not there does.
        reason = f"other programs used {taken:.1f} CPUs meanwhile"
        return msgspec.structs.replace(proof, verdict="unknown", reason=reason)
    return proof


def _others(job: Job) -> float:
    """Return the CPUs that others have used since this was asked last; 0 where that is not known or no matter."""
    return (job.pool.quiet.others.look().cpus or 0.0) if job.settings.quiet else 0.0


def _unknown(reason: str) -> Proof:
    return Proof(verdict="unknown", reason=reason, rule=RULE, taken_at=time.time())


def refuse(result: Outcome, proof: Proof | None) -> Outcome:
    """Return the result, refused where the proof of its backend failed."""
    if proof is None or proof.verdict != "failed":
        return result
    message = f"the timing proof of this backend failed: {proof.reason}; `--prove` repeats the proof"
    return replace(result, status="invalid", error=Error(phase="measure", type=NOT_PROVED, message=message))
