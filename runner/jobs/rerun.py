"""Requests that pages make, and their plan: what a form offers, experiments once more, a comparison, a payoff."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from runner import plan
from runner.backends import BACKENDS, BY_NAME
from runner.environments import machine
from runner.home import settings_file
from runner.jobs import check
from runner.jobs.request import Instrument, RunRequest, encode
from runner.plan import earlier_run, interpreters, plan_file
from runner.plan.local_request import make_entry
from runner.plan.protocol import PRESETS, settings
from runner.settings import Settings
from runner.suites import get_suite, suite_names
from runner.suites.base import SuiteContext
from store.errors import XlabenchError
from store.identity import backend_name
from store.record import Accelerator, PlanEntry, RunFile

PLANNED = {backend_name(*pair, None): pair for pair in BACKENDS}
"""(xla, dynamo) of the backends that are planned by default, by name."""
OFFERED = PLANNED | {backend_name(*pair, None): pair for pair in BY_NAME}
"""(xla, dynamo) of all backends that pages offer, by name."""
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
    context, offers = SuiteContext(), []
    for name in suite_names():
        missing = get_suite(name).unavailable(context)
        models = () if missing else tuple(model.name for model in get_suite(name).models(context))
        offers.append(SuiteOffer(name=name, models=models, missing=missing))
    return tuple(offers)


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
    xla: dict[Literal["PJRT"] | None, None] = dict.fromkeys("PJRT" if xla else None for xla, _ in pairs)
    return tuple(xla), tuple(dict.fromkeys(dynamo for _, dynamo in pairs))


def only_backends(request: RunRequest, entries: Iterable[PlanEntry], backends: Collection[str]) -> RunRequest:
    """Return the request for those experiments of a selection's plan that are of these backends.

    It stays as it is where its plan has no other backends.
    """
    every = tuple(entries)
    chosen = [entry for entry in every if entry.backend in backends]
    if len(chosen) == len(every) or not chosen:
        return request
    return exactly(chosen, {"preset": request.configuration.preset}, request)


def exactly(entries: Iterable[PlanEntry], settings: dict[str, object], like: RunRequest) -> RunRequest:
    """Return the request that measures exactly these experiments, with protocol and needs of another one."""
    plan = plan_file.of_entries(tuple(entries), settings)
    names = plan.environments
    return RunRequest(protocol=like.protocol, plan=plan, environments=names, accelerator_model=like.accelerator_model)


def without(file: RunFile, cells: Iterable[tuple[str, str]], op: str) -> RunRequest | None:
    """Return the request, measured as a confirmation is; None where the plan of the run holds none of the results.

    Args:
        file: the run's.
        cells: experiment and environment of each result.
        op: without `aten::`.
    """
    replaceable = [entry for entry in planned(file, cells) if entry.config.xla and not entry.config.torch_xla2]
    entries = [side for entry in replaceable for side in (entry, _replaced(entry, op))]
    if not entries:
        return None
    # A payoff needs an interval, so several processes of each side, and interleaved sides.
    settings = msgspec.to_builtins(earlier_run.confirming(file.settings))
    return exactly(entries, rerun_settings(settings), RunRequest())


def _replaced(entry: PlanEntry, op: str) -> PlanEntry:
    config = msgspec.structs.replace(entry.config, without_fallback=(op,))
    return make_entry(config, entry.environment, None, entry.notes, entry.in_spite_of)


_COPIED_SETTINGS = (
    *("preset", "repeat", "until_stable", "iterations_per_run", "processes", "twins", "interleave", "rounds", "rewarm"),
    *("warmup_min", "warmup_max", "steady_blocks", "timeout_s", "threads", "seed", "start", "device_index"),
    *("raise_priority", "memory_limit_bytes", "verify", "verify_iterations", "tolerance", "cosine"),
)
"""Settings that a rerun copies from its run: those of the measurement, without dumps and budgets of a whole run."""
SAME = (
    "Both sides ran in the same interpreter and differ only in date, so a new measurement cannot separate them. "
    "Measure B again instead, or compare with a run of another environment."
)


def planned(
    file: RunFile, cells: Iterable[tuple[str, str]], together_with: Collection[str] = ()
) -> tuple[PlanEntry, ...]:
    """Return what a run had planned for some results, each once; what its plan does not hold is left out.

    Backends `together_with` of the same groups take turns with them, as the baseline.
    """
    wanted = set(cells)
    groups = {(e.group, e.environment) for e in file.plan if e.key in wanted}
    return tuple(
        msgspec.structs.replace(entry, skip_reason=None)
        for entry in file.plan
        if entry.key in wanted
        or (entry.backend in together_with and entry.runnable and (entry.group, entry.environment) in groups)
    )


def rerun(file: RunFile, entries: Iterable[PlanEntry]) -> RunRequest:
    """Return the request that measures entries of a run's plan once more, in a run of its own, as that run did."""
    return exactly(entries, rerun_settings(file.settings), RunRequest())


