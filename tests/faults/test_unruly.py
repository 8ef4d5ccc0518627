"""Models that leave children and print without end, two runs into one folder, a system that lacks what is usual."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from store.ingest import ingest
from tests import warm
from tests.faults.fault_rows import add_row
from tests.faults.unruly_suite import CHILDREN_N, LEFT_VARIABLE, NAMES, PRINTS_VARIABLE
from tests.store.factory import make_record, write_run
from tests.tiers import first_of

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
RUN = ["run", "--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--test", "eval", "--repeat", "6"]
RUN += ["--processes", "1", "--no-ingest"]
LONG = pytest.param(200, marks=pytest.mark.thorough)
ENDLESS_MB = 3000
"""More than a process may print."""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "XLABENCH_SUITES": "tests.faults.unruly_suite:SUITE", "PYTHONPATH": str(ROOT), **more}


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("megabytes", [2, LONG])
def test_models_that_fork_and_print_cost_only_themselves(tmp_path, megabytes):
    words = [*RUN, "--suite-name", "unruly", "--home", str(tmp_path), "--output-dirname", str(tmp_path / "run")]
    left = tmp_path / "left"
    said = environment(**{PRINTS_VARIABLE: str(megabytes), LEFT_VARIABLE: str(left)})
    done = warm.run("xlabench", words, env=said)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) + len(done.stderr) < 20_000
    assert "\x1b" not in done.stdout + done.stderr
    found = {each["model"]["model_name"]: each for each in records(tmp_path / "run")}
    assert {name: found[name]["status"] for name in NAMES} == dict.fromkeys(NAMES, "ok")
    pids = [int(line) for line in left.read_text().split()]
    assert len(pids) >= CHILDREN_N
    assert [pid for pid in pids if alive(pid)] == []
    [log] = [each for each in found["prints"]["artifacts"] if each["kind"] == "log"]
    assert log["bytes"] >= megabytes * 1_000_000
    assert (tmp_path / "run" / "results.jsonl").stat().st_size < 200_000
    add_row(
        f"models that leave {len(pids)} children and print {megabytes} MB", len(NAMES), "measured, no process remains"
    )


@pytest.mark.thorough
def test_a_model_that_prints_without_end_is_killed(tmp_path):
    words = [*RUN, "--suite-name", "unruly", "--only", "prints", "--only", "quiet", "--home", str(tmp_path)]
    words += ["--output-dirname", str(tmp_path / "run")]
    done = warm.run("xlabench", words, env=environment(**{PRINTS_VARIABLE: str(ENDLESS_MB)}))
    assert done.returncode == 0, done.stderr
    found = {each["model"]["model_name"]: each for each in records(tmp_path / "run")}
    assert (found["quiet"]["status"], found["prints"]["status"]) == ("ok", "load_error")
    assert found["prints"]["error"]["type"] == "OutputLimit"
    shutil.rmtree(tmp_path / "run")  # pytest keeps the folders of the last calls
    add_row(f"a model that would print {ENDLESS_MB} MB", 1, "killed, with its record")


@pytest.mark.thorough
def test_two_runs_into_one_folder_measure_everything_once(tmp_path):
    """With locks of their own neither waits for the other: the one that comes second is refused.

    The short form is the second run that test_kill.py starts in the folder of one that goes on.
    """
    words = [sys.executable, "-m", "xlabench", *RUN, "--suite-name", "dummy", "--home", str(tmp_path)]
    words += ["--output-dirname", str(tmp_path / "run")]
    places = [tmp_path / "locks-1", tmp_path / "locks-2"]
    started = [
        subprocess.Popen(words, cwd=ROOT, env=environment(XLABENCH_LOCKS=str(place)), stderr=subprocess.PIPE, text=True)
        for place in places
    ]
    said = [each.communicate(timeout=400)[1] for each in started]
    codes = [each.returncode for each in started]
    assert "Traceback" not in "".join(said)
    assert 0 in codes, said
    done = warm.run("xlabench", words[3:], env=environment())
    assert done.returncode == 0, done.stderr
    found = records(tmp_path / "run")
    [run_id] = {each["run"]["run_id"] for each in found}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["run"]["run_id"] == run_id
    assert len({each["record_id"] for each in found}) == len(found)
    assert len({(each["experiment_id"], each["replica"]) for each in found}) == len(found)
    assert ingest([tmp_path / "run"], tmp_path / "store").exit_code == 0
    assert len({each["experiment_id"] for each in found}) == 2
    said = f"exit codes {sorted(codes)}, each result once"
    add_row("two runs into one folder at once", 1, said, lost=0, doubled=0)


def test_without_dev_shm_a_run_measures(tmp_path):
    """A container may have none, or 0 bytes of it."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'umount -l /dev/shm; exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("this system lets nobody take a mount away")
    words = [
        sys.executable,
        "-m",
        "xlabench",
        *RUN,
        "--suite-name",
        "dummy",
        "--only",
        "dummy",
        "--home",
        str(tmp_path),
    ]
    words += ["--output-dirname", str(tmp_path / "run")]
    done = subprocess.run([*unshare, *words], cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert {each["status"] for each in records(tmp_path / "run")} <= {"ok", "skipped"}
    add_row("no /dev/shm", 1, "a run measures")


LOCALES = {
    "C without UTF-8": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "output in ASCII": {"PYTHONIOENCODING": "ascii"},
    "POSIX": {"LC_ALL": "POSIX"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "LANGUAGE": "tr"},
    "one that is not installed": {"LC_ALL": "xx_YY.KOI8-R"},
    "output in Latin-1": {"PYTHONIOENCODING": "latin-1"},
}


REPORT = ["report"]
COMMANDS = (["ingest"], REPORT, ["report", "weekly"], ["sql", "FROM records"])


@pytest.mark.parametrize(
    ("name", "commands"), first_of([("C without UTF-8", [REPORT]), *((name, COMMANDS) for name in LOCALES)])
)
def test_commands_print_in_every_locale(tmp_path, name, commands):
    home = tmp_path / "größe ✓"
    label = "\u0131I µs → 測 ✓"  # the Turkish i without a dot
    write_run(home / "runs" / "one", [make_record(model=label, label=label), make_record(model="b", label=label)])
    if commands == [REPORT]:
        ingest([home / "runs"], home / "store")
    for words in commands:
        command = [sys.executable, "-m", "xlabench", *words, "--home", str(home)]
        done = subprocess.run(
            command, cwd=ROOT, env=environment(**LOCALES[name]), capture_output=True, timeout=120, check=False
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")[-2000:]
        assert done.returncode == 0, done.stderr
    add_row(f"locale: {name}", len(commands), "commands print")
