"""What a full disk, a kill or a damaged file leaves behind: a sentence, and nothing else."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dashboard.viewers import artifacts
from runner.schedule import benchmark_process
from store.errors import StateError
from store.state import marks
from store.state.database import BACKUPS, back_up_daily, check, opened
from tests.faults.fault_rows import add_row
from tests.tiers import first_of

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 23, 6, tzinfo=UTC)
SMALL = 'mount -t tmpfs -o size="$2" tmpfs "$1" && shift 2 && exec "$@"'


def on_a_small_disk(folder, *words, size="200k", timeout_s=400):
    """Run a command in a mount namespace in which a folder is a small disk."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh", str(folder), size, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)


@pytest.mark.parametrize("kilobytes", first_of([190, 0, 100, 150, 180, 195, 199]))
def test_a_full_disk_ends_a_run_with_a_sentence(tmp_path, kilobytes):
    """It is full at once, or while results are written."""
    if shutil.which("unshare") is None or on_a_small_disk(tmp_path, "true").returncode:
        pytest.skip("this system lets nobody mount a small disk")
    words = ["run", "--suite-name", "dummy", "--accelerator", "cpu", "--repeat", "6", "--home", str(tmp_path)]
    fill = f'head -c {kilobytes}k /dev/zero > "{tmp_path}/filled"; exec "$@"'
    done = on_a_small_disk(tmp_path, "sh", "-c", fill, "sh", sys.executable, "-m", "xlabench", *words)
    assert "Traceback" not in done.stderr
    assert done.returncode in (1, 3)
    assert "disk" in done.stderr or "No space left" in done.stderr
    add_row("a full disk under a run", 1, "one sentence")


def test_a_run_that_a_full_disk_keeps_from_beginning_leaves_no_folder(tmp_path):
    """It left one with an empty results.jsonl and without a run.json."""
    if shutil.which("unshare") is None or on_a_small_disk(tmp_path, "true").returncode:
        pytest.skip("this system lets nobody mount a small disk")
    words = ["run", "--suite-name", "dummy", "--accelerator", "cpu", "--home", str(tmp_path)]
    script = f'cat /dev/zero > "{tmp_path}/filled"; "$@"; code=$?; ls "{tmp_path}/runs"; exit $code'
    done = on_a_small_disk(tmp_path, "sh", "-c", script, "sh", sys.executable, "-m", "xlabench", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "The disk is full" in done.stderr


def _make_and_wait(told):
    told.put(str(benchmark_process.Scratch().path))
    signal.pause()


def test_the_caches_of_a_killed_run_are_taken_away_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_process.tempfile, "tempdir", str(tmp_path))
    mine = benchmark_process.Scratch().path
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    child = context.Process(target=_make_and_wait, args=(told,))
    child.start()
    theirs = Path(told.get())
    (theirs / "kernel.so").write_bytes(b"x")
    benchmark_process.sweep()
    assert theirs.is_dir(), "its run goes on"
    os.kill(child.pid, signal.SIGKILL)
    child.join(60)
    benchmark_process.sweep()
    assert (mine.is_dir(), theirs.exists()) == (True, False)
    add_row("caches of a killed run", 1, "removed by the next run")


def test_the_caches_of_a_run_that_was_still_dying_are_taken_away_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_process.tempfile, "tempdir", str(tmp_path))
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    child = context.Process(target=_make_and_wait, args=(told,))
    child.start()
    theirs = Path(told.get())
    os.kill(child.pid, signal.SIGKILL)
    benchmark_process.Scratch().remove()  # nobody has waited for the child yet, so the kernel still lists it
    assert theirs.is_dir()
    child.join(60)
    benchmark_process.Caches([]).discard()
    assert not theirs.exists()
    add_row("caches of a run that dies while the next one starts", 1, "removed at the end of the next run's group")


