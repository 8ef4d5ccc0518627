"""Scripts that may show a fault, the smallest first; the next one is made only if the one before does not show it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.backends import BY_NAME
from runner.repro import calls
from runner.repro.script import script
from runner.repro.subject import of_record
from runner.suites.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.repro.subject import Subject
    from runner.settings import OwnModel
    from store.repro.fault import Fault

_OPERATOR = re.compile(r"[Oo]perator `aten\.(\w+)")
_ITEM = "Tensor.item()"
_ITEM_TEXT = """
import torch

from runner.repro.parts.tensors import tensor


def inputs():
    return [tensor((4, 4), torch.float32, 0, 1)]


def call(*values):
    return values[0] * values[0].sum().item()
"""
_LIMIT = re.compile(r"after (\d+(?:\.\d+)?) s")
_MINIFIED = "minify/repro.py"
_SIGKILL = 9


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A script to try, or why there is none of its kind."""

    what: str
    script: str = ""
    impossible: str = ""
    alone: bool = True
    """Whether it needs nothing of xlabench."""
    at_least_s: float = 0.0
    """How long it takes to show its fault, as a program that hangs does."""


def candidates(
    fault: Fault, python: str = sys.executable, limit_s: float = 300.0, own: OwnModel | None = None
) -> Iterator[Candidate]:
    """Yield scripts for a fault, from small to large.

    Args:
        fault: what to show.
        python: interpreter in which the model is looked into.
        limit_s: for each look into the model.
        own: the source of the model, where that is the user's own.

    Raises:
        UsageError: no script can run what the record measured.
    """
    subject = of_record(fault.record, verified=fault.kind == "wrong_answer", own=own)
    yield from {
        "fallback_op": _fallback_op,
        "graph_break": _graph_break,
        "failure": _failure,
        "wrong_answer": _wrong_answer,
    }[fault.kind](fault, subject, python, limit_s)


def _fallback_op(fault: Fault, subject: Subject, python: str, limit_s: float) -> Iterator[Candidate]:
    op = fault.signature.removeprefix("aten::")
    values = {"OP": fault.signature, "ENVIRONMENT": subject.values()["ENVIRONMENT"]}
    yield _one_call(fault, subject, op, "fallback_op", values, (python, limit_s))
    yield _model(fault, subject, "fallback_model", values)


def _graph_break(fault: Fault, subject: Subject, python: str, limit_s: float) -> Iterator[Candidate]:
    values = {"EXPECTED": tuple(fault.fragments())}
    small = {name: subject.values()[name] for name in ("ENVIRONMENT", "DEVICE", "OVERRIDES", "PRECISION")} | values
    if operator := _OPERATOR.search(fault.signature):
        yield _one_call(fault, subject, operator[1], "graph_break", small, (python, limit_s))
    elif _ITEM in fault.signature:
        what = "a function of one line"
        text = script(fault, "graph_break", what, values=small, packages=subject.packages(), text=_ITEM_TEXT)
        yield Candidate(what=what, script=text)
    yield _model(fault, subject, "graph_break_model", values)


def _failure(fault: Fault, subject: Subject, python: str, limit_s: float) -> Iterator[Candidate]:
    del python, limit_s
    error = fault.record.get("error") or {}
    if error.get("signal") or error.get("exit_code") is not None or error.get("type") == "Timeout":
        yield _ending(fault, subject, error)
        return
    values = {"EXPECTED": tuple(fault.fragments())}
    minified = _minified(fault)
    if minified:
        what = "the graph that dynamo's minifier left"
        given = {name: subject.values()[name] for name in ("ENVIRONMENT", "DYNAMO", "OVERRIDES", "PRECISION")} | values
        packages = subject.packages()
        yield Candidate(
            what=what, script=script(fault, "minified", what, values=given, packages=packages, raw=minified)
        )
    yield _model(fault, subject, "raises", values)


def _wrong_answer(fault: Fault, subject: Subject, python: str, limit_s: float) -> Iterator[Candidate]:
    del python, limit_s
    failed = str((fault.record.get("verification") or {}).get("first_failed"))
    # `result[0]` holds the predictions of a step that returns everything.
    predicts = subject.config.test == "train" and failed.startswith(("prediction", "result[0]"))
    yield _model(fault, subject, "wrong_answer", {**subject.judging(), "PREDICTS": predicts})


def _ending(fault: Fault, subject: Subject, error: Mapping[str, Any]) -> Candidate:
    """Return the script of a model that kills its process, or never ends."""
    what = "the whole model in a process of its own"
    if error.get("signal") == _SIGKILL:
        return Candidate(
            what=what, impossible="it was killed from outside (SIGKILL), as for memory: not tried again here"
        )
    limit = _LIMIT.search(fault.detail)
    values = {"SIGNAL": error.get("signal"), "EXIT_CODE": error.get("exit_code")}
    values |= {"LIMIT_S": float(limit[1])} if limit and error.get("type") == "Timeout" else {}
    return _model(fault, subject, "dies", values, what, values.get("LIMIT_S") or 0.0)


def _model(
    fault: Fault,
    subject: Subject,
    part: str,
    values: Mapping[str, Any],
    what: str = "the whole model",
    at_least_s: float = 0.0,
) -> Candidate:
    """Return a script that builds the whole model."""
    if (subject.config.xla, subject.config.dynamo) in BY_NAME:
        return Candidate(what=what, impossible=f"{subject.config.dynamo} is a backend that only xlabench has")
    try:
        source = subject.source()
    except SuiteError as error:
        return Candidate(what=what, impossible=str(error))
    packages = (*subject.packages(), *source.packages)
    text = script(fault, part, what, values={**subject.values(), **values}, packages=packages, text=source.text)
    return Candidate(what=what, script=text, alone="xlabench" not in source.packages, at_least_s=at_least_s)


def _one_call(
    fault: Fault, subject: Subject, op: str, part: str, values: Mapping[str, Any], run: tuple[str, float]
) -> Candidate:
    """Return a script of one call of an op, as the model makes it."""
    what = f"one call of aten::{op} as the model makes it"
    try:
        call = calls.call_of(subject, op, *run)
    except calls.NotFound as error:
        return Candidate(what=what, impossible=str(error))
    text = script(fault, part, what, values=values, packages=subject.packages(), text=call.text())
    return Candidate(what=what, script=text)


def _minified(fault: Fault) -> str:
    """Return what the minifier left of the program, without the paths and the caches of the machine it ran on."""
    paths = [each["path"] for each in fault.record.get("artifacts") or [] if each.get("kind") == "minify"]
    path = next((each for each in paths if each.endswith(_MINIFIED)), None)
    if path is None or fault.run_folder is None:
        return ""
    folder = Path(fault.run_folder).resolve()
    place = (folder / path).resolve()
    if not place.is_relative_to(folder) or not place.is_file():
        return ""
    program = place.read_text(encoding="utf-8").partition("if __name__ ==")[0]
    own = ("os.environ[", "torch._dynamo.config.debug_dir_root", "import os")
    return "\n".join(line.rstrip() for line in program.splitlines() if not line.startswith(own))
