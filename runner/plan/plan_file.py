"""The plan file: a plan as YAML that repeats exactly its experiments, and protocol settings beside them."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from runner.environments.machine import Machine
from runner.plan.local_request import LocalRequest, cannot_run, make_entry
from runner.plan.protocol import PRESETS
from runner.plan.request import FileEntry, PlanFile
from runner.settings import Settings
from runner.suites import get_suite, suite_names
from runner.suites.own.suite import NAME as OWN
from runner.suites.own.suite import no_source
from store.errors import UsageError
from store.identity import experiment_id
from store.record import ExperimentConfig, PlanEntry

SCHEMA_VERSION = 1
_HEADER = """\
# A plan of xlabench; `xlabench run --plan FILE` measures exactly these experiments.
# `settings` are protocol settings (repeat, threads, seed …); explicit flags override them.
# A configuration lists what differs from the defaults. An entry with `skip_reason` is not measured;
# `not_here` says why the machine that printed this plan could not measure it; another may.
"""
_COMBINABLE = frozenset({"total_partitions", "partition_id"})
"""Fields of a selection that may be combined with a plan."""
_OF_REQUEST = "the request's plan"
"""Name of a plan that is no file, in errors."""
_AT_LEAST_ONE = frozenset({"repeat", "processes", "steady_blocks"})
_ABOVE_ZERO = {"time_budget_s": (math.inf, "a number of seconds above 0")}
"""Upper bounds of settings whose type has none, and their wording in errors."""


def as_yaml(entries: Sequence[PlanEntry], settings: Mapping[str, Any], machines: Mapping[str, Machine]) -> str:
    """Return a plan as the text of a plan file; `machines` by environment tell what was skipped for their sake."""
    file = of_entries(entries, settings, machines)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(msgspec.to_builtins(file), Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return _HEADER + text


def of_entries(
    entries: Sequence[PlanEntry], settings: Mapping[str, Any], machines: Mapping[str, Machine] | None = None
) -> PlanFile:
    """Return a plan as data; without `machines`, each skip holds on every one."""
    return PlanFile(
        schema_version=SCHEMA_VERSION,
        settings=dict(settings),
        environments=tuple(dict.fromkeys(entry.environment for entry in entries)),
        experiments=tuple(_file_entry(entry, (machines or {}).get(entry.environment)) for entry in entries),
    )


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


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # the C loader, where there is one
    """Refuses a key that is given twice: YAML's loader takes the last one in silence."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - yaml's own signature
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_MOST_DEEP = 100
"""A plan nests five deep."""
_NESTS = re.compile(r"[\[\]{}]|^ {1000}|^ *(?:[-?] +){50}", re.MULTILINE)


def _refuse_deep(text: str) -> None:
    """Refuse a text that nests too deep: the C loader recurses on the stack of C, and the process would be killed."""
    depth = 0
    for match in _NESTS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], _MOST_DEEP)
        if depth >= _MOST_DEEP:
            break
    else:
        return
    # A bracket may be part of a word, so what only looks deep is read event by event, which does not recurse.
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEEP:
            raise yaml.YAMLError(f"it nests more than {_MOST_DEEP} levels deep")


