"""`--ops-of`: the configuration of a model's operators, recorded by a process of its own, or of a trace's."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import UsageError
from runner.suites import get_suite
from runner.suites.errors import SuiteError
from runner.suites.operators import traces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.plan import PlanRequest
    from store.record import Test

FILE = "operators.json"
"""In the folder of the run: the configuration, which `--config` takes again."""


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """The operators of a model or a trace."""

    source: str
    """`SUITE/NAME`, or the name of the trace."""
    test: Test
    content: dict[str, Any]
    left_out: Mapping[str, int]
    suite: str | None
    """Of the model; None of a trace."""

    @property
    def text(self) -> str:
        return json.dumps(self.content)

    def sentence(self) -> str:
        """Say what was found and what was left out."""
        inputs = [given for info in self.content.values() for config in info["config"] for given in config["input"]]
        calls = sum(given["used_by"]["calls"] for given in inputs)
        reasons = "; ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        return f"{self.source} {self.test}: {calls} calls of {len(inputs)} operators" + (
            f"; left out: {reasons}" if reasons else ""
        )

    def narrow(self, request: PlanRequest) -> PlanRequest:
        """Return the request for these operators, and for the model itself, which they are a part of."""
        names = [f"operators/{each.name}" for each in get_suite("operators").models(request.context)]
        tests: dict[str, tuple[Test, ...]] = {"operators": ("eval",)}
        suites = ["operators"]
        if self.suite is not None:
            names.append(self.source)
            suites.append(self.suite)
            tests[self.suite] = (self.test,)
        return replace(request, suites=tuple(suites), models=tuple(names), tests_of=tests)


def extract(parsed: argparse.Namespace) -> Extracted:
    """Return the operators that the flags ask for, and let the flags name them as a configuration.

    Raises:
        UsageError: flags that contradict it, no such model, or a model that does not run.
    """
    check_beside(parsed)
    path = Path(parsed.ops_of)
    found = _of_trace(path) if path.is_file() else _of_model(parsed)
    if not found.content:
        raise UsageError(f"--ops-of {parsed.ops_of}: the model calls no aten operator.")
    parsed.config, parsed.suite_name, parsed.test = [found.text], ["operators"], []
    return found


def check_beside(parsed: argparse.Namespace) -> None:
    """Check the flags beside `--ops-of`.

    Raises:
        UsageError: one contradicts it.
    """
    if parsed.config or parsed.suite_name or parsed.plan or parsed.only or parsed.smoke:
        raise UsageError("--ops-of selects the experiments; remove --suite-name, --config, --only, --plan, --smoke")
    if len(parsed.test) > 1:
        raise UsageError("--ops-of records one test of the model; pass --test eval or --test train")


def of_model_alone(parsed: argparse.Namespace) -> argparse.Namespace:
    """Return the flags for the model of `--ops-of` without its operators, which nobody knows before it has run.

    Raises:
        UsageError: a flag beside it contradicts it, or it is no model.
    """
    check_beside(parsed)
    suite = _suite_of(parsed.ops_of)
    return argparse.Namespace(**{**vars(parsed), "ops_of": None, "suite_name": [suite], "only": [parsed.ops_of]})


def _suite_of(named: str) -> str:
    suite, slash, _ = named.partition("/")
    if not slash:
        raise UsageError(f"--ops-of {named}: pass a model as SUITE/NAME, or a file with an execution trace")
    try:
        get_suite(suite)
    except SuiteError as error:
        raise UsageError(f"--ops-of {named}: {error}") from None
    return suite


def _of_trace(path: Path) -> Extracted:
    recording = traces.read(path)
    content = recording.content(path.name, "eval")
    return Extracted(source=path.name, test="eval", content=content, left_out=recording.left_out, suite=None)


def _of_model(parsed: argparse.Namespace) -> Extracted:
    """Record a model in a process that imports torch."""
    suite = _suite_of(parsed.ops_of)
    model = parsed.ops_of.removeprefix(f"{suite}/")
    test: Test = parsed.test[0] if parsed.test else "eval"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / FILE
        words = ["--suite", suite, "--model", model, "--test", test, "--output", str(out), "--seed", str(_seed(parsed))]
        words += ["--batch-size", str(parsed.batch_size)] if parsed.batch_size else []
        words += ["--torchbench-dir", str(parsed.torchbench_dir)] if parsed.torchbench_dir else []
        words += ["--dtype", parsed.dtype] if parsed.dtype else []
        command = [sys.executable, "-m", "runner.suites.operators.record", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not out.exists():
            last = (done.stderr.strip().splitlines() or ["the process ended without a message"])[-1]
            raise UsageError(f"--ops-of {parsed.ops_of}: the operators could not be recorded: {last}")
        found = json.loads(out.read_text(encoding="utf-8"))
    return Extracted(source=parsed.ops_of, test=test, suite=suite, **found)


def _seed(parsed: argparse.Namespace) -> int:
    from runner.messages import Settings

    return int(getattr(parsed, "seed", Settings().seed))
