"""Identities and names: canonical JSON, hashes of it, and the names of backends, variants and models."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple, get_type_hints

import msgspec

from store.record import ExperimentConfig, OfVariant, OfWorkload

_DIGEST_BYTES = 10


class NamedSetting(NamedTuple):
    """A field of `ExperimentConfig` that a variant or a workload names if it has another value than its default."""

    name: str
    words: str
    """`{}` stands for the value."""
    default: Any

    def text(self, config: Any) -> str | None:
        """Return the words of a configuration, or of the `experiment` of a record; None for the default."""
        value = getattr(config, self.name)
        return self.words.format(value) if value and value != self.default else None


def _named(mark: type[OfVariant | OfWorkload]) -> tuple[NamedSetting, ...]:
    """Return the settings with such an annotation, in the order of the fields."""
    defaults = dict(_defaults(ExperimentConfig))
    hints = get_type_hints(ExperimentConfig, include_extras=True)
    return tuple(
        NamedSetting(name, note.words, defaults[name])
        for name in defaults
        for note in getattr(hints[name], "__metadata__", ())
        if isinstance(note, mark)
    )


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


_OF_VARIANT = _named(OfVariant)
WORKLOAD = _named(OfWorkload)
"""Settings of what is timed: they are equal within a group and in comparisons."""


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
    parts += [words for setting in _OF_VARIANT if (words := setting.text(config))]
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
    return " ".join(words for setting in WORKLOAD if (words := setting.text(config))) or None


def setting_of(word: str) -> tuple[str, str | bool]:
    """Return the field and the value that a word of `workload` means.

    Raises:
        ValueError: no setting has this form.
    """
    name, equals, value = word.partition("=")
    for setting in WORKLOAD:
        if setting.words == word and not equals:
            return setting.name, True
        if equals and setting.words == f"{name}={{}}":
            return setting.name, value
    raise ValueError(f"{word!r} is no setting of a workload")


Model = tuple[str, str]
"""Suite and name: models of two suites may have the same name."""


def model_names(models: Iterable[Model]) -> dict[Model, str]:
    """Return the name of each model, sorted by it; those that several suites have are with their suite."""
    every = sorted(set(models), key=itemgetter(1, 0))
    suites = Counter(model for _, model in every)
    return {(suite, model): model if suites[model] == 1 else f"{suite}/{model}" for suite, model in every}
