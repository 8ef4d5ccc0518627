"""The extra processes of an experiment, after its timed one: verification, dumps, profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import instrument
from runner.messages import Instrument, Instrumented, Verified, Verify
from runner.schedule.extras import Extras
from store.record import FAILED, Verification

if TYPE_CHECKING:
    from pathlib import Path

    from runner.schedule.job import Job
    from runner.schedule.outcome import Outcome
    from store.record import Artifact


def examine(job: Job, result: Outcome) -> Extras:
    """Verify and instrument, each in processes of their own; what failed to load is not tried again.

    The first replica is examined for all; a twin is there for its times only.
    """
    extras = Extras()
    if job.replica == 0 and not job.member.twin and (result.error is None or result.error.phase != "load"):
        if job.settings.verify != "off":
            _verify(job, extras)
        _instrument(job, extras, failed=result.status in FAILED)
    extras.artifacts = [*job.log_artifacts(), *extras.artifacts]
    return extras


def _verify(job: Job, extras: Extras) -> None:
    results = job.results_file
    command = Verify(load=job.load(), timed_results=str(results) if results and results.exists() else None)
    found = job.lead_extra("verify", command)
    if results is not None:
        results.unlink(missing_ok=True)
    if isinstance(found.answer, Verified):
        extras.verification, extras.verify_metrics = found.answer.verification, found.answer.metrics
    else:
        extras.verification = Verification(code="VERIFIER_DIDNT_RUN", decided_by=found.status, error=found.error)


def _instrument(job: Job, extras: Extras, *, failed: bool) -> None:
    config = job.config
    left = job.settings.artifact_limit_bytes
    extras.warnings += instrument.notes(config, job.settings)
    for each in instrument.passes(config, job.settings, failed=failed):
        folder = job.folder / f"attempt-{job.attempt}"
        folder.mkdir(exist_ok=True)
        command = Instrument(load=job.load(), instruments=each.instruments, folder=str(folder), limit_bytes=left)
        limit = instrument.Limit(folder, left)
        found = job.lead_extra(each.name, command, each.variables(config, folder, {}))
        if found.status == "crashed":
            # Profilers are less stable than what they look at.
            extras.warnings.append(f"the extra process `{each.name}` died and was tried once more")
            found = job.lead_extra(f"{each.name}-second", command, each.variables(config, folder, {}))
        if isinstance(found.answer, Instrumented):
            extras.instrumented.append(found.answer)
            extras.artifacts += [_from_run(job, folder, artifact) for artifact in found.answer.artifacts]
            left -= sum(artifact.bytes or 0 for artifact in found.answer.artifacts)
        elif found.error is not None:
            extras.warnings.append(f"the extra process `{each.name}` did not end well: {found.error.message}")
            extras.artifacts += [_from_run(job, folder, artifact) for artifact in instrument.salvaged(limit)]


def _from_run(job: Job, folder: Path, artifact: Artifact) -> Artifact:
    artifact.path = str((folder / artifact.path).relative_to(job.run_folder))
    return artifact
