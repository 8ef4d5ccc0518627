"""Two interpreters with other versions of torch in one run: measured side by side, kept apart everywhere."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.command import ROOT, xlabench

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.venv]

MODEL = ("--suite-name", "dummy", "--only", "dummy", "--accelerator", "cpu", "--test", "eval", "--repeat", "3")
VARIABLE = "XLABENCH_OTHER_PYTHON"


def latest() -> str:
    python = ROOT / ".venv-latest" / "bin" / "python"
    if not python.exists():
        pytest.skip(".venv-latest is not set up; `make test` makes it")
    return str(python)


def other() -> str:
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} names no interpreter with another torch and torch_xla")
    return os.environ[VARIABLE]


def torch_of(python: str) -> str:
    code = "import importlib.metadata as m; print(m.version('torch'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", params=[latest, other], ids=["latest", "other"])
def python(request: pytest.FixtureRequest) -> str:
    return request.param()


@pytest.fixture(scope="module")
def home(python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run of one model in both environments; the second one is named in the home's file."""
    made = tmp_path_factory.mktemp("home")
    (made / "xlabench.toml").write_text(f'[environments]\nsecond = "{python}"\n')
    xlabench("run", *MODEL, *environments(), "--home", made, "--output-dirname", made / "runs" / "both")
    return made


def environments() -> tuple[str, ...]:
    return "--env", "default", "--env", "second"


def records(home: Path) -> dict[tuple[str, str], dict]:
    lines = (home / "runs" / "both" / "results.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return {(each["environment"]["name"], each["variant"]): each for each in found}


def has_xla(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch_xla"], capture_output=True, check=False).returncode == 0


def test_both_are_measured_under_their_own_versions(home: Path, python: str) -> None:
    """By one scheduler, whose own packages the other interpreter does not see."""
    found = records(home)
    version = torch_of(python)
    for variant in ("eager", "inductor"):
        here, there = found["default", variant], found["second", variant]
        assert (here["status"], there["status"]) == ("ok", "ok")
        assert (here["environment"]["torch"], there["environment"]["torch"]) == ("2.9.1", version)
        assert there["environment"]["torch_git"] != here["environment"]["torch_git"]
        assert here["experiment_id"] == there["experiment_id"]
        assert here["record_id"] != there["record_id"]
        assert here["experiment"]["batch_size"] == there["experiment"]["batch_size"]
        assert f"--env second={python}" in there["reproduce"]
        assert "--env" not in here["reproduce"]


def test_without_torch_xla_its_backends_are_skipped_there_alone(home: Path, python: str) -> None:
    found = records(home)
    for variant in ("openxla+lazytensor", "openxla+dynamo"):
        assert found["default", variant]["status"] == "ok"
        there = found["second", variant]
        if has_xla(python):
            assert there["status"] == "ok"
        else:
            assert there["status"] == "skipped"
            assert f"not installed for torch {torch_of(python)}" in there["error"]["message"]


def test_equal_variants_are_measured_next_to_each_other(home: Path) -> None:
    """Each environment has its server, whose children follow one another."""
    order = [key for key, record in records(home).items() if record["status"] == "ok"]
    assert order[:4] == [("default", "eager"), ("second", "eager"), ("default", "inductor"), ("second", "inductor")]
    assert (home / "runs" / "both" / "server-second.log").exists()


def test_the_run_lists_both(home: Path, python: str) -> None:
    file = json.loads((home / "runs" / "both" / "run.json").read_text())
    assert [(each["name"], each["torch"]) for each in file["environments"]] == [
        ("default", "2.9.1"),
        ("second", torch_of(python)),
    ]
    assert [each["environment"] for each in file["plan"]].count("second") == 4


def test_store_and_report_keep_them_apart(home: Path, python: str) -> None:
    """A speedup has its baseline in the same environment."""
    query = (
        "SELECT environment, torch, count(*) AS n FROM results WHERE status = 'ok' GROUP BY ALL ORDER BY environment"
    )
    out = xlabench("sql", "--home", home, "--format", "json", query).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows == [
        {"environment": "default", "torch": "2.9.1", "n": 4},
        {"environment": "second", "torch": torch_of(python), "n": 4 if has_xla(python) else 2},
    ]
    (models, *_) = json.loads(xlabench("report", "--home", home, "--format", "json").stdout)["tables"]
    titles = [column["title"] for column in models["columns"]]
    speedups = {row[titles.index("environment")]: row[titles.index("Speedup")] for row in models["rows"]}
    assert speedups == {"default": 1.0, "second": 1.0}, "inductor over the inductor of its own environment"


def test_the_same_command_resumes_in_both(home: Path) -> None:
    done = xlabench("run", *MODEL, *environments(), "--home", home, "--output-dirname", home / "runs" / "both")
    assert "Measured 0 experiments" in done.stdout
    assert "already finished: dummy/dummy eval eager on cpu in second" in done.stderr


def test_fewer_environments_are_another_plan(home: Path) -> None:
    done = xlabench("run", *MODEL, "--home", home, "--output-dirname", home / "runs" / "both", code=2)
    assert "another plan" in done.stderr
