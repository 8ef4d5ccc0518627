"""Which of the harness's programs is meant: the first word says it, or `--suite`."""

from __future__ import annotations

import shlex
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

from runner.dynamo import harness, matrix, xpu_script
from runner.errors import UsageError
from runner.peer_cli import compose
from runner.suites import suite_names

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "python -m runner.dynamo"
_MATRIX = ("runner",)
_XPU = ("inductor_xpu_test", "xpu-script")
_HELP = f"""\
usage: {PROGRAM} SUITE FLAGS …            as torchbench.py, huggingface.py, timm_models.py (--help after SUITE)
       {PROGRAM} --suite SUITE FLAGS …    the same
       {PROGRAM} runner FLAGS …           as runner.py: suites x dtypes x compilers
       {PROGRAM} xpu-script ARGUMENTS …   as inductor_xpu_test.sh: up to ten words in its order

docs/runner.md has the tables of their flags.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--help"], ["-h"]):
        sys.stdout.write(_HELP)
        return 0
    command = shlex.join(["python", "-m", "runner.dynamo", *given])
    return compose.main(PROGRAM, lambda: _run(given, command))


def _run(given: list[str], command: str) -> int:
    name, words = _split(given)
    if name in _MATRIX:
        return matrix.run(words, PROGRAM, command)
    if name in _XPU:
        return xpu_script.run(words, PROGRAM, command)
    if name not in suite_names():
        known = ", ".join((*suite_names(), *_MATRIX, *_XPU))
        raise UsageError(
            f"{name!r} is neither a suite nor a program of the harness; the first word must be one of {known}"
        )
    return harness.run(name, words, PROGRAM, command)


def _split(given: list[str]) -> tuple[str, list[str]]:
    """Return the program's or suite's name, without folder and suffix, and the words that are its own."""
    if given and not given[0].startswith("-"):
        return PurePath(given[0]).name.removesuffix(".py").removesuffix(".sh"), given[1:]
    for place, word in enumerate(given):
        if word.startswith("--suite="):
            return word.partition("=")[2], given[:place] + given[place + 1 :]
        if word == "--suite" and place + 1 < len(given):
            return given[place + 1], given[:place] + given[place + 2 :]
    raise UsageError("the first word must be a suite, such as torchbench; or pass --suite NAME")