def rerun_settings(of_run: dict[str, Any]) -> dict[str, object]:
    """Return the settings of a run that differ from the defaults and that a rerun copies."""
    settings = msgspec.convert(of_run, Settings)
    usual = Settings()
    # The time budget limits one process with --until-stable; otherwise it is that of the whole run.
    names = _COPIED_SETTINGS if settings.until_stable is None else (*_COPIED_SETTINGS, "time_budget_s")
    return {name: value for name in names if (value := getattr(settings, name)) != getattr(usual, name)}


def cannot_confirm(
    sides: tuple[RunFile, RunFile], pairs: Iterable[tuple[str, str]], home: Path, *, same_code: bool = True
) -> str | None:
    """Say why two sides cannot be measured again in their own environments, or None.

    It looks whether their interpreters are still there; whether they are still what they were, the job asks them.

    Args:
        sides: the runs' files, old and new.
        pairs: environments of the cells in question, old and new.
        home: names further environments.
        same_code: the sides differ in nothing but the environment, not in the backend.
    """
    named = settings_file.interpreters(home, settings_file.read(home))
    apart = False
    for pair in dict.fromkeys(pairs):
        paths = []
        for file, name in zip(sides, pair, strict=True):
            was = next((environment for environment in file.environments if environment.name == name), None)
            if was is None:
                return f"Run {file.run.label} does not describe its environment {name}."
            path = earlier_run.interpreter_path(was, named)
            if path is None:
                sentence = earlier_run.missing_interpreter(
                    earlier_run.EarlierEnvironment(name=name, was=was, run=file.run.label)
                )
                return f"{sentence}. Name one with the same versions as {name} in [environments] of xlabench.toml."
            paths.append(path)
        apart = apart or not same_code or not earlier_run.same_path(*paths)
    return None if apart else SAME


# What a request would measure, before anybody asks for it: its experiments, runnable or skipped with the reason.


@dataclass(frozen=True, kw_only=True)
class Preview(plan.Plan):
    """The plan of a request on this machine."""

    lacking: tuple[str, ...]
    """Sentences about packages that its models need and that are not installed."""
    processes: int
    """Number of benchmark processes per experiment."""


def preview(request: RunRequest, home: Path) -> Preview:
    """Plan a request as its job would; interpreters that it names are asked what they offer.

    Where the operators of a model are asked for, it is the model alone: they are recorded when the job runs.

    Raises:
        BadRequest: it cannot be carried out; the sentence is the one of submitting it.
    """
    file = settings_file.read(home)
    check.read(encode(request), file.jobs.request_bytes, file.environments)
    try:
        local_request = check.before_it_runs(request)
        environments = interpreters.requested(local_request, settings_file.interpreters(home, file))
        made_plan = interpreters.make_plan(local_request, environments)
        processes = settings(local_request).replicas
    except XlabenchError as error:
        raise check.BadRequest(str(error)) from None
    return Preview(
        entries=made_plan.entries,
        missing_suites=made_plan.missing_suites,
        lacking=tuple(plan.missing_packages(made_plan, local_request)),
        processes=processes,
    )
