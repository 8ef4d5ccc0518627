"""What a flag of the protocol or of the artifacts asks for stands in the record of a real run, and has its effect."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, xlabench
from tests.tiers import first_of

pytestmark = pytest.mark.slow

CPU = ("--accelerator", "cpu", "--test", "eval", "--repeat", "6", "--xla", "None")
DUMMY = ("--suite-name", "dummy", "--only", "dummy", *CPU)
EAGER = (*DUMMY, "--dynamo", "None")
PAIR = (*EAGER, "--xla", "PJRT")
TELLING = ("--suite-name", "telling", "--only", "tell", *CPU, "--dynamo", "inductor")


def run(home: Path, *words: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
    """Run to the end; return the records, and what the command wrote to stderr."""
    folder = home / "run"
    done = xlabench("run", *words, "--home", home, "--output-dirname", folder, "--no-ingest", code=code)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()], done.stderr


@pytest.mark.parametrize(
    ("words", "order", "rounds", "rewarmed"),
    first_of(
        [
            (("--rounds", "3", "--rewarm", "0"), "interleaved", [0, 1, 2], False),
            (("--interleave", "rounds"), "rounds", [0], True),
            (("--interleave", "off", "--rewarm", "0"), "sequence", [0], False),
            (("--rounds", "2"), "interleaved", [0, 1], True),
        ],
        2,
    ),
)
def test_processes_follow_each_other_as_asked(
    tmp_path: Path, words: tuple[str, ...], order: str, rounds: list[int], *, rewarmed: bool
) -> None:
    """In turns, whose steady blocks are shared out, or one after the other; each begins with blocks timed apart.

    The others are thorough: tests/runner/test_arrange.py has the sequence, tests/faults/test_interleaved.py such turns.
    """
    records, _ = run(tmp_path, *PAIR, *words)
    assert [record["variant"] for record in records] == ["eager", "openxla+lazytensor"]
    for record in records:
        blocks = record["measurement"]["blocks"]
        steady = [turn for turn, kind in zip(blocks["round"], blocks["kind"], strict=True) if kind == "steady"]
        assert (record["measurement"]["order"], sorted(set(steady)), len(steady)) == (order, rounds, 6)
        assert bool(blocks["rewarm_time"]) == rewarmed


def test_a_backend_is_proved_where_that_is_asked_for(tmp_path: Path) -> None:
    """Its outputs are there when the clock stops; on a busy machine its times may prove nothing."""
    [record], said = run(tmp_path, *EAGER, "--prove")
    assert record["proof"]["outputs_equal"]
    assert record["proof"]["verdict"] in ("passed", "unknown")
    assert "Timing proof: checking once that the measured times of eager include all of its work." in said
    kept = [json.loads(file.read_text())["proof"] for file in (tmp_path / "proofs").glob("*.json")]
    assert kept == ([record["proof"]] if record["proof"]["verdict"] == "passed" else [])


def test_artifacts_that_cannot_be_kept_are_named_and_the_experiment_is_measured_all_the_same(tmp_path: Path) -> None:
    """An output beyond the limit is cut with a note, a snapshot of CUDA's memory refused elsewhere by a warning."""
    [record], _ = run(tmp_path, *EAGER, "--save-output", "--artifact-limit", "50", "--memory-snapshot")
    [artifact] = [each for each in record["artifacts"] if each["kind"] == "output"]
    assert (artifact["bytes"], artifact["note"]) == (0, "cut at the byte limit")
    assert (record["status"], {each["kind"] for each in record["artifacts"]}) == ("ok", {"log", "output"})
    assert "memory_snapshot: only on cuda" in record["warnings"]


def test_a_graph_break_fails_where_one_graph_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not, this model raises `Told` in its step."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XLABENCH_SUITES", "tests.runner.telling_suite:SUITE")
    [record], _ = run(tmp_path, *TELLING, "--fullgraph")
    assert (record["status"], record["error"]["type"]) == ("compile_error", "Unsupported")
    assert record["variant"] == "inductor fullgraph"


@pytest.mark.parametrize("shown", [True, False])
def test_what_the_processes_print_is_shown_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shown: bool
) -> None:
    """It lies in the log of the record in any case."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XLABENCH_SUITES", "tests.faults.faulty_suite:SUITE")
    words = ("--suite-name", "faulty", "--only", "fine", *CPU, "--dynamo", "None")
    [record], stderr = run(tmp_path, *words, *(["--print-subprocess"] if shown else []))
    assert ("a word from fine" in stderr) == shown
    [log] = [each["path"] for each in record["artifacts"] if each["kind"] == "log"]
    assert "a word from fine" in (tmp_path / "run" / log).read_text()


def test_time_of_a_device_without_events_is_a_skip_that_says_so(tmp_path: Path) -> None:
    [record], _ = run(tmp_path, *EAGER, "--pure-wall-time", code=3)
    assert (record["status"], record["experiment"]["pure_wall_time"]) == ("skipped", True)
    assert record["error"]["message"].endswith("pure-wall-time uses device events, which the cpu does not have")


def test_what_never_settles_ends_after_as_many_blocks_as_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call takes half as long again as the one before it."""
    monkeypatch.setenv("XLABENCH_SUITES", "tests.sleepy_suite:SUITE")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    [record], _ = run(
        tmp_path, "--suite-name", "sleepy", "--only", "tiring", *CPU, "--dynamo", "None", "--warmup-max", "8"
    )
    assert (record["status"], len(record["metrics"]["total_time"])) == ("never_steady", 8)
