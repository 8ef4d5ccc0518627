"""What was measured against itself, from the command to the reports: real processes of a tiny model."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.command import index_rows, xlabench

MODEL = ("--only", "dummy/dummy_nonzero", "--test", "eval", "--accelerator", "cpu", "--xla", "None", "--dynamo", "None")
QUICK = ("--repeat", "3", "--iterations-per-run", "20")


def records(home: Path) -> list[dict]:
    """Return the records of all runs of a home."""
    lines = [line for path in sorted(home.glob("runs/*/results.jsonl")) for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a calibration of one pair, then a run with a twin."""
    path = tmp_path_factory.mktemp("home")
    told = xlabench("calibrate", "--home", path, *MODEL, *QUICK, "--processes", "2")
    assert "Noise floors: 1 experiment" in told.stdout
    assert "calibration + default" in " ".join(told.stdout.split())
    xlabench("run", "--home", path, *MODEL, *QUICK, "--processes", "2", "--twins", "1", "--label", "ordinary")
    return path


@pytest.mark.slow
def test_a_calibration_is_an_ordinary_run_of_pairs_that_took_turns(home: Path) -> None:
    (folder,) = home.glob("runs/*-calibration")
    found = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert sorted(record["replica"] for record in found) == [0, 1]
    assert {(record["purpose"], record["twin_of"]) for record in found} == {("calibration", None)}
    assert {record["measurement"]["order"] for record in found} == {"interleaved"}
    assert len({record["record_id"] for record in found}) == 2
    assert json.loads((folder / "run.json").read_text())["settings"]["purpose"] == "calibration"


@pytest.mark.slow
def test_a_twin_stands_beside_each_process_of_its_original(home: Path) -> None:
    found = [record for record in records(home) if record["run"]["label"] == "ordinary"]
    kinds = Counter((record["purpose"], record["replica"]) for record in found)
    assert kinds == dict.fromkeys([("benchmark", 0), ("benchmark", 1), ("calibration", 0), ("calibration", 1)], 1)
    originals = {record["replica"]: record["record_id"] for record in found if record["purpose"] == "benchmark"}
    twins = {record["replica"]: record["twin_of"] for record in found if record["purpose"] == "calibration"}
    assert twins == originals


@pytest.mark.slow
def test_only_the_ordinary_run_is_a_result_and_both_give_floors(home: Path) -> None:
    (run,) = index_rows(home, "SELECT run_label, planned_n, ran_n FROM runs")
    assert run == {"run_label": "ordinary", "planned_n": 1, "ran_n": 1}
    (result,) = index_rows(home, "SELECT replicas_n, status FROM results")
    assert result == {"replicas_n": 2, "status": "ok"}
    (floor,) = index_rows(home, "SELECT pairs_n, runs_n, source FROM noise_floors WHERE experiment_id IS NOT NULL")
    assert floor == {"pairs_n": 3, "runs_n": 2, "source": "calibration + twin + default"}


@pytest.mark.slow
def test_every_timed_process_says_what_the_machine_did(home: Path) -> None:
    """Its load and its CPUs can be had on every Linux; what it finds doubtful is said in words, too."""
    for record in records(home):
        machine = record["machine"]
        assert machine["seconds"] > 0
        assert machine["cpus"] >= 1
        assert machine["load_end"] >= 0
        assert machine["swap_used_bytes"] >= 0
        told = {f"{found['text']}: {found['next_step']}" for found in record["findings"]}
        assert told <= set(record["warnings"])
        assert "few_blocks" in {found["code"] for found in record["findings"]}


@pytest.mark.slow
def test_a_finished_calibration_is_not_measured_again_by_the_same_folder(home: Path) -> None:
    (folder,) = home.glob("runs/*-calibration")
    before = (folder / "results.jsonl").read_text()
    xlabench("calibrate", "--home", home, *MODEL, *QUICK, "--processes", "2", "--output-dirname", folder)
    assert (folder / "results.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--processes", "5"), "the number must be even"),
        (("--verify-only",), "which a calibration needs; remove it"),
        (("--until-verdict", "--dry-run"), "a calibration has no verdicts; remove the flag"),
        (("--xla", "PJRT", "--without-fallback", "nonzero", "--dry-run"), "not supported in a calibration; remove it"),
    ],
)
def test_what_makes_no_pairs_is_refused_in_one_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = xlabench("calibrate", "--home", tmp_path, *MODEL, *words, code=2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
