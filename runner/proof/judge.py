"""Judge what the passes of a timing proof took: do the reported times hold all of the work? Imports no torch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from store.files import write_atomically
from store.identity import digest
from store.record import Environment, PlanEntry, Proof, ProofVerdict

RULE = 3
"""Version of the proof: one that was kept under another version is taken again."""
LIMIT = 0.2
"""How far the time of an iteration may be from the reported one, as a share of it."""
OVERLAP_S = 1e-3
"""Launching, tracing and waiting of an honest iteration may overlap with the one before: so much is no skipped work."""
OVERLAP_LIMIT = 0.3
"""How far a further iteration may be below the reported time, as a share of it, if that is within `OVERLAP_S`. Lazy
tensors, which trace the next iteration while the device computes, took 0.09 to 0.22 less on two cores.
"""
STEPS = (1, 2, 4)
"""Lengths of the passes, in units of the shortest one."""


def unknown(reason: str) -> Proof:
    """Return a proof that says nothing about the times, and why."""
    return Proof(verdict="unknown", reason=reason, rule=RULE, taken_at=time.time())


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Passes of n, 2n and 4n iterations, and the reported times between them."""

    reported_s: float
    """Median of the blocks that were timed as for a result, per iteration."""
    seconds: tuple[float, ...]
    """Seconds of each pass, until the device had finished."""
    unfinished_s: tuple[float, ...]
    """For each pass, how much longer its last output took to read than the same output read again."""


@dataclass(frozen=True, kw_only=True)
class FittedLine:
    """What fits the times of the passes: `fixed_s` + `slope_s` · iterations."""

    fixed_s: float
    slope_s: float
    bend_s: float
    """How much longer the middle pass took than a line through the outer two says."""


def line(counts: Sequence[int], seconds: Sequence[float]) -> FittedLine:
    """Fit a line by least squares."""
    fit = statistics.linear_regression(counts, seconds)
    (first, middle, last), (first_s, middle_s, last_s) = counts, seconds
    between_s = first_s + (last_s - first_s) * (middle - first) / (last - first)
    return FittedLine(fixed_s=fit.intercept, slope_s=fit.slope, bend_s=middle_s - between_s)


def judge(shortest: int, repetitions: Sequence[Repetition], wrong: str | None, *, sees: bool) -> Proof:
    """Return the proof.

    Args:
        shortest: iterations of the shortest pass.
        repetitions: what was timed.
        wrong: the first output that was not eager's, and of which iteration it is, or None.
        sees: whether that comparison distinguishes outputs of different inputs.
    """
    counts = [shortest * step for step in STEPS]
    lines = [line(counts, repetition.seconds) for repetition in repetitions]
    reported = statistics.median(repetition.reported_s for repetition in repetitions)
    proof = Proof(
        verdict="passed",
        rule=RULE,
        taken_at=time.time(),
        iterations=shortest,
        reported_s=reported,
        slope_s=statistics.median(fit.slope_s for fit in lines),
        fixed_s=statistics.median(fit.fixed_s for fit in lines),
        unfinished_s=statistics.median(statistics.median(repetition.unfinished_s) for repetition in repetitions),
        outputs_equal=wrong is None,
    )
    if wrong is not None:
        proof.verdict = "failed"
        proof.reason = f"when the clock stops, {wrong} differs from eager's: its work is not done or wrong"
        return proof
    if not sees:
        proof.verdict, proof.reason = "unknown", "the outputs of different inputs are equal, so they prove nothing"
        return proof
    verdicts = _of_times(proof, repetitions, lines)
    for verdict in ("failed", "unknown"):
        reason = next((reason for other, reason in verdicts if other == verdict), None)
        if reason is not None:
            proof.verdict, proof.reason = verdict, reason
            break
    return proof


