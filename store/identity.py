"""Identities and names: canonical JSON, hashes of it, and the names of backends, variants and models."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import msgspec

from store.record import ExperimentConfig

_DIGEST_BYTES = 10
_COMPILE_SETTINGS = (
    ("compile_mode", "mode={}"),
    ("cudagraphs", "cudagraphs"),
    ("dynamic_shapes", "dynamic"),
    ("dynamic_batch_only", "dynamic-batch-only"),
    ("fullgraph", "fullgraph"),
    ("freezing", "freezing"),
    ("keep_model_data_on_cuda", "keep-model-data-on-cuda"),
)
"""Fields that a variant contains if they are set, and their form in it."""
_WORK_SETTINGS = (
    ("amp_dtype", "amp={}"),
    ("disable_tf32", "disable-tf32"),
    ("randomize_input", "randomize-input"),
    ("collect_full_output", "collect-full-output"),
    ("include_transfers", "include-transfers"),
    ("pure_wall_time", "pure-wall-time"),
)
"""Fields that decide what is timed, for every backend; they are equal within a group and in comparisons."""


def canonical(value: Any) -> bytes:
    """Return JSON with sorted keys and no space; equal values give equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def digest(value: Any) -> str:
    """Return a 20-character hex hash of the canonical form."""
    return hashlib.blake2b(canonical(value), digest_size=_DIGEST_BYTES).hexdigest()


def experiment_id(config: ExperimentConfig) -> str:
    """Identify a requested configuration; protocol settings and the environment are no part of it.

    A field whose value equals its default is left out. msgspec's `omit_defaults` would not do, because it compares
    the identity of objects, and an equal text from a command line or a file is another object.
    """
    defaults = _defaults(type(config))
    return digest({name: value for name, default in defaults if (value := getattr(config, name)) != default})


@functools.cache
def _defaults(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a struct with their defaults; cached, because a plan has thousands of configurations."""
    fields = msgspec.structs.fields(kind)
    return tuple((field.name, _default(field)) for field in fields)


def _default(field: Any) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def record_id(run_id: str, experiment: str, environment: str, purpose: str, replica: int, attempt: int) -> str:
    """Identify one record: the same six facts give the same id, so a re-ingest adds nothing."""
    return digest([run_id, experiment, environment, purpose, replica, attempt])


XLA = ("openxla", "torchxla")
"""How the names of XLA's backends begin."""


def backend_name(xla: str | None, dynamo: str | None, torch_xla2: str | None = None) -> str:
    """Name the backend as PyTorch/XLA's aggregator does; any other dynamo backend keeps its own name."""
    if torch_xla2 is not None:
        return f"torch_xla2+{torch_xla2}"
    if xla is None:
        # Dynamo's own `eager` is no eager mode: its graphs are captured.
        return "eager+dynamo" if dynamo == "eager" else dynamo or "eager"
    if dynamo is None:
        return "openxla+lazytensor"
    return "openxla+dynamo" if dynamo == "openxla" else dynamo


def variant(config: ExperimentConfig) -> str:
    """Return the backend plus every compile setting that is not default, as a short readable string."""
    parts = [backend_name(config.xla, config.dynamo, config.torch_xla2)]
    parts += [text.format(value) for name, text in _COMPILE_SETTINGS if (value := getattr(config, name))]
    if config.xla and not config.enable_functionalization:
        parts.append("no-functionalization")
    if config.cache != "cold":
        parts.append(f"cache={config.cache}")
    parts += [f"xla_flags={flag}" for flag in config.xla_flags]
    if config.without_fallback:
        parts.append(f"without-fallback={','.join(config.without_fallback)}")
    parts += [f"{key}={value}" for key, value in sorted(config.overrides.items())]
    return " ".join(parts)


def workload(config: Any) -> str | None:
    """Return what is timed apart from dtype, batch size, loss and optimizer, if it is not the default; else None.

    Takes a requested configuration, or the `experiment` of a record.
    """
    parts = [text.format(value) for name, text in _WORK_SETTINGS if (value := getattr(config, name))]
    if config.weights not in (None, "random"):
        parts.append(f"weights={config.weights}")
    return " ".join(parts) or None


def setting_of(word: str) -> tuple[str, str | bool]:
    """Return the field and the value that a word of `workload` means.

    Raises:
        ValueError: no setting has this form.
    """
    name, equals, value = word.partition("=")
    for field, text in (*_WORK_SETTINGS, ("weights", "weights={}")):
        if text == word and not equals:
            return field, True
        if equals and text == f"{name}={{}}":
            return field, value
    raise ValueError(f"{word!r} is no setting of a workload")


Model = tuple[str, str]
"""Suite and name: models of two suites may have the same name."""


def model_names(models: Iterable[Model]) -> dict[Model, str]:
    """Return the name of each model, sorted by it; those that several suites have are with their suite."""
    every = sorted(set(models), key=itemgetter(1, 0))
    suites = Counter(model for _, model in every)
    return {(suite, model): model if suites[model] == 1 else f"{suite}/{model}" for suite, model in every}