def _verifying(folder, number):
    """Start a run that verifies two backends, send it a signal once the second reads the references of the first."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    words = ["run", "--only", "dummy/dummy", "--backend", "eager", "--backend", "torchscript", "--test", "eval"]
    words += ["--accelerator", "cpu", "--verify-only", "--no-resume", "--home", str(folder / "home")]
    run = subprocess.Popen(
        [sys.executable, "-m", "xlabench", *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    seen = []
    while run.poll() is None and not (number and seen):
        mine = temporary.glob(f"xlabench-cache-{run.pid}-*/????????????????????????????????.*")
        seen = seen or [file for file in mine if file.stat().st_size]
        time.sleep(0.01)
    if number:
        run.send_signal(number)
    run.wait(120)
    assert seen, "there was a reference"
    return [file for file in temporary.rglob("*") if file.name == seen[0].name]


@pytest.mark.slow
def test_references_of_a_verification_end_with_their_run(tmp_path):
    pytest.importorskip("torch")
    assert _verifying(tmp_path, signal.SIGINT) == []
    killed = _verifying(tmp_path, signal.SIGKILL)
    assert killed
    assert _verifying(tmp_path, None) == []
    assert not any(file.exists() for file in killed)
    assert not list((tmp_path / "temporary").glob("xlabench-cache-*"))
    add_row("references of a killed verification", 1, "removed by the next run")


def test_a_loop_of_links_is_no_artifact(tmp_path):
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "a").symlink_to(tmp_path / "artifacts" / "b")
    (tmp_path / "artifacts" / "b").symlink_to(tmp_path / "artifacts" / "a")
    assert artifacts._inside(tmp_path / "artifacts", tmp_path / "artifacts" / "a") is None
    add_row("a loop of links among artifacts", 1, "no artifact: 404")


@pytest.fixture
def state(tmp_path):
    return made_state(tmp_path)


def made_state(folder):
    path = folder / "state.sqlite"
    at = NOW.replace(tzinfo=None)
    marks.add(path, marks.Mark(marked_at=at, text="new driver", who="ann", created_at=at))
    with opened(path) as con:
        con.execute("CREATE TABLE filler (text TEXT)")
        con.executemany("INSERT INTO filler VALUES (?)", [("x" * 900,)] * 300)
        con.execute("CREATE INDEX of_filler ON filler (text)")
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def test_what_people_typed_is_for_its_owner_alone(state):
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    state.chmod(0o644)
    with opened(state):
        pass
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    add_row("state.sqlite made, and opened for others", 2, "its mode is 0600")


def test_it_is_copied_once_a_day_and_a_week_of_copies_stays(state):
    made = [back_up_daily(state, NOW + timedelta(days=day, hours=hour)) for day in range(9) for hour in (0, 5)]
    kept = sorted((state.parent / BACKUPS).iterdir())
    assert [each is not None for each in made] == [True, False] * 9
    assert [each.name for each in kept] == [f"state-202611{day}.sqlite" for day in (25, 26, 27, 28, 29, 30)] + [
        "state-20261201.sqlite"
    ]
    assert {stat.S_IMODE(each.stat().st_mode) for each in kept} == {0o600}
    check(kept[-1])
    add_row("nine days of a worker with state.sqlite", 9, "one copy a day, of which the last seven are kept")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_damage_is_noticed_and_no_copy_is_replaced_by_it(state, share):
    first = back_up_daily(state, NOW)
    data = bytearray(state.read_bytes())
    at = int(len(data) * share) // 4096 * 4096
    data[at : at + 64] = bytes(byte ^ 0x55 for byte in data[at : at + 64])
    state.write_bytes(data)
    with pytest.raises(StateError, match=f"is damaged .*{BACKUPS} in its place"):
        back_up_daily(state, NOW + timedelta(days=1))
    assert list((state.parent / BACKUPS).iterdir()) == [first]
    add_row("bytes of state.sqlite changed", 1, "noticed, and no copy replaced")
