"""PARAM's operator benchmarks: its command line, and the same as a library.

`create_bench_config`, `create_op_args` and `create_type` make a configuration, `expand` gives its cases, `run` measures
one in this process, `collect` gives what PARAM would write. Importing this imports no torch.
"""

from runner.param.library import CaseResult, collect, run
from runner.suites.operators import Case, create_bench_config, create_op_args, create_type, expand

__all__ = [
    "Case",
    "CaseResult",
    "collect",
    "create_bench_config",
    "create_op_args",
    "create_type",
    "expand",
    "run",
]
