"""Which models a request takes, in which order; the operators of a model or trace (`--ops-of`). Imports no torch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from runner.plan.local_request import LocalRequest
from runner.plan.plan_file import ModelLine, read_models_file
from runner.suites import data, get_suite, suite_names
from runner.suites.base import ModelInfo, Suite, SuiteContext, SuiteError
from runner.suites.operators import traces
from runner.suites.own.suite import NAME as OWN
from store import patterns
from store.errors import UsageError, did_you_mean
from store.record import Test

_TIERS_FILE = "tiers.yaml"


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """A model of a suite; `batch_size` is what a models file asks for it."""

    suite: Suite
    model: ModelInfo
    batch_size: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.model.name, *self.model.aliases)


@dataclass(frozen=True, kw_only=True)
class SelectedModels:
    """The models in the order they are measured, and the suites that could not be listed, with reasons."""

    choices: tuple[ModelChoice, ...]
    missing_suites: dict[str, str]


def select(request: LocalRequest) -> SelectedModels:
    """List the models of the requested suites and let the filters decide.

    Raises:
        UsageError: a name asked for exactly is no model's.
    """
    lines = read_models_file(request.models_file) if request.models_file else None
    listed, missing = _listed(_suites(request, lines), request)
    by_name = _Names(
        listed, missing, request.context, [name for name in _suites(request, lines) if name not in missing]
    )
    choices = by_name.of_lines(lines, str(request.models_file)) if lines is not None else listed
    only = tuple(dict.fromkeys(request.selection.only))
    if only:
        wanted = [choice for name in only for choice in by_name.find(name, "--only")]
        models = [choice.model for choice in wanted]
        choices = [choice for choice in choices if any(choice.model is model for model in models)]
        if lines is None:
            choices += by_name.unlisted()
    taken = tuple(_filtered(choices, request))
    _check_filters(choices, request.selection.filter, missing)
    return SelectedModels(choices=taken, missing_suites=missing)


def require(request: LocalRequest, name: str, typed: str) -> None:
    """Check that a suite has the model `SUITE/NAME`, which was typed in another form.

    Raises:
        UsageError: it has none of this name.
    """
    suites = (name.partition("/")[0],)
    listed, missing = _listed(suites, request)
    _Names(listed, missing, request.context, [suite for suite in suites if suite not in missing]).find(name, typed)


def _suites(request: LocalRequest, lines: Sequence[ModelLine] | None) -> tuple[str, ...]:
    """Return the suites to list: as asked, else those that exact names point at, else all."""
    if request.suites:
        return request.suites
    for names in (request.selection.only, [line.name for line in lines or ()]):
        prefixes = [_prefix(name) for name in names]
        if prefixes and all(prefixes):
            return tuple(dict.fromkeys(prefix for prefix in prefixes if prefix))
    return suite_names()


def _prefix(name: str) -> str | None:
    """Return the suite of `SUITE/NAME`; names of models may hold a slash too."""
    suite, slash, _ = name.partition("/")
    return suite if slash and suite in (*suite_names(), OWN) else None


def _listed(suites: Sequence[str], request: LocalRequest) -> tuple[list[ModelChoice], dict[str, str]]:
    choices: list[ModelChoice] = []
    missing: dict[str, str] = {}
    for name in suites:
        suite = get_suite(name)
        reason = suite.unavailable(request.context)
        if reason:
            missing[name] = reason
        else:
            choices += [ModelChoice(suite=suite, model=model) for model in suite.models(request.context)]
    return choices, missing


@dataclass
class _Names:
    """Find models by exact name."""

    choices: Sequence[ModelChoice]
    missing: dict[str, str]
    context: SuiteContext
    suites: Sequence[str]
    _unlisted: dict[tuple[str, str], ModelChoice] = field(default_factory=dict)

    def unlisted(self) -> list[ModelChoice]:
        """Return what was found that no suite lists."""
        return list(self._unlisted.values())

    def find(self, text: str, source: str) -> list[ModelChoice]:
        """Return the model of `SUITE/NAME`, or those of all suites that have a model NAME."""
        prefix = _prefix(text)
        name = text.removeprefix(f"{prefix}/") if prefix else text
        choices = [c for c in self.choices if name in c.names and prefix in (None, c.suite.name)]
        choices = choices or list(self._beyond(name, (prefix,) if prefix else self.suites))
        if not choices and prefix not in self.missing:
            spellings = [spelling for choice in self.choices for spelling in choice.names]
            hint = did_you_mean(name, spellings) or " `xlabench plan` lists the models."
            raise UsageError(f"{source}: there is no model {text!r}.{hint}{_not_listed(self.missing)}")
        return choices

    def _beyond(self, name: str, suites: Sequence[str]) -> Iterator[ModelChoice]:
        """Yield the models of this name that a suite can build without an entry in its tables."""
        for suite in (get_suite(suite_name) for suite_name in suites if suite_name in self.suites):
            ask = getattr(suite, "unlisted", None)
            model = ask(self.context, name) if ask else None
            if model is not None:
                yield self._unlisted.setdefault((suite.name, name), ModelChoice(suite=suite, model=model))

    def of_lines(self, lines: Sequence[ModelLine], source: str) -> list[ModelChoice]:
        """Return the models in the order of the file; the first line of a model counts."""
        choices: dict[tuple[str, str], ModelChoice] = {}
        for line in lines:
            for choice in self.find(line.name, f"{source}, line {line.number}"):
                named = ModelChoice(suite=choice.suite, model=choice.model, batch_size=line.batch_size)
                choices.setdefault((choice.suite.name, choice.model.name), named)
        return list(choices.values())


def _not_listed(missing: dict[str, str]) -> str:
    return f" Models of {', '.join(missing)} are not searched, because the suite is not installed." if missing else ""


def _check_filters(choices: Sequence[ModelChoice], filters: Sequence[str], missing: dict[str, str]) -> None:
    """Refuse a filter that no model matches whatever else is asked for: a name was mistyped.

    A suite that is missing may have a model that matches, unless the name is close to a known one.
    """
    for text in filters:
        if any(_matches(_patterns([text]), choice) for choice in choices):
            continue
        hint = did_you_mean(text, [name for choice in choices for name in choice.names])
        if hint or not missing:
            hint = hint or " `xlabench plan` lists the models; --only accepts others by their exact name."
            raise UsageError(f"No model matches --filter {text!r}.{hint}{_not_listed(missing)}")


def _filtered(choices: Sequence[ModelChoice], request: LocalRequest) -> Iterator[ModelChoice]:
    """Yield the models that the filters let through; they search, ignoring case, as the peer's do."""
    chosen, exactly = request.selection, request.exactly
    wanted = _patterns((*chosen.filter, *map(_tier, chosen.filter_by_tier)))
    unwanted = _patterns((*chosen.exclude, *map(_tier, chosen.exclude_by_tier)))
    for choice in choices:
        if exactly and f"{choice.suite.name}/{choice.model.name}" not in exactly:
            continue
        if chosen.fast and choice.model.slow:
            continue
        if wanted and not _matches(wanted, choice):
            continue
        if not _matches(unwanted, choice):
            yield choice


