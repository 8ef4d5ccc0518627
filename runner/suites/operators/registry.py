"""What a configuration may name: operators, iterators, data generators; ours, and those a user registers.

A user's are in the modules that `XLABENCH_OPERATORS` names, separated by commas. Imports no torch.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, TypeVar

import msgspec

from runner.suites import data
from runner.suites.operators.document import RegistrationError

VARIABLE = "XLABENCH_OPERATORS"
SCHEMA = "aten::"
"""Beginning of the names of ops that are measured by schema; others may be absent where they are measured."""
IN_PLACE = "it works in place, so it has no backward"

Kind = Literal["callable", "method", "module", "schema"]
Function = TypeVar("Function", bound="Callable[..., Any]")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    target: str | None = None
    shape: str | None = None
    requires: str | None = None
    no_backward: str | None = None


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    callables: dict[str, _Entry]
    methods: dict[str, _Entry]
    modules: dict[str, _Entry]


@dataclass(frozen=True, kw_only=True)
class Op:
    """An operator: what it is called, and how it is got at in the benchmark process."""

    name: str
    kind: Kind
    """`callable`: a function; `method`: of its first argument; `module`: built first; `schema`: an op of aten."""
    target: str | Callable[..., Any]
    """A dotted name, or the registered function itself."""
    shape: str | None = None
    requires: str | None = None
    no_backward: str | None = None

    @property
    def missing(self) -> str | None:
        """Say what has to be installed before it can be built, or None."""
        if self.requires is None or find_spec(self.requires) is not None:
            return None
        return f"{self.name} needs the package {self.requires}, which is not installed"


@dataclass
class _Registered:
    operators: dict[str, Op] = field(default_factory=dict)
    iterators: dict[str, Callable[..., Any]] = field(default_factory=dict)
    generators: dict[str, Callable[..., Any]] = field(default_factory=dict)


REGISTERED = _Registered()


def operator(name: str, *, build: bool = False, backward: bool = True) -> Callable[[Function], Function]:
    """Register a function as an operator.

    Args:
        name: as configurations name it.
        build: the function is called with the arguments of `build` and returns what is called with those of `input`;
            else it is called with those of `input` itself.
        backward: train measures it, too.
    """
    no_backward = None if backward else f"{name} is registered without a backward"

    def add(function: Function) -> Function:
        kind: Kind = "module" if build else "callable"
        _add(REGISTERED.operators, name, Op(name=name, kind=kind, target=function, no_backward=no_backward), "operator")
        return function

    return add


def iterator(name: str) -> Callable[[Function], Function]:
    """Register a function `(configs, build) -> (id, config) …` as a `build_iterator` or `input_iterator`.

    `configs` is the list of the file, `build` the build that the inputs belong to, expanded; None for builds.
    """
    return lambda function: _add(REGISTERED.iterators, name, function, "iterator")


def generator(name: str) -> Callable[[Function], Function]:
    """Register a function `(arguments, draw) -> (args, kwargs)` as a data generator.

    It runs in the benchmark process. `arguments` is a `runner.suites.operators.Arguments`, `draw` its random streams.
    """
    return lambda function: _add(REGISTERED.generators, name, function, "data generator")


def find_operator(name: str) -> Op | None:
    """Return the operator of a name; every `aten::` name is one, and torch decides in the benchmark process."""
    load_users()
    if name in REGISTERED.operators:
        return REGISTERED.operators[name]
    if name in _ours():
        return _ours()[name]
    if name.startswith(SCHEMA) and len(name) > len(SCHEMA):
        in_place = IN_PLACE if name.partition(".")[0].endswith("_") else None
        return Op(name=name, kind="schema", target=name.removeprefix(SCHEMA), no_backward=in_place)
    return None


def close_names(name: str) -> list[str]:
    """Return the operators whose names are nearest."""
    return difflib.get_close_matches(name, [*REGISTERED.operators, *_ours()], n=3)


@cache
def load_users() -> dict[str, str]:
    """Import the modules of `XLABENCH_OPERATORS`; return those that could not be, with the reason."""
    failed = {}
    for name in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        try:
            importlib.import_module(name)
        except RegistrationError:
            raise
        except Exception as error:  # noqa: BLE001 - a user's module may raise anything while it is imported
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


@cache
def _ours() -> dict[str, Op]:
    tables = data.load("operators/ops.yaml", _Tables)
    ops = [_op(name, entry, "callable") for name, entry in tables.callables.items()]
    ops += [_op(name, entry, "method") for name, entry in tables.methods.items()]
    ops += [_op(name, entry, "module") for name, entry in tables.modules.items()]
    return {op.name: op for op in ops}


def _op(name: str, entry: _Entry, kind: Kind) -> Op:
    no_backward = entry.no_backward or (IN_PLACE if kind == "method" else None)
    target = entry.target or name
    return Op(name=name, kind=kind, target=target, shape=entry.shape, requires=entry.requires, no_backward=no_backward)


def _add(table: dict[str, Any], name: str, value: Any, what: str) -> Any:
    if name in table and table[name] is not value:
        raise RegistrationError(f"there are two of the {what} {name!r}; give one another name")
    table[name] = value
    return value
