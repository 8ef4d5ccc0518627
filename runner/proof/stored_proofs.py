"""Timing proofs that are kept in the home, one small file each. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from runner.proof.judge import RULE
from store.folder import write_whole
from store.identity import digest
from store.record import Environment, Proof

if TYPE_CHECKING:
    from pathlib import Path

    from store.record import PlanEntry

FOLDER = "proofs"
"""Under the home."""
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


def of(entry: PlanEntry, environment: Environment, proof: Proof) -> StoredProof:
    """Return a proof with what it holds for."""
    config = entry.config
    return StoredProof(
        proof=proof,
        backend=entry.backend,
        accelerator=config.accelerator,
        test=config.test,
        machine_id=environment.machine_id,
        environment={name: getattr(environment, name) for name in _VERSIONS},
    )


def key_of(entry: PlanEntry, environment: Environment) -> str:
    """Return what experiments with one proof have in common, as the name of its file."""
    config = entry.config
    versions = [getattr(environment, name) for name in _VERSIONS]
    backend = [config.xla, config.dynamo, config.torch_xla2, config.accelerator, config.test]
    return digest([environment.machine_id, *versions, *backend])


def read(folder: Path, key: str) -> Proof | None:
    """Return the proof that is kept; None where there is none that counts today."""
    try:
        kept = msgspec.json.decode((folder / f"{key}.json").read_bytes(), type=StoredProof)
    except (OSError, msgspec.DecodeError):
        return None
    return kept.proof if kept.proof.rule == RULE else None


def read_all(folder: Path) -> list[StoredProof]:
    """Return every proof that is kept in a folder and can be read, in the order of names."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=StoredProof))
        except (OSError, msgspec.DecodeError):
            continue
    return found


def holds(kept: StoredProof, environment: Environment) -> bool:
    """Say whether a proof that is kept counts today, for these versions on this machine."""
    versions = {name: getattr(environment, name) for name in _VERSIONS}
    return (kept.proof.rule, kept.machine_id, kept.environment) == (RULE, environment.machine_id, versions)


def write(folder: Path, key: str, kept: StoredProof) -> None:
    """Keep a proof."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{key}.json", msgspec.json.format(msgspec.json.encode(kept)))