def _patterns(texts: Sequence[str]) -> list[patterns.Pattern]:
    # Each pattern is compiled alone: joined by `|`, the flags of one would apply to all.
    return [patterns.compiled(text) for text in texts]


def _matches(wanted: Sequence[patterns.Pattern], choice: ModelChoice) -> bool:
    return any(pattern.search(name) for pattern in wanted for name in choice.names)


@cache
def _tiers() -> dict[int, list[str]]:
    return data.load(_TIERS_FILE, dict[int, list[str]])


def _tier(number: int) -> str:
    """Return a tier as the peer defines it: one more pattern in addition to those of `--filter`."""
    return f"^({'|'.join(map(re.escape, _tiers().get(number, ())))})$"


# `--ops-of`: the configuration of a model's operators, recorded by a process of its own, or of a trace's.


FILE = "operators.json"
"""File in the run's folder with the configuration, which `--config` accepts."""


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """The operators of a model or a trace."""

    source: str
    """`SUITE/NAME`, or the name of the trace."""
    test: Test
    content: dict[str, Any]
    left_out: Mapping[str, int]
    suite: str | None
    """Suite of the model; None for a trace."""

    @property
    def text(self) -> str:
        return json.dumps(self.content)

    def sentence(self) -> str:
        inputs = [
            arguments for info in self.content.values() for config in info["config"] for arguments in config["input"]
        ]
        calls = sum(arguments["used_by"]["calls"] for arguments in inputs)
        reasons = "; ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        return f"{self.source} {self.test}: {calls} calls of {len(inputs)} operators" + (
            f"; left out: {reasons}" if reasons else ""
        )

    def narrow(self, request: LocalRequest) -> LocalRequest:
        """Return the request for these operators, and for the model itself, which they are a part of."""
        request = request.changed(ops_of=None, config=(self.text,), test=())
        names = [f"operators/{model.name}" for model in get_suite("operators").models(request.context)]
        tests: dict[str, tuple[Test, ...]] = {"operators": ("eval",)}
        suites = ["operators"]
        if self.suite is not None:
            names.append(self.source)
            suites.append(self.suite)
            tests[self.suite] = (self.test,)
        return request.changed(suite_name=tuple(suites), models=tuple(names), tests_of=tests)


