"""Operators: PARAM-style microbenchmarks, from a configuration to calls in every backend.

`create_bench_config`, `create_op_args` and `create_type` make a configuration, `expand` gives its cases; `runner.param`
measures them. Importing this imports no torch.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.suites.operators import document
from runner.suites.operators.document import DEFAULT_GENERATOR
from runner.suites.operators.expand import Case
from runner.suites.operators.expand import expand as expand_documents
from runner.suites.operators.registry import generator, iterator, operator

__all__ = [
    "Case",
    "create_bench_config",
    "create_op_args",
    "create_type",
    "expand",
    "generator",
    "iterator",
    "operator",
]


_TYPES: dict[str, dict[str, Any]] = {
    **{kind: {"type": kind, "value": None} for kind in ("int", "long", "float", "double", "bool", "device", "str")},
    **{f"{kind}_range": {"type": kind, "value_range": None} for kind in ("int", "long", "float", "double")},
    **{kind: {"type": kind, "value": None} for kind in ("genericlist", "tuple", "dtype")},
    "none": {"type": "none"},
    "tensor": {"type": "tensor", "dtype": "float", "shape": None},
}


def create_type(kind: str) -> dict[str, Any]:
    """Return an argument to be filled in, by its type: `tensor`, `int`, `int_range` and so on."""
    return copy.deepcopy(_TYPES[kind])


def create_op_args(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a build or an input with these arguments."""
    return {"args": list(args), "kwargs": dict(kwargs)}


def create_bench_config(name: str) -> dict[str, Any]:
    """Return the configuration of one operator, its list of inputs empty."""
    info: dict[str, Any] = {
        "build_iterator": None,
        "input_iterator": None,
        "build_data_generator": None,
        "input_data_generator": DEFAULT_GENERATOR,
        "config": [{"build": [], "input": []}],
    }
    return {name: info}


def expand(*configs: Mapping[str, Any] | str | Path) -> list[Case]:
    """Return the cases of configurations: in memory, as JSON text, or files.

    Raises:
        ConfigError: one cannot be used; the sentence names operator, configuration and field.
    """
    documents = (
        document.of_text(document.text_of(str(config)))
        if isinstance(config, str | Path)
        else document.parse(dict(config))
        for config in configs
    )
    return expand_documents(*documents)
