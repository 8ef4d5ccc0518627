"""`xlabench compare --confirm`, from a suspicion in the history to both sides measured again: real processes."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path
from typing import Any

import pytest

from store.ingest import ingest
from tests.command import ROOT, xlabench
from tests.store.factory import RUN_START, make_record, write_run
from tests.test_two_environments import VARIABLE, torch_of
from tests.tiers import first_of

pytestmark = pytest.mark.slow

EVAL = ("--only", "dummy/dummy", "--test", "eval", "--accelerator", "cpu", "--xla", "None", "--dynamo", "None")
QUICK = ("--repeat", "8", "--iterations-per-run", "4", "--threads", "1")
BRIGHTER = 0.001
"""What the records of the first day say against what was measured: no noise looks like that."""
PATIENCE_S = 300


def make_twin(folder: Path) -> str:
    """Make a second virtual environment with the very packages of this one: another interpreter, the same versions."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "same.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_twin(tmp_path_factory.mktemp("twin") / "venv")


def two_days(home: Path, old: str, new: str) -> None:
    """Measure on a first and on a second day; what is kept of the first one is faster than anything can be."""
    for label, python in (("first", old), ("second", new)):
        words = ("--env", f"side={python}", "--label", label, "--no-ingest")
        xlabench("run", "--home", home, *EVAL, *QUICK, *words)
    (results,) = home.glob("runs/*-first/results.jsonl")
    record = json.loads(results.read_text())
    for times in ("total_time", "per_iter_time"):
        record["metrics"][times] = [BRIGHTER * seconds for seconds in record["metrics"][times]]
    results.write_text(json.dumps(record) + "\n")
    xlabench("ingest", "--home", home)


def answer(*words: str | Path) -> dict[str, Any]:
    """Return a comparison as data; its rows by column."""
    return read(xlabench("compare", *words, "--format", "json").stdout)


def read(out: str) -> dict[str, Any]:
    report = json.loads(out)
    table = report["tables"][0]
    titles = [column["title"] for column in table["columns"]]
    return {**report, "rows": [dict(zip(titles, row, strict=True)) for row in table["rows"]]}


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "xlabench", "compare", *map(str, words), "--format", "json"]


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def confirming(home: Path) -> list[Path]:
    return sorted(home.glob("runs/*-confirm-*"))


