"""Real processes in turns: each takes all its rounds, who fails fails alone, and nobody pays for the others' time.

These are the long forms. The short ones: two backends take turns in tests/test_protocol_in_records.py; one environment
of two is killed in its turn, and the other one takes all of its own, in test_kill_interleaved.py.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from runner import processes
from runner.environments.machine import detect
from tests import warm
from tests.command import xlabench
from tests.faults.faulty_suite import FAILS_WHERE, LATE_CALLS

pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.thorough]

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 12
ROUNDS = 6
XLA = pytest.mark.skipif("torch_xla" not in detect().packages, reason="torch_xla is needed")


def read(folder: Path) -> list[dict]:
    run_id = json.loads((folder / "run.json").read_text())["run"]["run_id"]
    time.sleep(0.1)
    assert processes.tagged(run_id) == []
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def steady_rounds(record: dict) -> list[int]:
    blocks = record["measurement"]["blocks"]
    return [number for number, kind in zip(blocks["round"], blocks["kind"], strict=True) if kind == "steady"]


@XLA
def test_all_backends_take_turns_twice(tmp_path: Path) -> None:
    """A replica is a process of its own; two of them take turns in tests/test_payoff_command.py as well."""
    words = ["run", "--suite-name", "dummy", "--only", "dummy", "--accelerator", "cpu", "--test", "eval"]
    words += ["--repeat", "6", "--rounds", "3", "--processes", "2", "--no-ingest"]
    xlabench(*words, "--home", tmp_path, "--output-dirname", tmp_path / "run")
    variants = ["eager", "inductor", "openxla+lazytensor", "openxla+dynamo"]
    assert_all_take_turns(read(tmp_path / "run"), [(v, k) for k in range(2) for v in variants], [2, 2, 2])


def assert_all_take_turns(records: list[dict], expected: list[tuple[str, int]], rounds: list[int]) -> None:
    """Every record holds its rounds, and the re-warming apart."""
    assert [(each["variant"], each["replica"]) for each in records] == expected
    for record in records:
        measurement = record["measurement"]
        assert record["status"] == "ok", record["error"]
        assert (measurement["order"], measurement["block"]) == ("interleaved", rounds[0])
        assert measurement["together"] == len({variant for variant, _ in expected})
        steady = steady_rounds(record)
        assert [steady.count(number) for number in sorted(set(steady))] == rounds
        assert len(measurement["blocks"]["rewarm_time"]) >= len(rounds)
        assert len(measurement["blocks"]["kind"]) == len(record["metrics"]["total_time"])
    assert len({each["record_id"] for each in records}) == len(records)


def run(folder: Path, *words: str) -> list[dict]:
    """Measure faulty models in turns."""
    command = ["run", "--suite-name", "faulty", "--test", "eval"]
    command += ["--accelerator", "cpu", "--dynamo", "None", "--processes", "1", *words]
    command += ["--home", str(folder), "--output-dirname", str(folder / "run"), "--no-ingest"]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
    environment[FAILS_WHERE] = str(folder / "fails")
    done = warm.run("xlabench", command, env=environment)
    assert done.returncode == 0, done.stderr
    return read(folder / "run")


def environments(*names: str) -> list[str]:
    """Return the words that have the same interpreter take turns with itself."""
    return ["--xla", "None", *(word for name in names for word in ("--env", f"{name}={sys.executable}"))]


@pytest.fixture(scope="module")
def two_backends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict]]:
    """A model that is fine and one that raises in a turn, each under two backends: records by model."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "fails").touch()
    only = ("--only", "fine", "--only", "late_raise")
    records = run(folder, *only, "--repeat", str(LATE_CALLS), "--rounds", str(ROUNDS))
    return {name: [each for each in records if each["model"]["model_name"] == name] for name in only[1::2]}


@XLA
def test_backends_take_turns(two_backends: dict[str, list[dict]]) -> None:
    expected = [("eager", 0), ("openxla+lazytensor", 0)]
    assert_all_take_turns(two_backends["fine"], expected, [LATE_CALLS // ROUNDS] * ROUNDS)


@XLA
def test_a_backend_that_fails_in_its_turn_fails_alone(two_backends: dict[str, list[dict]]) -> None:
    assert_one_fails_alone(two_backends["late_raise"], "run_error", "this step always fails")


def assert_one_fails_alone(records: list[dict], status: str, part: str) -> None:
    """After both have taken turns; the other one takes all of its own."""
    bad, good = sorted(records, key=lambda each: each["status"] == "ok")
    assert (bad["status"], bad["error"]["phase"], good["status"]) == (status, "measure", "ok")
    assert part in bad["error"]["message"]
    assert sorted(set(steady_rounds(good))) == list(range(ROUNDS))
    assert steady_rounds(good).count(ROUNDS - 1) == LATE_CALLS // ROUNDS
    if status == "crashed":
        assert bad["error"]["signal"] == signal.SIGSEGV


@pytest.mark.parametrize(
    ("model", "status", "part"),
    [
        ("late_raise", "run_error", "this step always fails"),
        ("late_segfault", "crashed", "SIGSEGV"),
        ("late_hang", "timeout", f"after {TIMEOUT_S} s"),
    ],
)
def test_an_environment_that_fails_in_its_turn_fails_alone(tmp_path: Path, model: str, status: str, part: str) -> None:
    (tmp_path / "fails").touch()
    limit_s = TIMEOUT_S if model == "late_hang" else 300
    words = ("--repeat", str(LATE_CALLS), "--rounds", str(ROUNDS), "--subprocess-timeout", str(limit_s))
    assert_one_fails_alone(run(tmp_path, "--only", model, *environments("one", "two"), *words), status, part)


def test_a_time_limit_counts_running_time_only(tmp_path: Path) -> None:
    """Each of the three sleeps for less than the limit, all together for longer; none is charged for the others."""
    began = time.monotonic()
    words = ("--repeat", "12", "--rounds", "3", "--subprocess-timeout", str(TIMEOUT_S))
    records = run(tmp_path, "--only", "drowsy", *environments("one", "two", "three"), *words)
    took = time.monotonic() - began
    assert [each["status"] for each in records] == ["ok"] * 3
    slept = [sum(each["metrics"]["total_time"]) for each in records]
    assert max(slept) < TIMEOUT_S < sum(slept) < took
