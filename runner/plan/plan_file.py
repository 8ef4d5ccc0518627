"""The plan file: a plan as YAML that repeats exactly its experiments, and protocol settings beside them."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from runner.errors import UsageError
from runner.plan.entries import cannot_run, make_entry
from runner.plan.presets import PRESETS, PROCESSES, REPEATS
from runner.suites import get_suite, suite_names
from runner.suites.own.suite import NAME as OWN
from runner.suites.own.suite import no_source
from store.record import ExperimentConfig, UsedBy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.environments.machine import Machine
    from runner.messages import Settings
    from runner.plan.request import PlanRequest
    from store.record import PlanEntry

SCHEMA_VERSION = 1
_HEADER = """\
# A plan of xlabench; `xlabench run --plan FILE` measures exactly these experiments.
# `settings` are protocol settings (repeat, threads, seed …); explicit flags override them.
# A configuration lists what differs from the defaults. An entry with `skip_reason` is not measured;
# `not_here` says why the machine that printed this plan could not measure it; another may.
"""
_BESIDE = frozenset({"plan_file", "total_partitions", "partition_id", "context", "environment", "environments"})
"""Fields of a request that may be given beside a plan file."""
_FLAGS = {
    "suites": "--suite-name",
    "backends": "--backend",
    "accelerators": "--accelerator",
    "tests": "--test",
    "filters": "--filter",
    "excludes": "--exclude",
    "tiers": "--filter-by-tier",
    "excluded_tiers": "--exclude-by-tier",
    "caches": "--cache",
    "xla_baseline": "--use-xla-baseline",
    "models": "--smoke",
}
_AT_LEAST_ONE = frozenset(
    {
        "repeat",
        "iterations_per_run",
        "processes",
        "rounds",
        "warmup_min",
        "warmup_max",
        "steady_blocks",
        "verify_iterations",
    }
)

_ABOVE_ZERO = {
    "until_stable": (1, "a share above 0 and below 1, for example 0.01 for 1 %"),
    "time_budget_s": (math.inf, "a number of seconds above 0"),
}
"""Bounds of settings, and how they are said."""


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One experiment of a plan file; without an id, whatever its configuration gives."""

    experiment_id: str | None = None
    environment: str = "default"
    config: dict[str, Any]
    skip_reason: str | None = None
    not_here: str | None = None
    """Why the machine that printed the plan could not measure it; another may, so nobody reads it."""
    notes: tuple[str, ...] = ()
    in_spite_of: str | None = None
    used_by: UsedBy | None = None


class PlanFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan file as it lies on the disk."""

    schema_version: int
    settings: dict[str, Any] = {}
    environments: tuple[str, ...] = ("default",)
    experiments: tuple[FileEntry, ...]


def as_yaml(entries: Sequence[PlanEntry], settings: Mapping[str, Any], machines: Mapping[str, Machine]) -> str:
    """Return a plan as the text of a plan file; `machines` by environment tell what was skipped for their sake."""
    file = PlanFile(
        schema_version=SCHEMA_VERSION,
        settings=dict(settings),
        environments=tuple(dict.fromkeys(entry.environment for entry in entries)),
        experiments=tuple(_file_entry(entry, machines.get(entry.environment)) for entry in entries),
    )
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(msgspec.to_builtins(file), Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return _HEADER + text


def _file_entry(entry: PlanEntry, machine: Machine | None) -> FileEntry:
    reason = entry.skip_reason
    not_here = reason is not None and machine is not None and cannot_run(entry.config, machine) == reason
    return FileEntry(
        experiment_id=entry.experiment_id,
        environment=entry.environment,
        config=msgspec.to_builtins(entry.config),
        skip_reason=None if not_here else reason,
        not_here=reason if not_here else None,
        notes=entry.notes,
        in_spite_of=entry.in_spite_of,
        used_by=entry.used_by,
    )


def read(path: Path) -> PlanFile:
    """Read a plan file.

    Raises:
        UsageError: it is not there or not of the form; the sentence names the place.
    """
    try:
        # The C loader is ten times faster on a plan of thousands of experiments, and as safe.
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        file = msgspec.convert(content, PlanFile)
    except OSError as error:
        raise UsageError(f"--plan {path}: {error.strerror}; `xlabench plan --format yaml` prints one.") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"--plan {path}: invalid YAML ({reason}); create it again with `xlabench plan --format yaml`."
        ) from None
    except msgspec.ValidationError as error:
        raise _bad(path, str(error)) from None
    _check_frame(file, path)
    return file


def checked(file: PlanFile, place: str) -> list[tuple[FileEntry, ExperimentConfig]]:
    """Return a plan's entries with their configurations, checked as those of a file; `place` names it in errors.

    Raises:
        UsageError: a later version's, or something in it is not of the form.
    """
    _check_frame(file, place)
    return [(entry, _config(entry, number, place)) for number, entry in enumerate(file.experiments)]


def repeat(path: Path, request: PlanRequest, machine: Machine) -> Iterator[PlanEntry]:
    """Yield the file's experiments of the request's environment; what cannot run here is skipped with the reason.

    Raises:
        UsageError: the file cannot be used, or flags beside it select something else.
    """
    _refuse_beside(request)
    file = read(path)
    _check_environments(file, request, path)
    configs = [_config(entry, number, path) for number, entry in enumerate(file.experiments)]
    part = _part(configs, request)
    missing = {name: get_suite(name).unavailable(request.context) for name in {each.suite_name for each in configs}}
    for entry, config in zip(file.experiments, configs, strict=True):
        if (config.suite_name, config.model_name) in part and entry.environment == request.environment:
            reason = entry.skip_reason or missing[config.suite_name] or cannot_run(config, machine)
            made = make_entry(config, entry.environment, reason, entry.notes, entry.in_spite_of)
            yield msgspec.structs.replace(made, used_by=entry.used_by)


def with_settings(path: Path, settings: Settings, given: Iterable[str]) -> Settings:
    """Return the settings of the command, and of the plan file where the command's flags leave them open."""
    given = set(given)
    wanted = {name: value for name, value in read(path).settings.items() if name not in given}
    for name, of_preset in (("repeat", REPEATS), ("processes", PROCESSES)):
        if name not in given and "preset" in wanted:
            wanted.setdefault(name, of_preset[wanted["preset"]])
    checked: Settings = msgspec.convert(wanted, type(settings))
    return msgspec.structs.replace(settings, **{name: getattr(checked, name) for name in wanted})


