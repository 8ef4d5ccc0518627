"""Every way to fail is a record with its status, phase and reason, and the batch goes on."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from runner import processes
from tests import warm
from tests.faults.fault_rows import add_row

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 4
MODELS = (
    *("fine", "load_raises", "step_raises", "step_exits", "step_segfaults", "ignores_sigterm"),
    *("out_of_memory", "grows", "slow"),
)
"""Those that go wrong, or not at all, whatever else is asked of them."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """One run over all of them: records by model."""
    home = tmp_path_factory.mktemp("faulty")
    words = ["run", "--suite-name", "faulty", "--accelerator", "cpu"]
    words += [word for model in MODELS for word in ("--only", model)]
    words += ["--xla", "None", "--dynamo", "None", "--repeat", "6", "--subprocess-timeout", str(TIMEOUT_S)]
    words += ["--memory-limit", "500M", "--processes", "1"]
    words += ["--home", str(home), "--output-dirname", str(home / "run"), "--no-ingest"]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
    done = warm.run("xlabench", words, env=environment)
    assert done.returncode == 0, done.stderr
    run_id = json.loads((home / "run" / "run.json").read_text())["run"]["run_id"]
    time.sleep(0.1)
    assert processes.tagged(run_id) == []
    lines = [json.loads(line) for line in (home / "run" / "results.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines if line["experiment"]["test"] == "train"] == ["skipped"] * len(MODELS)
    return {line["model"]["model_name"]: line for line in lines if line["experiment"]["test"] == "eval"}


@pytest.mark.parametrize(
    ("model", "status", "phase", "part"),
    [
        ("load_raises", "load_error", "load", "this model cannot be built"),
        ("step_raises", "run_error", "warmup", "this step always fails"),
        ("step_exits", "crashed", "warmup", "exited with code 7"),
        ("step_segfaults", "crashed", "warmup", "killed by SIGSEGV"),
        ("ignores_sigterm", "timeout", "warmup", f"after {TIMEOUT_S} s"),
        ("out_of_memory", "oom", "warmup", "can't allocate memory"),
        ("grows", "oom", "warmup", "more than --memory-limit 500 MiB"),
    ],
)
def test_failure_is_a_record(records: dict[str, dict], model: str, status: str, phase: str, part: str) -> None:
    """The peer's key `metrics.error` holds the text too."""
    record = records[model]
    assert (record["status"], record["error"]["phase"]) == (status, phase)
    assert part in record["error"]["message"]
    assert part in record["metrics"]["error"]
    assert record["verification_code"] == "VERIFIER_DIDNT_RUN"
    add_row("models that raise, exit, segfault, hang, ignore SIGTERM or exhaust memory", 1, "a record with the reason")


def test_an_error_while_compiling_is_one_of_the_compiler(tmp_path: Path) -> None:
    """The same step that fails while eager warms up fails in the compile phase of a compiler."""
    words = ["run", "--suite-name", "faulty", "--accelerator", "cpu"]
    words += ["--only", "step_raises", "--xla", "None", "--dynamo", "inductor", "--test", "eval", "--strict"]
    words += ["--processes", "1"]
    words += ["--home", str(tmp_path), "--output-dirname", str(tmp_path / "run"), "--no-ingest"]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
    done = warm.run("xlabench", words, env=environment)
    assert done.returncode == 1, done.stderr
    record = json.loads((tmp_path / "run" / "results.jsonl").read_text())
    assert (record["status"], record["error"]["phase"]) == ("compile_error", "compile")


def test_what_a_process_printed_is_kept(records: dict[str, dict]) -> None:
    """Each has a log of its own, in the folder of its experiment."""
    for model in ("fine", "ignores_sigterm", "grows"):
        (log,) = (each for each in records[model]["artifacts"] if each["kind"] == "log")
        assert log["path"].startswith(f"artifacts/faulty-{model}-eval-eager-")
        assert log["path"].endswith("/attempt-1-timed.log")
        assert log["bytes"] >= len(f"a word from {model}\n")


def test_details_of_a_death(records: dict[str, dict]) -> None:
    """Signal and exit code stand in their own fields."""
    assert records["step_segfaults"]["error"]["signal"] == signal.SIGSEGV
    assert records["step_exits"]["error"]["exit_code"] == 7


def test_the_batch_goes_on(records: dict[str, dict]) -> None:
    """Models before and after the faulty ones are measured; a grandchild of the last is gone (checked above)."""
    assert records["fine"]["status"] == "ok"
    assert records["slow"]["status"] == "ok"
    assert records["slow"]["measurement"]["blocks"]["kind"].count("steady") == 6
