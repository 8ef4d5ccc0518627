"""Operators: PARAM-style microbenchmarks, from a configuration to calls in every backend.

`create_bench_config`, `create_op_args` and `create_type` make a configuration, `expand` gives its cases; `runner.param`
measures them. Importing this imports no torch.
"""

from importlib import import_module
from typing import Any

from runner.suites.operators.expand import Case
from runner.suites.operators.library import create_bench_config, create_op_args, create_type, expand
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


def __getattr__(name: str) -> Any:
    """Programs written before `runner.param` was the library import these names from here."""
    if name in ("CaseResult", "collect", "run"):
        return getattr(import_module("runner.param"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
