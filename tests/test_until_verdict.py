"""`--until-verdict`: real processes of known times; what is ambiguous is measured on, what is clear is not."""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.command import index_rows, xlabench
from tests.sleepy_suite import PLACE

MODEL = ("--suite-name", "dummy", "--only", "dummy", "--test", "eval", "--accelerator", "cpu")
NAMES = ("one", "two", "three")
BASE_S = 0.1
RATIOS = ((0.6, 1.2, 0.9, 0.9), (0.9, 0.9))
"""Logarithms of the speedup of `two` and of `three` over `one`, process by process: those of `two` are clear of 1 in
four processes, not in two."""
REPEAT, ROUNDS = 9, 3
"""Three rounds, so that one which a loaded machine interrupts leaves the scatter of the process as it is: with two, it
lowered the weight of one of the two processes so far that the other settled the cell."""


def sleeps() -> list[float]:
    """Return the seconds of each process in the order in which they load; `three` is measured by two processes."""
    found = []
    for replica in range(4):
        found.append(BASE_S)
        found += [BASE_S * math.exp(-of[replica]) for of in RATIOS if replica < len(of)]
    return found


def command(home: Path, *words: str) -> tuple[str | Path, ...]:
    environments = [word for name in NAMES for word in ("--env", f"{name}={sys.executable}")]
    selection = (
        "--suite-name",
        "sleepy",
        "--only",
        "sleepy",
        "--test",
        "eval",
        "--accelerator",
        "cpu",
        "--xla",
        "None",
        "--dynamo",
        "None",
    )
    quick = ("--repeat", str(REPEAT), "--rounds", str(ROUNDS), "--rewarm", "0", "--processes", "2", "--until-verdict")
    return ("run", "--home", home, "--output-dirname", home / "run", *selection, *quick, *environments, *words)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run of three environments that are the same interpreter, and what it said."""
    path = tmp_path_factory.mktemp("home")
    (path / "sleeps").write_text("\n".join(map(str, sleeps())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLABENCH_SUITES", "tests.sleepy_suite:SUITE")
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
        patch.setenv(PLACE, str(path / "sleeps"))
        told = xlabench(*command(path, "--time-budget", "300"))
        (path / "told.txt").write_text(told.stdout)
        again = xlabench(*command(path, "--time-budget", "400"))
        (path / "again.txt").write_text(again.stdout)
    return path


def records(home: Path) -> list[dict]:
    return [json.loads(line) for line in (home / "run" / "results.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_only_the_members_of_the_ambiguous_cell_have_further_processes(home: Path) -> None:
    found = defaultdict(list)
    for record in records(home):
        found[record["environment"]["name"]].append((record["replica"], record["attempt"], record["status"]))
    everywhere = [(replica, 1, "ok") for replica in range(4)]
    assert {name: sorted(each) for name, each in found.items()} == {
        "one": everywhere,
        "two": everywhere,
        "three": everywhere[:2],
    }


@pytest.mark.slow
def test_each_record_says_how_many_there_were_and_how_often_verdicts_are_asked_for(home: Path) -> None:
    for record in records(home):
        further = record["replica"] >= 2
        measurement = record["measurement"]
        assert (measurement["processes"], measurement["looks"]) == (4 if further else 2, 3)
        assert (measurement["order"], measurement["together"]) == ("interleaved", 2 if further else 3)
    assert len({record["record_id"] for record in records(home)}) == 10
    assert len({record["experiment"]["batch_size"] for record in records(home)}) == 1


@pytest.mark.slow
def test_results_pool_all_processes_and_say_how_many(home: Path) -> None:
    rows = index_rows(home, "SELECT environment, replicas_n, steady_n FROM results")
    found = {row["environment"]: (row["replicas_n"], row["steady_n"]) for row in rows}
    assert found == {"one": (4, 4 * REPEAT), "two": (4, 4 * REPEAT), "three": (2, 2 * REPEAT)}


@pytest.mark.slow
def test_the_run_says_what_was_settled_and_what_it_has_saved(home: Path) -> None:
    told = (home / "told.txt").read_text()
    assert "1 of 1 ambiguous cell settled (faster 1, slower 0, same 0) with 4 further processes in " in told
    assert "with 4 processes would have taken 6 further processes and about " in told
    assert "so this run has 98.3 % intervals" in told
    assert "Still ambiguous:" not in told


@pytest.mark.slow
def test_a_later_comparison_knows_that_verdicts_were_asked_for_more_than_once(home: Path) -> None:
    text = xlabench("compare", "--home", home, "one", "two").stdout
    assert text.startswith("one → two: 1 faster")
    assert "needs a 98.3 % interval" in text


@pytest.mark.slow
def test_the_same_folder_goes_on_under_another_budget_and_finds_nothing_to_do(home: Path) -> None:
    again = (home / "again.txt").read_text()
    assert "Verdicts: 2 cells, none ambiguous: no further process was measured." in again
    assert len(records(home)) == 10


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "--time-budget", "5"), "pass one of them as well"),
        (("run", "--until-verdict", "--no-ingest"), "remove --no-ingest"),
        (("run", "--until-verdict", "--verify-only"), "--verify-only exclude each other"),
        (("run", "--until-verdict", "--preset", "peer"), "the preset peer fixes the number of measurements"),
        (("run", "--until-verdict", "--time-budget", "0"), "not a number above 0"),
        (("calibrate", "--until-verdict"), "a calibration has no verdicts"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    verb, *others = words
    done = xlabench(verb, "--home", tmp_path, *MODEL, *others, code=2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
