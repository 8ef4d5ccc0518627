"""Real processes in turns: each takes all its rounds, who fails fails alone, and nobody pays for the others' time."""

from __future__ import annotations

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
from tests.tiers import first_of

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 12
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
@pytest.mark.parametrize(
    ("chosen", "variants", "replicas"),
    first_of(
        [
            (("--dynamo", "None"), ["eager", "openxla+lazytensor"], 1),
            ((), ["eager", "inductor", "openxla+lazytensor", "openxla+dynamo"], 2),
        ]
    ),
)
def test_backends_take_turns_twice(tmp_path: Path, chosen: tuple[str, ...], variants: list[str], replicas: int) -> None:
    """Every record holds its rounds, and the re-warming apart; a replica is a process of its own.

    All four are thorough: those that compile take as long again as everything else in this file. So are two replicas,
    which tests/test_payoff_command.py measures in turns as well.
    """
    words = ["run", "--suite-name", "dummy", "--only", "dummy", "--accelerator", "cpu", "--test", "eval"]
    words += ["--repeat", "6", "--rounds", "3", "--processes", str(replicas), "--no-ingest", *chosen]
    xlabench(*words, "--home", tmp_path, "--output-dirname", tmp_path / "run")
    records = read(tmp_path / "run")
    assert [(each["variant"], each["replica"]) for each in records] == [
        (v, k) for k in range(replicas) for v in variants
    ]
    for record in records:
        measurement = record["measurement"]
        assert record["status"] == "ok", record["error"]
        assert (measurement["order"], measurement["block"]) == ("interleaved", 2)
        assert measurement["together"] == len(variants)
        rounds = steady_rounds(record)
        assert [rounds.count(number) for number in sorted(set(rounds))] == [2, 2, 2]
        assert len(measurement["blocks"]["rewarm_time"]) >= 3
        assert len(measurement["blocks"]["kind"]) == len(record["metrics"]["total_time"])
    assert len({each["record_id"] for each in records}) == len(records)


def run(folder: Path, model: str, *words: str, names: tuple[str, ...] = ("one", "two")) -> list[dict]:
    """Measure a faulty model in environments that are the same interpreter, in turns."""
    command = ["run", "--suite-name", "faulty", "--only", model, "--test", "eval"]
    command += ["--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--processes", "1", *words]
    command += [word for name in names for word in ("--env", f"{name}={sys.executable}")]
    command += ["--home", str(folder), "--output-dirname", str(folder / "run"), "--no-ingest"]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
    environment[FAILS_WHERE] = str(folder / "fails")
    done = warm.run("xlabench", command, env=environment)
    assert done.returncode == 0, done.stderr
    return read(folder / "run")


@pytest.mark.parametrize(
    ("model", "status", "part"),
    first_of(
        [
            ("late_raise", "run_error", "this step always fails"),
            ("late_segfault", "crashed", "SIGSEGV"),
            ("late_hang", "timeout", f"after {TIMEOUT_S} s"),
        ]
    ),
)
def test_who_fails_in_its_turn_fails_alone(tmp_path: Path, model: str, status: str, part: str) -> None:
    """After both have taken turns; the other one takes all of its own."""
    (tmp_path / "fails").touch()
    limit_s = TIMEOUT_S if model == "late_hang" else 300
    words = ("--repeat", str(LATE_CALLS), "--rounds", "6", "--subprocess-timeout", str(limit_s))
    bad, good = sorted(run(tmp_path, model, *words), key=lambda each: each["status"] == "ok")
    assert (bad["status"], bad["error"]["phase"], good["status"]) == (status, "measure", "ok")
    assert part in bad["error"]["message"]
    assert sorted(set(steady_rounds(good))) == list(range(6))
    assert steady_rounds(good).count(5) == LATE_CALLS // 6
    if model == "late_segfault":
        assert bad["error"]["signal"] == signal.SIGSEGV


@pytest.mark.thorough
def test_a_time_limit_counts_running_time_only(tmp_path: Path) -> None:
    """Each of the three sleeps for less than the limit, all together for longer; none is charged for the others."""
    began = time.monotonic()
    words = ("--repeat", "12", "--rounds", "3", "--subprocess-timeout", str(TIMEOUT_S))
    records = run(tmp_path, "drowsy", *words, names=("one", "two", "three"))
    took = time.monotonic() - began
    assert [each["status"] for each in records] == ["ok"] * 3
    slept = [sum(each["metrics"]["total_time"]) for each in records]
    assert max(slept) < TIMEOUT_S < sum(slept) < took
