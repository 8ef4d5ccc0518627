"""The extra processes of an experiment, after its timed one: verification, dumps, profiles, timing proofs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from runner.backends import NAMES
from runner.environments.machine import dynamo_sources
from runner.instrument import passes
from runner.messages import UNFINISHED, Instrument, Instrumented, Prove, Proved, Verified, Verify
from runner.proof import judge
from runner.schedule.job import ReplicaJob
from runner.schedule.outcome import Outcome
from runner.schedule.quiet import BUSY_CPUS
from store import advice, verification
from store.record import FAILED, Artifact, Error, Finding, Proof, Verification


@dataclass(kw_only=True)
class Extras:
    """Results of the extra processes; empty if none was requested."""

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
        return [*self.warnings, *(text for answer in self.instrumented for text in answer.warnings)]

    def findings(self) -> list[Finding]:
        """Return the warnings about the verification itself."""
        return [advice.finding("vacuous_check")] if verification.is_vacuous(self.verification) else []

    def outputs_file(self) -> str | None:
        """Return where the outputs of the last iteration lie, if they are whole."""
        outputs = (file.path for file in self.artifacts if file.kind == "output" and not file.note)
        return next(outputs, None)


NOT_PROVED = "TimingProof"
"""Type of the error of a result whose backend's proof failed."""


# Timing proofs: taken once, kept in the home, and held against each result of their backend.


@dataclass(kw_only=True)
class Proofs:
    """The timing proofs that the run has taken or read."""

    folder: Path | None = None
    """Where proofs are kept; None: they last as long as the run."""
    _known: dict[str, Proof] = field(default_factory=dict)

    def of(self, job: ReplicaJob, result: Outcome) -> Proof | None:
        """Return the proof that a result needs, taken now where it is not known; None where there is no number."""
        if job.settings.prove == "off" or result.status != "ok":
            return None
        key = judge.proof_key(job.entry, job.facts.environment, _source(job))
        if key not in self._known:
            proof = None
            if self.folder is not None and job.settings.prove == "once":
                proof = judge.read_proof(self.folder, key)
            if proof is None and job.settings.prove == "once" and (taken := _others_cpus(job)) > BUSY_CPUS:
                # The next result asks again.
                return judge.unknown(f"other programs used {taken:.1f} CPUs, so no timing proof was taken")
            self._known[key] = proof or self._take(job, key)
        return self._known[key]

    def _take(self, job: ReplicaJob, key: str) -> Proof:
        job.progress.note(
            f"Timing proof: checking once that the measured times of {job.entry.backend} include all of its work."
        )
        proof = _new_proof(job)
        if proof.verdict == "failed" and proof.outputs_equal:
            # To refuse a backend for its times, they have to be wrong twice.
            proof = _new_proof(job)
        if self.folder is not None and proof.verdict != "unknown":
            judge.write_proof(
                self.folder, key, judge.stored_proof(job.entry, job.facts.environment, proof, _source(job))
            )
        return proof


def _source(job: ReplicaJob) -> str | None:
    """Return the hash of the source of a backend that is none of ours: its user may edit it between runs."""
    return None if job.entry.backend in NAMES else dynamo_sources(job.facts.python).get(job.entry.backend)


def _new_proof(job: ReplicaJob) -> Proof:
    """Take a proof in a process of its own."""
    _others_cpus(job)
    outcome = job.lead_extra("proof", Prove(load=job.load()))
    taken = _others_cpus(job)
    if not isinstance(outcome.answer, Proved):
        what = outcome.error.message if outcome.error else outcome.status
        return judge.unknown(f"the proof failed to finish: {what}")
    proof = outcome.answer.proof
    if taken > BUSY_CPUS and proof.outputs_equal is not False:
        # Times taken while other programs ran prove nothing; a missing output does.
        reason = f"other programs used {taken:.1f} CPUs meanwhile"
        return msgspec.structs.replace(proof, verdict="unknown", reason=reason)
    return proof


