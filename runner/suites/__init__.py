"""Where models come from: a module or package per suite, named as its suite, and no list here. Imports no torch."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from runner.suites.base import ModelInfo, Suite, UnknownSuiteError, UserSuiteError

VARIABLE = "XLABENCH_SUITES"

_FIRST = ("torchbench", "huggingface", "timm_models", "operators", "dummy")
"""Suites that are listed first, in this order; the others follow by name."""
_NAMED_ONLY = {"own": "runner.suites.own.suite:SUITE"}
"""Suites that list only what a command names, so they cannot be chosen by name."""
_PACKAGE = f"{__name__}."
FOLDER = Path(__file__).parent
_ATTRIBUTES = ("name", "preload", "unavailable", "models", "versions", "build")


def suite_names() -> tuple[str, ...]:
    """Return the names of the suites that one may choose, ours first."""
    return tuple(_places())


def get_suite(name: str) -> Suite:
    """Return the suite of this name, whose module is imported now; `UnknownSuiteError` lists the names there are."""
    place = _NAMED_ONLY.get(name) or _places().get(name)
    if place is None:
        names = ", ".join(suite_names())
        raise UnknownSuiteError(
            f"There is no suite {name!r}; choose one of {names}, or add your own through {VARIABLE}."
        )
    return _load(place)


@cache
def in_folder(folder: Path) -> dict[str, str]:
    """Return the places of the suites in our folder: files, or files `suite.py` of packages, that define `SUITE`.

    Nothing is imported: each command that knows the names of suites would wait for all of them.
    """
    files = {path.stem: path for path in folder.glob("*.py")} | {
        path.parent.name: path for path in folder.glob("*/suite.py")
    }
    names = {name for name, path in files.items() if b"\nSUITE = " in path.read_bytes()} - set(_NAMED_ONLY)
    ordered = [*filter(names.__contains__, _FIRST), *sorted(names.difference(_FIRST))]
    return {name: f"{_PACKAGE}{name}{'.suite' if files[name].stem == 'suite' else ''}:SUITE" for name in ordered}


def _places() -> dict[str, str]:
    """Map each suite name to the `package.module:ATTRIBUTE` that holds the suite."""
    places = dict(in_folder(FOLDER))
    for place in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        name = _load(place).name
        if places.get(name, place) != place:
            raise UserSuiteError(f"{VARIABLE}: {place!r} and {places[name]!r} are both named {name!r}; rename one.")
        places[name] = place
    return places


@cache
def _load(place: str) -> Suite:
    module_name, _, attribute = place.partition(":")
    if not (module_name and attribute):
        raise UserSuiteError(f"{VARIABLE}: {place!r} is not of the form package.module:ATTRIBUTE; correct it.")
    try:
        suite = getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:
        # A user's module may raise anything while it is imported, or end the program.
        raise UserSuiteError(
            f"{VARIABLE}: {place!r} cannot be imported ({type(error).__name__}: {' '.join(str(error).split())}); "
            "check the name and that its folder is on PYTHONPATH."
        ) from error
    missing = [wanted for wanted in _ATTRIBUTES if not hasattr(suite, wanted)]
    if missing:
        raise UserSuiteError(
            f"{VARIABLE}: {place!r} is not a suite: it lacks {', '.join(missing)}; see runner/suites/base.py."
        )
    if not isinstance(suite.name, str) or not suite.name:
        raise UserSuiteError(f"{VARIABLE}: the name of {place!r} is {suite.name!r}; it must be a text.")
    return cast("Suite", suite if place.startswith(_PACKAGE) else UserSuite(f"{VARIABLE}: {place!r}", suite))


_LISTS = "models"
_PLANNING_METHODS = frozenset({_LISTS, "unavailable", "versions", "unlisted", "missing_packages"})
"""Methods that planning calls; errors of `build` in a benchmark process become records instead."""


class UserSuite:
    """Wraps a user's suite; methods that planning does not call are passed through."""

    def __init__(self, place: str, suite: Suite) -> None:
        self._place, self._suite = place, suite

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._suite, name)
        return partial(_answer, self._place, name, attribute) if name in _PLANNING_METHODS else attribute


def _answer(place: str, name: str, ask: Callable[..., Any], *arguments: Any) -> Any:
    """Return a method's answer.

    Raises:
        UserSuiteError: it raised something, or its answer has another form than `Suite` says.
    """
    try:
        answer = ask(*arguments)
    except (Exception, SystemExit) as error:
        failure = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UserSuiteError(f"{place}: its method `{name}` failed ({failure}); correct the suite.") from error
    if name == _LISTS and not (
        isinstance(answer, list | tuple) and all(isinstance(item, ModelInfo) for item in answer)
    ):
        raise UserSuiteError(f"{place}: its method `models` must return a list of ModelInfo; correct the suite.")
    if name == "versions" and not isinstance(answer, Mapping):
        raise UserSuiteError(f"{place}: its method `versions` must return a mapping; correct the suite.")
    return answer


__all__ = ["get_suite", "suite_names"]
