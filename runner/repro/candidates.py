"""Scripts that may show a fault, the smallest first; each is run once, in a process of its own and a bounded time."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from runner.backends import BY_NAME
from runner.plan.interpreters import variables
from runner.repro import calls
from runner.repro.bundle import script
from runner.repro.subject import FaultyExperiment, of_record
from runner.settings import OwnModel
from runner.suites.base import SuiteError
from store.repro.fault import Fault, Outcome, ScriptOutcome

_OPERATOR = re.compile(r"[Oo]perator `aten\.(\w+)")
_ITEM = "Tensor.item()"
_ITEM_TEXT = """
import torch

from runner.repro.parts.step import tensor


def inputs():
    return [tensor((4, 4), torch.float32, 0, 1)]


def call(*values):
    return values[0] * values[0].sum().item()
"""
Look = Callable[[str], calls.Call]
"""Runs the model and returns its first call of an op; raises `NotFound`."""
_LIMIT = re.compile(r"after (\d+(?:\.\d+)?) s")
_MINIFIED = "minify/repro.py"
_SIGKILL = 9


@dataclass(frozen=True, kw_only=True)
class CandidateScript:
    """A script to try, or why there is none of its kind."""

    what: str
    script: str = ""
    impossible: str = ""
    alone: bool = True
    """Whether it runs without xlabench."""
    at_least_s: float = 0.0
    """Seconds until it can show its fault, for a program that hangs."""


def candidates(
    fault: Fault, python: str = sys.executable, limit_s: float = 300.0, own: OwnModel | None = None
) -> Iterator[CandidateScript]:
    """Yield scripts for a fault, from small to large; each look into its model takes `limit_s` seconds at most.

    Raises:
        UsageError: no script can run what the record measured.
    """
    subject = of_record(fault.record, verified=fault.kind == "wrong_answer", own=own)
    look = partial(calls.call_of, subject, python=python, limit_s=limit_s)
    match fault.kind:
        case "fallback_op":
            values = {"OP": fault.signature, "ENVIRONMENT": subject.values()["ENVIRONMENT"]}
            yield _one_call(fault, subject, fault.signature.removeprefix("aten::"), "fallback_op", values, look)
            yield _model(fault, subject, "fallback_model", values)
        case "graph_break":
            yield from _graph_break(fault, subject, look)
        case "failure":
            yield from _failure(fault, subject)
        case "wrong_answer":
            failed = str((fault.record.get("verification") or {}).get("first_failed"))
            # `result[0]` holds the predictions of a step that returns everything.
            predicts = subject.config.test == "train" and failed.startswith(("prediction", "result[0]"))
            yield _model(fault, subject, "wrong_answer", {**subject.judging(), "PREDICTS": predicts})


def _graph_break(fault: Fault, subject: FaultyExperiment, look: Look) -> Iterator[CandidateScript]:
    values = {"EXPECTED": tuple(fault.fragments())}
    small = {name: subject.values()[name] for name in ("ENVIRONMENT", "DEVICE", "OVERRIDES", "PRECISION")} | values
    if operator := _OPERATOR.search(fault.signature):
        yield _one_call(fault, subject, operator[1], "graph_break", small, look)
    elif _ITEM in fault.signature:
        what = "a function of one line"
        text = script(fault, "graph_break", what, values=small, packages=subject.packages(), text=_ITEM_TEXT)
        yield CandidateScript(what=what, script=text)
    yield _model(fault, subject, "graph_break_model", values)


def _failure(fault: Fault, subject: FaultyExperiment) -> Iterator[CandidateScript]:
    error = fault.record.get("error") or {}
    if error.get("signal") or error.get("exit_code") is not None or error.get("type") == "Timeout":
        yield _ending(fault, subject, error)
        return
    values = {"EXPECTED": tuple(fault.fragments())}
    if minified := _minified(fault):
        what = "the graph that dynamo's minifier left"
        small = {name: subject.values()[name] for name in ("ENVIRONMENT", "DYNAMO", "OVERRIDES", "PRECISION")} | values
        text = script(fault, "minified", what, values=small, packages=subject.packages(), raw=minified)
        yield CandidateScript(what=what, script=text)
    yield _model(fault, subject, "raises", values)


def _ending(fault: Fault, subject: FaultyExperiment, error: Mapping[str, Any]) -> CandidateScript:
    """Return the script of a model that kills its process, or never ends."""
    what = "the whole model in a process of its own"
    if error.get("signal") == _SIGKILL:
        return CandidateScript(
            what=what, impossible="no script is run, because SIGKILL ended the process (out of memory?)"
        )
    limit = _LIMIT.search(fault.detail)
    values = {"SIGNAL": error.get("signal"), "EXIT_CODE": error.get("exit_code")}
    values |= {"LIMIT_S": float(limit[1])} if limit and error.get("type") == "Timeout" else {}
    return _model(fault, subject, "dies", values, what, values.get("LIMIT_S") or 0.0)


def _model(
    fault: Fault,
    subject: FaultyExperiment,
    part: str,
    values: Mapping[str, Any],
    what: str = "the whole model",
    at_least_s: float = 0.0,
) -> CandidateScript:
    """Return a script that builds the whole model."""
    if (subject.config.xla, subject.config.dynamo) in BY_NAME:
        return CandidateScript(what=what, impossible=f"{subject.config.dynamo} is a backend that only xlabench has")
    try:
        source = subject.source()
    except SuiteError as error:
        return CandidateScript(what=what, impossible=str(error))
    packages = (*subject.packages(), *source.packages)
    text = script(fault, part, what, values={**subject.values(), **values}, packages=packages, text=source.text)
    return CandidateScript(what=what, script=text, alone="xlabench" not in source.packages, at_least_s=at_least_s)


def _one_call(
    fault: Fault, subject: FaultyExperiment, op: str, part: str, values: Mapping[str, Any], look: Look
) -> CandidateScript:
    """Return a script of one call of an op, as the model makes it."""
    what = f"one call of aten::{op} as the model makes it"
    try:
        call = look(op)
    except calls.NotFound as error:
        return CandidateScript(what=what, impossible=str(error))
    text = script(fault, part, what, values=values, packages=subject.packages(), text=call.text())
    return CandidateScript(what=what, script=text)


def _minified(fault: Fault) -> str:
    """Return what the minifier left of the program, without the paths and the caches of the machine it ran on."""
    paths = [artifact["path"] for artifact in fault.record.get("artifacts") or [] if artifact.get("kind") == "minify"]
    path = next((name for name in paths if name.endswith(_MINIFIED)), None)
    if path is None or fault.run_folder is None:
        return ""
    folder = Path(fault.run_folder).resolve()
    place = (folder / path).resolve()
    if not place.is_relative_to(folder) or not place.is_file():
        return ""
    program = place.read_text(encoding="utf-8").partition("if __name__ ==")[0]
    own = ("os.environ[", "torch._dynamo.config.debug_dir_root", "import os")
    return "\n".join(line.rstrip() for line in program.splitlines() if not line.startswith(own))


_END = 12_000
_SLACK_S = 60.0
"""Seconds that a script needs beyond the time limit at which its program counts as hanging."""
_VERDICTS: dict[tuple[int, str], Outcome] = {(0, "SHOWN"): "shown", (1, "NOT SHOWN"): "not shown"}
_VERDICT = re.compile(r"^(SHOWN|NOT SHOWN): ", re.MULTILINE)
_VERSIONS = re.compile(r"^VERSIONS: (.*)$", re.MULTILINE)


def show(
    fault: Fault,
    python: str = sys.executable,
    limit_s: float = 300.0,
    tell: Callable[[str], None] = lambda _: None,
    own: OwnModel | None = None,
) -> ScriptOutcome:
    """Try scripts from small to large; return the proof of the first that shows the fault, else of the last that ran.

    Args:
        fault: what to show.
        python: interpreter that runs the scripts.
        limit_s: for each script, and for each look into the model.
        tell: is called with a line about what is done next.
        own: the source of the model, where that is the user's own.

    Raises:
        UsageError: no script can run what the record measured.
    """
    best: ScriptOutcome | None = None
    for candidate in candidates(fault, python, limit_s, own):
        tell(f"{candidate.what}: " + (candidate.impossible or "running"))
        proof = prove(candidate, python, limit_s)
        if proof.outcome == "shown":
            return proof
        if best is None or proof.outcome == "not shown" or best.outcome == "could not run":
            best = proof
    assert best is not None  # noqa: S101 - there is a candidate for every kind
    return best


def prove(candidate: CandidateScript, python: str, limit_s: float) -> ScriptOutcome:
    """Run one script; nothing that it starts outlives this."""
    limit = max(limit_s, candidate.at_least_s + _SLACK_S if candidate.at_least_s else 0.0)
    began, now = time.monotonic(), datetime.now(UTC)
    outcome: Outcome = "could not run"
    output = candidate.impossible
    if not candidate.impossible:
        code, output = _run(candidate, python, limit)
        verdicts = _VERDICT.findall(output)
        if code is None:
            output += f"\n(killed: not finished after {limit:g} s)"
        elif verdicts:
            outcome = _VERDICTS.get((code, verdicts[-1]), outcome)
    versions = _VERSIONS.search(output)
    return ScriptOutcome(
        outcome=outcome,
        what=candidate.what,
        script=candidate.script,
        output=output[-_END:],
        seconds=time.monotonic() - began,
        at=now,
        versions=versions[1] if versions else "",
    )


def _run(candidate: CandidateScript, python: str, limit_s: float) -> tuple[int | None, str]:
    """Return the exit code, None where the time was over, and what was printed."""
    with tempfile.TemporaryDirectory(prefix="xlabench-repro-") as scratch:
        place = Path(scratch) / "repro.py"
        place.write_text(candidate.script, encoding="utf-8")
        log = Path(scratch) / "output.txt"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [python, place.name],
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=_environment(candidate, python, scratch),
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = log.read_text(encoding="utf-8", errors="replace")
        return code, text.replace(f"{scratch}/", "")


def _environment(candidate: CandidateScript, python: str, scratch: str) -> dict[str, str]:
    """Return the script's variables: caches of its own, and nothing of ours on its path where it stands alone."""
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor",
        "TRITON_CACHE_DIR": f"{scratch}/triton",
        "XLA_PERSISTENT_CACHE_PATH": "",
        "PYTHONUNBUFFERED": "1",
    }
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" or not candidate.alone}
    if candidate.alone:
        return {**own, **caches}
    packages = variables(python).get("PYTHONPATH") or os.environ.get("PYTHONPATH", "")
    return {**own, **caches, "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), packages]))}