@pytest.fixture(scope="module")
def home(twin: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose first run says that the twin has measured it, which only the confirmation starts."""
    made = tmp_path_factory.mktemp("home")
    two_days(made, sys.executable, sys.executable)
    (file,) = made.glob("runs/*-first/run.json")
    file.write_text(file.read_text().replace(sys.executable, twin))
    return made


@pytest.fixture(scope="module")
def confirmed(home: Path) -> dict[str, Any]:
    """The history says that the second day is a thousand times slower; both sides are equal."""
    return answer("--home", home, "first", "second", "--confirm")


def test_a_suspicion_of_the_history_does_not_stand_side_by_side(confirmed: dict[str, Any]) -> None:
    (row,) = confirmed["rows"]
    assert row["suspected"] == "slower"
    assert row["old / new before"] < 0.1
    assert 0.2 < row["old / new"] < 5, "measured again, not read again"
    assert row["processes"] == 3
    assert row["floor"] == pytest.approx(3.0)
    assert row["q"] is not None
    assert confirmed["title"].startswith("first → second: 1 suspected: ")


@pytest.mark.thorough
def test_both_interpreters_were_found_in_their_runs_and_took_turns(
    home: Path, twin: str, confirmed: dict[str, Any]
) -> None:
    (folder,) = confirming(home)
    file = json.loads((folder / "run.json").read_text())
    places = {"old": twin, "new": sys.executable}
    assert {each["name"]: each["executable"] for each in file["environments"]} == places
    found = records(folder)
    assert sorted((each["environment"]["name"], each["replica"]) for each in found) == [
        (name, replica) for name in ("new", "old") for replica in range(3)
    ]
    assert {each["measurement"]["order"] for each in found} == {"interleaved"}
    assert {each["measurement"]["repeat"] for each in found} == {20}, "a confirmation rests on twenty blocks or more"
    assert {each["environment"]["threads"] for each in found} == {1}, "the settings of the run that is confirmed"
    assert {each["purpose"] for each in found} == {"confirmation"}
    assert len({each["experiment_id"] for each in found}) == 1


def test_a_confirmation_is_no_newest_run_but_can_be_looked_at_again(home: Path, confirmed: dict[str, Any]) -> None:
    """The same words name the same two runs; the confirming one is named by its id."""
    (folder,) = confirming(home)
    run = run_id(folder)
    assert run in " ".join(confirmed["notes"])
    (before,) = answer("--home", home, "previous", "latest")["rows"]
    assert before["old / new"] == pytest.approx(confirmed["rows"][0]["old / new before"])
    (again,) = answer("--home", home, "old", "new", "--run", run)["rows"]
    assert again["old / new"] == pytest.approx(confirmed["rows"][0]["old / new"])


def test_one_environment_on_two_days_is_not_reproducible_and_not_measured(
    home: Path, confirmed: dict[str, Any]
) -> None:
    """No regression is confirmed: with --fail-on regression the suspicion alone does not fail."""
    before = confirming(home)
    words = ("--confirm", "--env", f"old={sys.executable}", "--fail-on", "regression")
    found = answer("--home", home, "first", "second", *words)
    assert found["title"] == "first → second: 1 suspected: 0 confirmed, 1 not confirmed (not reproducible 1)"
    assert "only the day differs" in found["rows"][0]["reason"]
    assert confirming(home) == before


def test_what_cannot_be_measured_as_it_was_is_refused_in_one_sentence(home: Path) -> None:
    """An upgrade in place leaves an interpreter that is no longer the old one."""
    (path,) = home.glob("runs/*-first/run.json")
    kept = path.read_text()
    file = json.loads(kept)
    file["environments"][0]["torch"] = "2.0.0"
    path.write_text(json.dumps(file))
    try:
        done = xlabench("compare", "--home", home, "first", "second", "--confirm", code=2)
    finally:
        path.write_text(kept)
    assert "Environment old (side of run first): torch was 2.0.0 and is now " in done.stderr
    assert "pass --env old=PYTHON" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    first_of(
        [
            (("--confirm", "--experiment", "0f"), "--experiment 0f: it is not an experiment to confirm"),
            (("--confirm", "--env", "old=/nowhere"), "/nowhere is not an interpreter"),
            (("--env", "old=/nowhere"), "--env requires --confirm"),
            (("--confirm", "--env", "elsewhere=/nowhere"), "where NAME is one of old, new"),
            (("--confirm", "--processes", "2"), "a confirmation needs at least 3"),
        ],
    ),
)
def test_flags_that_lead_nowhere_are_refused_in_one_sentence(home: Path, words: tuple[str, ...], says: str) -> None:
    done = xlabench("compare", "--home", home, "first", "second", *words, code=2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_suspected_measures_nothing(tmp_path: Path) -> None:
    for number in range(2):
        record = make_record(run_id=f"run-{number}", timestamp=RUN_START + number)
        write_run(tmp_path / "runs" / f"run-{number}", [record])
    ingest([tmp_path / "runs"], tmp_path / "store")
    before = list(tmp_path.glob("runs/*"))
    found = answer("--home", tmp_path, "previous", "latest", "--confirm")
    assert "nothing is suspected" in found["title"]
    assert list(tmp_path.glob("runs/*")) == before


@pytest.mark.thorough
def test_backends_of_one_run_are_confirmed_and_an_interrupted_confirmation_goes_on(tmp_path: Path) -> None:
    """One process each is too few: lazy tensors, many times slower than eager on two layers, are suspected at most.

    Whether a busy machine lets three of each confirm it, is its own affair; the exit code has to say the same.
    """
    backends = ("--xla", "None", "--xla", "PJRT", "--dynamo", "None")
    model = ("--only", "dummy/dummy", "--accelerator", "cpu", "--repeat", "8", "--threads", "1")
    xlabench("run", "--home", tmp_path, *model, *backends)
    words = ("--home", tmp_path, "eager", "openxla+lazytensor", "--confirm", "all", "--fail-on", "regression")
    _interrupt_after_first_group(tmp_path, words)
    (folder,) = confirming(tmp_path)
    before = (folder / "results.jsonl").read_text()
    done = subprocess.run(command(*words), cwd=ROOT, capture_output=True, text=True, check=False)
    found = read(done.stdout)
    assert done.returncode == any(row["confirmed"] == "yes" for row in found["rows"]), done.stderr
    assert confirming(tmp_path) == [folder]
    assert (folder / "results.jsonl").read_text().startswith(before), "what was measured is kept"
    assert len(records(folder)) == 12
    assert {(row["test"], row["environment"]) for row in found["rows"]} == {("eval", "default"), ("train", "default")}
    assert all(row["processes"] == 3 and row["old / new"] < 0.7 for row in found["rows"])


def run_id(folder: Path) -> str:
    return str(json.loads((folder / "run.json").read_text())["run"]["run_id"])


def _interrupt_after_first_group(home: Path, words: tuple[str | Path, ...]) -> None:
    """Start the command, and press Ctrl-C once the six processes of one of its two groups are finished."""
    started = subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and started.poll() is None:
        if any(len(records(folder)) >= 6 for folder in confirming(home) if (folder / "results.jsonl").exists()):
            break
        time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 130, said
    assert "repeat the command to continue" in said


@pytest.mark.venv
def test_another_torch_is_measured_beside_todays(tmp_path: Path) -> None:
    """Each side in its own interpreter, which only its run has named."""
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} names no interpreter with another torch and torch_xla")
    python = os.environ[VARIABLE]
    two_days(tmp_path, python, sys.executable)
    (row,) = answer("--home", tmp_path, "first", "second", "--confirm")["rows"]
    assert row["old / new"] > 0.2
    (folder,) = confirming(tmp_path)
    versions = {(each["environment"]["name"], each["environment"]["torch"]) for each in records(folder)}
    assert versions == {("old", torch_of(python)), ("new", torch_of(sys.executable))}
    assert {each["measurement"]["order"] for each in records(folder)} == {"interleaved"}
