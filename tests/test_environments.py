"""What works without torch, and on the newest torch without torch_xla: real environments, nothing patched."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.command import ROOT, served, xlabench
from tests.store import factory
from tests.tiers import first_of

pytestmark = [pytest.mark.slow, pytest.mark.venv]


def interpreter(name: str) -> Path:
    """Return the python of a test environment that `make test` has made."""
    python = ROOT / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not set up; `make test` makes it")
    return python


def missing(python: Path, package: str) -> bool:
    return subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode != 0


@pytest.fixture(scope="module")
def plain() -> Path:
    python = interpreter(".venv-plain")
    assert missing(python, "torch")
    return python


@pytest.fixture(scope="module")
def latest() -> Path:
    python = interpreter(".venv-latest")
    assert missing(python, "torch_xla")
    return python


VERBS = """
import xlabench
for words in (
    ["plan", "--suite-name", "dummy", "--accelerator", "cpu", "--format", "json"],
    ["ingest"],
    ["report"],
    ["sql", "--format", "json", "SELECT count(*) AS n FROM runs"],
):
    assert xlabench.main(words) == 0, words
"""


def test_plan_ingest_report_and_sql_without_torch(plain: Path, tmp_path: Path) -> None:
    """A laptop without torch reads what others have measured; a plan skips every experiment with that reason."""
    factory.demo_runs(tmp_path)
    env = {**os.environ, "XLABENCH_HOME": str(tmp_path)}
    done = subprocess.run([plain, "-c", VERBS], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    planned, end = json.JSONDecoder().raw_decode(done.stdout)
    assert len(planned["plan"]) == 16
    assert all("torch is not installed" in entry["skip_reason"] for entry in planned["plan"])
    said = done.stdout[end:]
    assert 0 < said.index("new records") < said.index("Speedup over inductor")
    assert json.loads(said.splitlines()[-1]) == {"n": 2}


def test_serve_without_torch(plain: Path, tmp_path: Path) -> None:
    """The dashboard starts without torch, with an empty store too."""
    with served(tmp_path, python=plain):
        pass


@pytest.mark.parametrize("measured", first_of([["eager"], ["eager", "inductor"]]), ids=["eager", "and inductor"])
def test_newest_torch_measures_and_skips_xla(latest: Path, tmp_path: Path, measured: list[str]) -> None:
    """Without torch_xla its backends are skipped with the reason; everything else is measured.

    With inductor it is thorough: this torch would be asked for its toolchain, and compile, in every new checkout.
    """
    backends = [*measured, "openxla+dynamo", "openxla+lazytensor"]
    words = ["--suite-name", "dummy", "--filter", "^dummy$", "--accelerator", "cpu", "--test", "eval"]
    words += [f"--backend={name}" for name in backends]
    done = xlabench("run", *words, "--repeat", "5", "--no-ingest", "--home", tmp_path, python=latest)
    assert f"Measured {len(measured)} experiment" in done.stdout
    [file] = tmp_path.glob("runs/*/results.jsonl")
    records = sorted(map(json.loads, file.read_text().splitlines()), key=lambda record: record["variant"])
    version = subprocess.run(
        [latest, "-c", "import importlib.metadata as m; print(m.version('torch'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert [(record["variant"], record["status"]) for record in records] == [
        *((name, "ok") for name in measured),
        ("openxla+dynamo", "skipped"),
        ("openxla+lazytensor", "skipped"),
    ]
    assert {record["environment"]["torch"] for record in records} == {version}
    assert {record["environment"]["torch_xla"] for record in records} == {None}
    reasons = [record["error"]["message"] for record in records[len(measured) :]]
    assert all(f"torch_xla is not installed for torch {version}" in reason for reason in reasons)