def _read_text(path: Path) -> str:
    """Return the text of a file; a FIFO without a writer is refused, because reading it would wait without end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        begin = b""
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            with contextlib.suppress(BlockingIOError):  # somebody will
                begin = os.read(descriptor, 1)
                if not begin:
                    raise OSError(errno.EPIPE, "it is a FIFO that no program writes into")
        os.set_blocking(descriptor, True)
        return (begin + file.read()).decode("utf-8")


def read(path: Path) -> PlanFile:
    """Read a plan file.

    Raises:
        UsageError: it is not there or not of the form; the sentence names the place.
    """
    try:
        text = _read_text(path)
        _refuse_deep(text)
        # The C loader is ten times faster on a plan of thousands of experiments, and as safe.
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe one
        file = msgspec.convert(content, PlanFile)
    except OSError as error:
        raise UsageError(
            f"--plan {path} cannot be read: {error.strerror}. `xlabench plan --format yaml` prints one."
        ) from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"--plan {path}: invalid YAML ({reason}); create it again with `xlabench plan --format yaml`."
        ) from None
    except msgspec.ValidationError as error:
        raise _bad(path, str(error)) from None
    _check_frame(file, path)
    return file


def checked(file: PlanFile) -> list[tuple[FileEntry, ExperimentConfig]]:
    """Return the entries of a request's plan with their configurations, checked as those of a file.

    Raises:
        UsageError: a later version's, or something in it is not of the form.
    """
    _check_frame(file, _OF_REQUEST)
    return list(zip(file.experiments, _configs(file, _OF_REQUEST), strict=True))


def repeat(file: PlanFile, request: LocalRequest, machine: Machine) -> Iterator[PlanEntry]:
    """Yield the plan's experiments of the request's environment; what cannot run here is skipped with the reason.

    Raises:
        UsageError: the plan cannot be used, or flags beside it select something else.
    """
    refuse_selection_flags(request)
    place = request.plan or _OF_REQUEST
    known = {request.environment, *(name for name, _ in request.environments)}
    if undefined := next((entry.environment for entry in file.experiments if entry.environment not in known), None):
        raise UsageError(
            f"--plan {place}: it uses the environment {undefined!r}; pass its interpreter with "
            f"--env {undefined}=PYTHON."
        )
    configs = _configs(file, place)
    models = list(dict.fromkeys((config.suite_name, config.model_name) for config in configs))
    part = set(models[request.selection.partition_id :: request.selection.total_partitions])
    missing = {name: get_suite(name).unavailable(request.context) for name in {config.suite_name for config in configs}}
    for entry, config in zip(file.experiments, configs, strict=True):
        if (config.suite_name, config.model_name) in part and entry.environment == request.environment:
            reason = entry.skip_reason or missing[config.suite_name] or cannot_run(config, machine)
            planned = make_entry(config, entry.environment, reason, entry.notes, entry.in_spite_of)
            yield msgspec.structs.replace(planned, used_by=entry.used_by)


def _configs(file: PlanFile, place: Path | str) -> list[ExperimentConfig]:
    """Return the configuration of each experiment; one that is listed twice would have two records of one name."""
    configs = [_config(entry, number, place) for number, entry in enumerate(file.experiments)]
    listed: dict[tuple[str, str], int] = {}
    for number, (entry, config) in enumerate(zip(file.experiments, configs, strict=True)):
        first = listed.setdefault((entry.environment, experiment_id(config)), number)
        if first != number:
            raise _bad(place, f"The experiment repeats `$.experiments[{first}]` - at `$.experiments[{number}]`")
    return configs


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
    if entry.experiment_id not in (None, experiment_id(config)):
        raise _bad(path, f"The configuration does not match its experiment_id - at `{place}`; correct or remove the id")
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
            raise _bad(path, f"{name} must be at least 1 - at `$.settings.{name}`")
    for name, (below, what) in _ABOVE_ZERO.items():
        if settings.get(name) is not None and not 0 < settings[name] < below:
            raise _bad(path, f"{name} must be {what} - at `$.settings.{name}`")
    if settings.get("preset", PRESETS[0]) not in PRESETS:
        raise _bad(path, f"preset must be one of {', '.join(PRESETS)} - at `$.settings.preset`")


def refuse_selection_flags(request: LocalRequest) -> None:
    """Refuse what would select or configure other experiments than the plan's."""
    names = [name for name in ("models_file",) if getattr(request, name)]
    for group in (request.selection, request.configuration):
        usual = {field.name: field.default for field in msgspec.structs.fields(group)}
        names += [name for name in usual if name not in _COMBINABLE and getattr(group, name) != usual[name]]
    if names:
        flags = ", ".join("--" + name.replace("_", "-") for name in names)
        raise UsageError(f"--plan fixes the experiments; remove {flags} (only partitions may select among them).")


_LINE = re.compile(r"(?P<name>[^\s,=]+)(?:(?:\s*[,=]\s*|\s+)(?P<size>[1-9]\d*))?")


@dataclass(frozen=True, kw_only=True)
class ModelLine:
    """One model of a list; `name` may be `SUITE/NAME`."""

    number: int
    name: str
    batch_size: int | None


def read_models_file(path: Path) -> list[ModelLine]:
    """Return the models in the order of the file; `#` begins a comment.

    Raises:
        UsageError: the file is not there, holds no model, or a line is of another form.
    """
    try:
        text = _read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(
            f"--models-file {path} cannot be read: {reason}. Pass a list with one model per line."
        ) from None
    lines = [_line(path, number, line) for number, line in enumerate(text.splitlines(), 1)]
    models = [line for line in lines if line is not None]
    if not models:
        raise UsageError(f"--models-file {path}: the file lists no model; write one per line.")
    return models


def _line(path: Path, number: int, line: str) -> ModelLine | None:
    content = line.partition("#")[0].strip()
    if not content:
        return None
    match = _LINE.fullmatch(content)
    if match is None:
        raise UsageError(
            f"--models-file {path}, line {number}: {content!r} is not a model name, "
            "optionally followed by a batch size."
        )
    return ModelLine(number=number, name=match["name"], batch_size=int(match["size"]) if match["size"] else None)