def _of_times(
    proof: Proof, repetitions: Sequence[Repetition], lines: Sequence[FittedLine]
) -> list[tuple[ProofVerdict, str]]:
    """Return each verdict about the times with what is to be said where they do not pass."""
    shortest, reported = proof.iterations or 1, proof.reported_s or 0.0
    counts = [shortest * step for step in STEPS]
    off = [fit.slope_s / reported - 1 for fit in lines]
    bends = [fit.bend_s / (counts[1] * reported) for fit in lines]
    unfinished = [statistics.median(repetition.unfinished_s) / reported for repetition in repetitions]
    slopes = f"a further iteration takes {_ms(proof.slope_s)}, but {_ms(reported)} are reported"
    late = f"after the clock has stopped, the last output takes another {_ms(proof.unfinished_s)}"
    bent = f"the times of {counts[0]}, {counts[1]} and {counts[2]} iterations do not fit a line"
    return [
        (_of(off), f"{slopes}: some work is not timed"),
        (_skipped(proof, [-share for share in off]), f"{slopes}: iterations are skipped, or they overlap"),
        (_of(bends), bent),
        (_of([-share for share in bends]), bent),
        (_of(unfinished), f"{late}; {_ms(reported)} are reported for an iteration"),
    ]


def _of(shares: Sequence[float]) -> ProofVerdict:
    """Judge shares that should be small: what is beyond the limit each time has failed, what is at times is unknown."""
    if min(shares) > LIMIT:
        return "failed"
    return "passed" if statistics.median(shares) <= LIMIT else "unknown"


def _skipped(proof: Proof, shares: Sequence[float]) -> ProofVerdict:
    """Judge by how much further iterations are shorter than reported; as much as honest ones overlap is none."""
    if (proof.reported_s or 0.0) - (proof.slope_s or 0.0) > OVERLAP_S:
        return _of(shares)
    return "passed" if statistics.median(shares) <= OVERLAP_LIMIT else "unknown"


def _ms(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds * 1e3:.3g} ms"


# Proofs that are kept in the home, one small file each.

PROOFS_FOLDER = "proofs"
"""Folder of the proofs in the home."""
_VERSIONS = ("python", "torch", "torch_git", "torch_xla", "torch_xla_git", "torchax", "jax", "driver")


class StoredProof(msgspec.Struct, kw_only=True):
    """A proof and what it holds for."""

    proof: Proof
    backend: str
    accelerator: str
    test: str
    machine_id: str | None
    environment: dict[str, str | None]
    """Versions; the same backend in another version has a proof of its own."""
    source: str | None = None
    """Hash of the source file of a backend that a package adds to dynamo."""


def stored_proof(entry: PlanEntry, environment: Environment, proof: Proof, source: str | None = None) -> StoredProof:
    """Return a proof with what it holds for."""
    config = entry.config
    return StoredProof(
        proof=proof,
        backend=entry.backend,
        accelerator=config.accelerator,
        test=config.test,
        machine_id=environment.machine_id,
        environment={name: getattr(environment, name) for name in _VERSIONS},
        source=source,
    )


def proof_key(entry: PlanEntry, environment: Environment, source: str | None = None) -> str:
    """Return what experiments with one proof have in common, as the name of its file."""
    config = entry.config
    versions = [getattr(environment, name) for name in _VERSIONS]
    backend = [config.xla, config.dynamo, config.torch_xla2, config.accelerator, config.test]
    return digest([environment.machine_id, *versions, *backend, *filter(None, [source])])


def read_proof(folder: Path, key: str) -> Proof | None:
    """Return the proof that is kept; None where there is none that counts today."""
    stored = _read(folder / f"{key}.json")
    return stored.proof if stored is not None and stored.proof.rule == RULE else None


def read_proofs(folder: Path) -> list[StoredProof]:
    """Return every proof that is kept in a folder and can be read, in the order of names."""
    return [stored for path in sorted(folder.glob("*.json")) if (stored := _read(path)) is not None]


def _read(path: Path) -> StoredProof | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=StoredProof)
    except (OSError, msgspec.DecodeError):
        return None


def proof_holds(stored: StoredProof, environment: Environment, sources: Mapping[str, str]) -> bool:
    """Say whether a proof that is kept counts today, for these versions and sources of backends on this machine."""
    versions = {name: getattr(environment, name) for name in _VERSIONS}
    today = (RULE, environment.machine_id, versions, sources.get(stored.backend))
    return (stored.proof.rule, stored.machine_id, stored.environment, stored.source) == today


def write_proof(folder: Path, key: str, stored: StoredProof) -> None:
    """Keep a proof."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{key}.json", msgspec.json.format(msgspec.json.encode(stored)))
