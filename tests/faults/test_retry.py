"""A new failure is measured once more in a new interpreter; both records are kept."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from store.query import connect, current_snapshot
from tests import warm
from tests.faults.faulty_suite import FAILS_WHERE

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]


def run(home: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Measure the model that fails while a file is there."""
    command = ["run", "--suite-name", "faulty", "--only", "fails_once", *words]
    command += ["--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--test", "eval", "--repeat", "3"]
    command += ["--processes", "1"]
    command += ["--home", str(home), "--output-dirname", str(home / "runs" / name)]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
    environment[FAILS_WHERE] = str(home / "fails")
    return warm.run("xlabench", command, env=environment)


def records(home: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (home / "runs" / name / "results.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose store knows that the model passed."""
    made = tmp_path_factory.mktemp("home")
    assert run(made, "first").returncode == 0
    assert [record["status"] for record in records(made, "first")] == ["ok"]
    return made


@pytest.fixture(scope="module")
def second_run(home: Path) -> subprocess.CompletedProcess[str]:
    """The model fails once in a second run."""
    (home / "fails").touch()
    return run(home, "again", "--strict")


def test_a_new_failure_is_tried_once_more(home: Path, second_run: subprocess.CompletedProcess[str]) -> None:
    done = second_run
    assert done.returncode == 0, done.stderr
    assert "New failure: the experiment ran when last measured." in done.stderr
    assert "Measured 1 experiment " in done.stdout
    assert "(0 failed)" in done.stdout
    first, second = records(home, "again")
    assert [(each["attempt"], each["status"], each["measurement"]["start"]) for each in (first, second)] == [
        (1, "run_error", "fork"),
        (2, "ok", "interpreter"),
    ]
    assert first["error"]["message"] == "this step fails this once"
    assert first["record_id"] != second["record_id"]
    assert second["environment"]["server_import_s"] is None
    assert [each["path"].rsplit("/")[-1] for each in second["artifacts"]] == ["attempt-2-timed.log"]


@pytest.mark.usefixtures("second_run")
def test_the_views_take_the_newest_attempt(home: Path) -> None:
    with connect(current_snapshot(home / "store")) as con:
        rows = con.execute("SELECT run_label, status, steady_n FROM results ORDER BY run_started").fetchall()
    assert rows == [("faulty", "ok", 3), ("faulty", "ok", 3)]


@pytest.mark.thorough
def test_without_tries_the_failure_stays(home: Path) -> None:
    (home / "fails").touch()
    done = run(home, "none", "--retry-new-failures", "0", "--strict")
    assert done.returncode == 1
    assert [record["status"] for record in records(home, "none")] == ["run_error"]


@pytest.mark.thorough
def test_what_failed_last_time_too_is_not_tried_again(home: Path, tmp_path: Path) -> None:
    (tmp_path / "fails").touch()
    assert run(tmp_path, "first").returncode == 0
    (tmp_path / "fails").touch()
    run(tmp_path, "second")
    assert [record["status"] for record in records(tmp_path, "second")] == ["run_error"]