def extract(request: LocalRequest) -> Extracted:
    """Return the operators that `--ops-of` asks for.

    Raises:
        UsageError: no such model, or a model that does not run.
    """
    named = request.selection.ops_of or ""
    path = Path(named)
    if path.is_file():
        recording = traces.read(path)
        content = recording.content(path.name, "eval")
        extracted = Extracted(source=path.name, test="eval", content=content, left_out=recording.left_out, suite=None)
    else:
        extracted = _of_model(request, named)
    if not extracted.content:
        raise UsageError(f"--ops-of {named}: the model calls no aten operator.")
    return extracted


def of_model_alone(request: LocalRequest) -> LocalRequest:
    """Return the request for the model of `--ops-of` without its operators, which nobody knows before it has run.

    Raises:
        UsageError: it is no model.
    """
    named = request.selection.ops_of
    return (
        request
        if named is None
        else request.changed(ops_of=None, suite_name=(_suite_of(request, named),), only=(named,))
    )


def _suite_of(request: LocalRequest, named: str) -> str:
    """Return the suite of a model, which the suite has, unless it cannot be listed here."""
    suite, slash, _ = named.partition("/")
    if not suite or not slash:
        raise UsageError(f"--ops-of {named}: pass a model as SUITE/NAME, or a file with an execution trace.")
    try:
        listed, missing = _listed((suite,), request)
    except SuiteError as error:
        raise UsageError(f"--ops-of {named}: {error}") from None
    if not missing:
        _Names(listed, missing, request.context, (suite,)).find(named, "--ops-of")
    return suite


def _of_model(request: LocalRequest, named: str) -> Extracted:
    """Record a model in a process that imports torch."""
    suite = _suite_of(request, named)
    if reason := get_suite(suite).unavailable(request.context):
        raise UsageError(f"--ops-of {named}: {reason}")
    test: Test = request.selection.test[0] if request.selection.test else "eval"
    configuration = request.configuration
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / FILE
        words = ["--suite", suite, "--model", named.removeprefix(f"{suite}/"), "--test", test]
        words += ["--output", str(out), "--seed", str(request.protocol.seed)]
        words += ["--batch-size", str(configuration.batch_size)] if configuration.batch_size else []
        words += ["--torchbench-dir", str(request.torchbench_dir)] if request.torchbench_dir else []
        words += ["--dtype", configuration.dtype] if configuration.dtype else []
        command = [sys.executable, "-m", "runner.suites.operators.record", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not out.exists():
            last = (done.stderr.strip().splitlines() or ["the process ended without a message"])[-1]
            raise UsageError(f"--ops-of {named}: the operators could not be recorded: {last}")
        recorded = json.loads(out.read_text(encoding="utf-8"))
    return Extracted(source=named, test=test, suite=suite, **recorded)
