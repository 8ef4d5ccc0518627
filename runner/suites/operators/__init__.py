"""Operators: PARAM-style microbenchmarks, from a configuration to calls in every backend.

As a library: `create_bench_config`, `create_op_args` and `create_type` make a configuration, `expand` gives its cases,
`run` measures one in this process, `collect` gives what PARAM would write. Importing this imports no torch.
"""

from runner.suites.operators.expand import Case
from runner.suites.operators.library import (
    CaseResult,
    collect,
    create_bench_config,
    create_op_args,
    create_type,
    expand,
    run,
)
from runner.suites.operators.registry import generator, iterator, operator

__all__ = [
    "Case",
    "CaseResult",
    "collect",
    "create_bench_config",
    "create_op_args",
    "create_type",
    "expand",
    "generator",
    "iterator",
    "operator",
    "run",
]