def _others_cpus(job: ReplicaJob) -> float:
    """Return the CPUs that other programs have used since the last call; 0 if unknown or irrelevant."""
    return (job.pool.quiet.others.look().cpus or 0.0) if job.settings.quiet else 0.0


def refuse_unproved(result: Outcome, proof: Proof | None) -> Outcome:
    """Return the result, refused where the proof of its backend failed."""
    if proof is None or proof.verdict != "failed":
        return result
    message = f"the timing proof of this backend failed: {proof.reason}; `--prove` repeats the proof"
    return replace(result, status="invalid", error=Error(phase="measure", type=NOT_PROVED, message=message))


def examine(job: ReplicaJob, result: Outcome) -> Extras:
    """Verify and instrument, each in its own process; a model that failed to load is not loaded again.

    The first replica is examined for all; a twin is there for its times only.
    """
    extras = Extras()
    if job.replica == 0 and not job.member.twin and (result.error is None or result.error.phase != "load"):
        if job.settings.verify != "off":
            _verify(job, extras, result)
        _instrument(job, extras, failed=result.status in FAILED)
    extras.artifacts = [*job.log_artifacts(), *extras.artifacts]
    return extras


def _verify(job: ReplicaJob, extras: Extras, result: Outcome) -> None:
    results = job.results_file
    if results is not None and not results.exists() and (broke_off := result.broke_off) is not None:
        # What is right in another process is no evidence for a program that hung or died with the same inputs.
        results.with_name(results.name + UNFINISHED).unlink(missing_ok=True)
        extras.verification = Verification(
            code="VERIFIER_DIDNT_RUN", decided_by=broke_off.status, error=broke_off.error
        )
        return
    timed_results = str(results) if results and results.exists() else None
    command = Verify(load=job.load(), timed_results=timed_results, shared=job.caches.shared())
    outcome = job.lead_extra("verify", command)
    if results is not None:
        results.unlink(missing_ok=True)
    if isinstance(outcome.answer, Verified):
        extras.verification, extras.verify_metrics = outcome.answer.verification, outcome.answer.metrics
    else:
        extras.verification = Verification(code="VERIFIER_DIDNT_RUN", decided_by=outcome.status, error=outcome.error)


def _instrument(job: ReplicaJob, extras: Extras, *, failed: bool) -> None:
    config = job.config
    left = job.settings.artifact_limit_bytes
    extras.warnings += passes.notes(config, job.settings)
    for extra_pass in passes.passes(config, job.settings, failed=failed):
        folder = job.folder / f"attempt-{job.attempt}"
        folder.mkdir(exist_ok=True)
        command = Instrument(load=job.load(), instruments=extra_pass.instruments, folder=str(folder), limit_bytes=left)
        limit = passes.Limit(folder, left)
        variables = extra_pass.variables(config, folder)
        outcome = job.lead_extra(extra_pass.name, command, variables)
        if outcome.status == "crashed":
            # Profilers crash more often than the programs that they profile.
            extras.warnings.append(f"the extra process `{extra_pass.name}` died and was tried once more")
            outcome = job.lead_extra(f"{extra_pass.name}-second", command, variables)
        if isinstance(outcome.answer, Instrumented):
            extras.instrumented.append(outcome.answer)
            extras.artifacts += [_from_run(job, folder, artifact) for artifact in outcome.answer.artifacts]
            left -= sum(artifact.bytes or 0 for artifact in outcome.answer.artifacts)
        elif outcome.error is not None:
            extras.warnings.append(f"the extra process `{extra_pass.name}` failed: {outcome.error.message}")
            extras.artifacts += [_from_run(job, folder, artifact) for artifact in passes.salvaged(limit)]


def _from_run(job: ReplicaJob, folder: Path, artifact: Artifact) -> Artifact:
    artifact.path = str((folder / artifact.path).relative_to(job.run_folder))
    return artifact
