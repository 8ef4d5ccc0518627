"""The programs of other harnesses by the names under which their documents call them.

A published command line runs here with `python -m runner` in place of `python`, `bash` or `./`:
`python xla/benchmarks/experiment_runner.py --xla=PJRT …` as `python -m runner xla/benchmarks/experiment_runner.py …`.
A program that is not here is answered with the command that replaces it.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath

from runner.peer_cli import experiment_runner, table
from store.errors import UsageError

_HARNESS = ("torchbench", "huggingface", "timm_models", "runner", "inductor_xpu_test")
_PARAM = ("run_benchmark", "pytorch_benchmark")
_OPERATORS = (
    "`python -m runner.suites.operators -c FILE` with a configuration of torch.mm, torch.nn.EmbeddingBag or "
    "torch.nn.Linear: see docs/operators.md"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program that the first word names; without one, PyTorch/XLA's runner."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    words = words[1:] if words[:1] == ["-m"] else words
    if not words or words[0].startswith("-"):
        return experiment_runner.main(words)
    name, words = _name(words[0]), words[1:]
    if name in _HARNESS:
        from runner.dynamo import cli

        return cli.main([name, *words])
    if name in _PARAM:
        from runner.param import command_line as operators

        return operators.main(words)
    if name == "experiment_runner":
        return experiment_runner.main(words)
    return table.main(experiment_runner.PROGRAM, lambda: _refuse(name, words))


def _name(word: str) -> str:
    """Return a program's name without its folder or package, and without its suffix."""
    path = PurePath(word)
    return path.stem if path.suffix in (".py", ".sh", ".par") else path.name.rpartition(".")[2]


def _refuse(name: str, words: Sequence[str]) -> int:
    if name in _REPLACED:
        raise UsageError(f"{name} does not run here; use {_REPLACED[name](words)}.")
    programs = ", ".join(("experiment_runner", *_HARNESS, *_PARAM))
    raise UsageError(f"{name!r} is not a supported program; choose one of {programs}")


def _report(words: Sequence[str]) -> str:
    """Return the `xlabench report` of a command line of aggregate.py."""
    kind = next((word.partition("=")[2] for word in words if word.startswith("--report=")), "latest")
    rest = [word for word in words if not word.startswith("--report=")]
    return f"`{shlex.join(['xlabench', 'report', kind, '--rule', 'peer', *rest])}`"


def _analysis(words: Sequence[str]) -> str:
    """Return the report that has the numbers of result_analyzer.py."""
    folder = next((word.partition("=")[2] for word in words if word.startswith("--output-dirname=")), "output")
    target = f"{folder}/metric_report.csv"
    return f"`{shlex.join(['xlabench', 'report', folder, '--format', 'csv', '--output', target])}`"


def _fixed(text: str) -> Callable[[Sequence[str]], str]:
    return lambda _: text


_REPLACED: Mapping[str, Callable[[Sequence[str]], str]] = {
    "aggregate": _report,
    "result_analyzer": _analysis,
    "driver": _fixed(_OPERATORS),
    "pytorch_gemm": _fixed(_OPERATORS),
    "pytorch_emb": _fixed(_OPERATORS),
    "pytorch_linear": _fixed(_OPERATORS),
    "et_replay": _fixed("`xlabench run --ops-of TRACE`, which measures each operator of an execution trace alone"),
    "commsTraceReplay": _fixed("`xlabench run --ops-of TRACE` for its operators, as communication is not measured"),
    "dlrm_s_pytorch": _fixed("`xlabench run --suite-name torchbench --only dlrm`, on one device"),
}
"""Program that does not run here → its replacement, which depends on the words of the command line."""


if __name__ == "__main__":
    sys.exit(main())
