"""`--ops-of`: the configuration of a model's operators, recorded by a process of its own, or of a trace's."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.plan.local_request import LocalRequest
from runner.suites import get_suite
from runner.suites.errors import SuiteError
from runner.suites.operators import traces
from store.errors import UsageError
from store.record import Test

FILE = "operators.json"
"""File in the run's folder with the configuration, which `--config` accepts."""


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """The operators of a model or a trace."""

    source: str
    """`SUITE/NAME`, or the name of the trace."""
    test: Test
    content: dict[str, Any]
    left_out: Mapping[str, int]
    suite: str | None
    """Suite of the model; None for a trace."""

    @property
    def text(self) -> str:
        return json.dumps(self.content)

    def sentence(self) -> str:
        inputs = [
            arguments for info in self.content.values() for config in info["config"] for arguments in config["input"]
        ]
        calls = sum(arguments["used_by"]["calls"] for arguments in inputs)
        reasons = "; ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        return f"{self.source} {self.test}: {calls} calls of {len(inputs)} operators" + (
            f"; left out: {reasons}" if reasons else ""
        )

    def narrow(self, request: LocalRequest) -> LocalRequest:
        """Return the request for these operators, and for the model itself, which they are a part of."""
        request = request.changed(ops_of=None, config=(self.text,), test=())
        names = [f"operators/{model.name}" for model in get_suite("operators").models(request.context)]
        tests: dict[str, tuple[Test, ...]] = {"operators": ("eval",)}
        suites = ["operators"]
        if self.suite is not None:
            names.append(self.source)
            suites.append(self.suite)
            tests[self.suite] = (self.test,)
        return request.changed(suite_name=tuple(suites), models=tuple(names), tests_of=tests)


def extract(request: LocalRequest) -> Extracted:
    """Return the operators that `--ops-of` asks for.

    Raises:
        UsageError: no such model, or a model that does not run.
    """
    named = request.selection.ops_of or ""
    path = Path(named)
    extracted = _of_trace(path) if path.is_file() else _of_model(request, named)
    if not extracted.content:
        raise UsageError(f"--ops-of {named}: the model calls no aten operator.")
    return extracted


def of_model_alone(request: LocalRequest) -> LocalRequest:
    """Return the request for the model of `--ops-of` without its operators, which nobody knows before it has run.

    Raises:
        UsageError: it is no model.
    """
    named = request.selection.ops_of
    return request if named is None else request.changed(ops_of=None, suite_name=(_suite_of(named),), only=(named,))


def _suite_of(named: str) -> str:
    suite, slash, _ = named.partition("/")
    if not slash:
        raise UsageError(f"--ops-of {named}: pass a model as SUITE/NAME, or a file with an execution trace.")
    try:
        get_suite(suite)
    except SuiteError as error:
        raise UsageError(f"--ops-of {named}: {error}") from None
    return suite


def _of_trace(path: Path) -> Extracted:
    recording = traces.read(path)
    content = recording.content(path.name, "eval")
    return Extracted(source=path.name, test="eval", content=content, left_out=recording.left_out, suite=None)


def _of_model(request: LocalRequest, named: str) -> Extracted:
    """Record a model in a process that imports torch."""
    suite = _suite_of(named)
    test: Test = request.selection.test[0] if request.selection.test else "eval"
    configuration = request.configuration
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / FILE
        words = ["--suite", suite, "--model", named.removeprefix(f"{suite}/"), "--test", test]
        words += ["--output", str(out), "--seed", str(request.protocol.seed)]
        words += ["--batch-size", str(configuration.batch_size)] if configuration.batch_size else []
        words += ["--torchbench-dir", str(request.torchbench_dir)] if request.torchbench_dir else []
        words += ["--dtype", configuration.dtype] if configuration.dtype else []
        command = [sys.executable, "-m", "runner.suites.operators.record", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not out.exists():
            last = (done.stderr.strip().splitlines() or ["the process ended without a message"])[-1]
            raise UsageError(f"--ops-of {named}: the operators could not be recorded: {last}")
        recorded = json.loads(out.read_text(encoding="utf-8"))
    return Extracted(source=named, test=test, suite=suite, **recorded)
