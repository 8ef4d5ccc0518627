"""What a form offers for a new run, found without torch; and the request that its choices make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from runner.backends import BACKENDS, BY_NAME
from runner.environments import machine
from runner.home import settings_file
from runner.jobs.request import Instrument, RunRequest
from runner.plan import plan_file
from runner.plan.presets import PRESETS
from runner.plan.request import FileEntry, PlanFile
from runner.suites import get_suite, suite_names
from runner.suites.base import SuiteContext
from store.identity import backend_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from store.record import Accelerator, PlanEntry

PLANNED = {backend_name(*pair, None): pair for pair in BACKENDS}
"""Backend → its (xla, dynamo): what is planned where nothing is asked for."""
OFFERED = PLANNED | {backend_name(*pair, None): pair for pair in BY_NAME}
"""Backend → its (xla, dynamo)."""
TESTS = ("eval", "train")
INSTRUMENTS: tuple[str, ...] = Instrument.__args__  # type: ignore[attr-defined]
__all__ = ["INSTRUMENTS", "OFFERED", "PLANNED", "PRESETS", "TESTS"]


@dataclass(frozen=True, kw_only=True)
class SuiteOffer:
    """A suite and the names of its models; `missing` says why it has none here."""

    name: str
    models: tuple[str, ...]
    missing: str | None


def suites() -> tuple[SuiteOffer, ...]:
    """Return all suites."""
    context = SuiteContext()
    return tuple(_offer(name, context) for name in suite_names())


def environments(home: Path) -> tuple[str, ...]:
    """Return the names of the home's environments; `default` is the worker's own interpreter."""
    return tuple(dict.fromkeys(("default", *settings_file.read(home).environments)))


def accelerators() -> tuple[Accelerator, ...]:
    """Return what this machine has."""
    return tuple(machine.detect().accelerators)


def device_models() -> tuple[str, ...]:
    """Return the models of this machine's devices, as records name them."""
    return tuple(dict.fromkeys(model for models in machine.detect().devices.values() for model in models))


def axes(backends: Iterable[str]) -> tuple[tuple[Literal["PJRT"] | None, ...], tuple[str | None, ...]]:
    """Return the values of `xla` and `dynamo` under which these backends are planned, and maybe others."""
    pairs = [OFFERED[name] for name in backends]
    xla: dict[Literal["PJRT"] | None, None] = dict.fromkeys("PJRT" if each else None for each, _ in pairs)
    return tuple(xla), tuple(dict.fromkeys(dynamo for _, dynamo in pairs))


def only_backends(request: RunRequest, entries: Iterable[PlanEntry], backends: Collection[str]) -> RunRequest:
    """Return the request for those experiments of a selection's plan that are of these backends.

    Args:
        request: of a selection; it stays as it is where its plan has no other backends.
        entries: its plan.
        backends: those that are wanted.
    """
    every = tuple(entries)
    kept = [entry for entry in every if entry.backend in backends]
    if len(kept) == len(every) or not kept:
        return request
    return exactly(kept, {"preset": request.configuration.preset}, request)


def exactly(entries: Iterable[PlanEntry], settings: dict[str, object], like: RunRequest) -> RunRequest:
    """Return the request that measures exactly these experiments, with protocol and needs of another one."""
    found = tuple(entries)
    experiments = tuple(
        FileEntry(
            experiment_id=entry.experiment_id,
            environment=entry.environment,
            config=msgspec.to_builtins(entry.config),
            skip_reason=entry.skip_reason,
            notes=entry.notes,
            in_spite_of=entry.in_spite_of,
            used_by=entry.used_by,
        )
        for entry in found
    )
    names = tuple(dict.fromkeys(entry.environment for entry in found))
    plan = PlanFile(
        schema_version=plan_file.SCHEMA_VERSION, settings=settings, environments=names, experiments=experiments
    )
    return RunRequest(protocol=like.protocol, plan=plan, environments=names, accelerator_model=like.accelerator_model)


def _offer(name: str, context: SuiteContext) -> SuiteOffer:
    missing = get_suite(name).unavailable(context)
    models = () if missing else tuple(model.name for model in get_suite(name).models(context))
    return SuiteOffer(name=name, models=models, missing=missing)
