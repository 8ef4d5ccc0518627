"""Identities: canonical JSON and the hashes made of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from store.record import ExperimentConfig

_DIGEST_BYTES = 10


def canonical(value: Any) -> bytes:
    """Return JSON with sorted keys and no space; equal values give equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def digest(value: Any) -> str:
    """Return a 20-character hex hash of the canonical form."""
    return hashlib.blake2b(canonical(value), digest_size=_DIGEST_BYTES).hexdigest()


def experiment_id(config: ExperimentConfig) -> str:
    """Identify a requested configuration; protocol settings and the environment are no part of it."""
    return digest(config)


def record_id(run_id: str, experiment: str, environment: str, purpose: str, replica: int, attempt: int) -> str:
    """Identify one record: the same six facts give the same id, so a re-ingest adds nothing."""
    return digest([run_id, experiment, environment, purpose, replica, attempt])


def backend_name(xla: str | None, dynamo: str | None) -> str:
    """Name the backend as PyTorch/XLA's aggregator does; any other dynamo backend keeps its own name."""
    if xla is None:
        return dynamo or "eager"
    if dynamo is None:
        return "openxla+lazytensor"
    return "openxla+dynamo" if dynamo == "openxla" else dynamo


def variant(config: ExperimentConfig) -> str:
    """Return the backend plus every compile setting that is not default, as a short readable string."""
    parts = [backend_name(config.xla, config.dynamo)]
    if config.compile_mode:
        parts.append(f"mode={config.compile_mode}")
    if config.cudagraphs:
        parts.append("cudagraphs")
    if config.dynamic_shapes:
        parts.append("dynamic")
    if config.fullgraph:
        parts.append("fullgraph")
    if config.xla and not config.enable_functionalization:
        parts.append("no-functionalization")
    if config.torch_xla2:
        parts.append(f"torch_xla2={config.torch_xla2}")
    if config.cache != "cold":
        parts.append(f"cache={config.cache}")
    parts += [f"xla_flags={flag}" for flag in config.xla_flags]
    parts += [f"{key}={value}" for key, value in sorted(config.overrides.items())]
    return " ".join(parts)