def _part(configs: Sequence[ExperimentConfig], request: PlanRequest) -> set[tuple[str, str]]:
    models = list(dict.fromkeys((config.suite_name, config.model_name) for config in configs))
    return set(models[request.partition_id :: request.total_partitions])


def _config(entry: FileEntry, number: int, path: Path | str) -> ExperimentConfig:
    place = f"$.experiments[{number}].config"
    unknown = set(entry.config) - set(ExperimentConfig.__struct_fields__)
    if unknown:
        raise _bad(path, f"Object contains unknown field `{min(unknown)}` - at `{place}`")
    try:
        config = msgspec.convert(entry.config, ExperimentConfig)
    except msgspec.ValidationError as error:
        raise _bad(path, str(error).replace("`$", f"`{place}")) from None
    if config.suite_name == OWN or config.source is not None:
        raise UsageError(no_source(config.model_name))
    if config.suite_name not in suite_names():
        raise _bad(path, f"There is no suite {config.suite_name!r} - at `{place}`")
    if entry.experiment_id not in (None, make_entry(config, "", None).experiment_id):
        raise _bad(path, f"The configuration is not that of its experiment_id - at `{place}`; correct or remove the id")
    return config


def _bad(path: Path | str, reason: str) -> UsageError:
    return UsageError(f"--plan {path}: {reason}; correct it, or create it again with `xlabench plan --format yaml`.")


def _check_frame(file: PlanFile, place: Path | str) -> None:
    if file.schema_version > SCHEMA_VERSION:
        raise UsageError(
            f"--plan {place}: its schema version is {file.schema_version}; this xlabench reads {SCHEMA_VERSION}."
        )
    _check_settings(file.settings, place)


def _check_settings(settings: Mapping[str, Any], path: Path | str) -> None:
    from runner.messages import Settings

    unknown = set(settings) - set(Settings.__struct_fields__)
    if unknown:
        names = ", ".join(Settings.__struct_fields__)
        raise UsageError(f"--plan {path}: settings: unknown setting {min(unknown)!r}; known are {names}.")
    try:
        msgspec.convert(dict(settings), Settings)
    except msgspec.ValidationError as error:
        raise _bad(path, str(error).replace("`$", "`$.settings")) from None
    for name in _AT_LEAST_ONE & set(settings):
        if settings[name] < 1:
            raise _bad(path, f"{name} is at least 1 - at `$.settings.{name}`")
    for name, (below, what) in _ABOVE_ZERO.items():
        if settings.get(name) is not None and not 0 < settings[name] < below:
            raise _bad(path, f"{name} is {what} - at `$.settings.{name}`")
    if settings.get("preset", PRESETS[0]) not in PRESETS:
        raise _bad(path, f"preset is one of {', '.join(PRESETS)} - at `$.settings.preset`")


def _check_environments(file: PlanFile, request: PlanRequest, path: Path) -> None:
    known = {name for name, _ in request.environments} | {request.environment}
    for entry in file.experiments:
        if entry.environment not in known:
            raise UsageError(
                f"--plan {path}: it uses the environment {entry.environment!r}; "
                f"pass its interpreter with --env {entry.environment}=PYTHON."
            )


def _refuse_beside(request: PlanRequest) -> None:
    """Refuse what would select or configure other experiments than the file's."""
    blank = replace(request, **{f.name: _default(f) for f in fields(request) if f.name not in _BESIDE})
    for name in (each.name for each in fields(request)):
        if getattr(request, name) != getattr(blank, name):
            flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
            if name == "requested":
                flag = ", ".join("--" + each.replace("_", "-") for each in request.requested)
            raise UsageError(f"--plan fixes the experiments; remove {flag} (only partitions may be combined with it).")


def _default(field: Any) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default
