"""A prune that is killed at a random moment, or meets a full disk, loses and doubles nothing."""

import multiprocessing
import os
import random
import shutil
import signal
import sys

import pytest

from store import changepoints, query
from store.ingest import ingest
from store.run_file import RESULTS, read_records
from tests.faults.fault_rows import add_row
from tests.faults.test_leftovers import on_a_small_disk
from tests.store.contents import contents
from tests.store.factory import demo_records, write_run
from tests.tiers import first_of

pytestmark = [pytest.mark.faults, pytest.mark.slow]
RUNS_N = 12
WORDS = ["prune", "--keep-within", "90d", "--yes", "--home"]


def _prune(home):
    from xlabench import main

    os._exit(main([*WORDS, str(home)]))


def _lines(folder):
    return sorted(record.record_id for record in read_records(folder / RESULTS))


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_kill_at_any_time_loses_and_doubles_nothing(tmp_path, kills):
    context = multiprocessing.get_context("fork")
    generator = random.Random(20261123)
    for number in range(kills):
        name = f"run-{number % RUNS_N:02}-{number // RUNS_N}"
        write_run(tmp_path / "runs" / name, demo_records(name, 1.7e9 + number, 1.0, "many"))
        ingest([tmp_path / "runs"], tmp_path / "store")
        child = context.Process(target=_prune, args=(tmp_path,))
        child.start()
        child.join(generator.uniform(0.01, 0.8))
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
        child.join()
        with query.connect(query.current_snapshot(tmp_path / "store")) as con:
            assert con.execute("SELECT count(*), count(DISTINCT record_id) FROM records").fetchone() == (
                46 * (number + 1),
                46 * (number + 1),
            )
    child = context.Process(target=_prune, args=(tmp_path,))
    child.start()
    child.join()
    assert child.exitcode == 0
    for folder in (tmp_path / "runs").iterdir():
        assert sorted(path.name for path in folder.iterdir()) == ["pruned.json", "results.jsonl.zst", "run.json"]
        expected = demo_records(folder.name, 1.7e9, 1.0, "many")
        assert _lines(folder) == sorted(record.record_id for record in expected)
    ingest([tmp_path / "runs"], tmp_path / "expected")
    changepoints.update(tmp_path / "expected", tmp_path / "state.sqlite")
    assert _without_places(contents(tmp_path / "store")) == _without_places(contents(tmp_path / "expected"))
    said = "the index and the folders of a prune that was never killed"
    add_row("kill -9 of a prune", kills, said, lost=0, doubled=0)


def _without_places(found):
    """Leave out where lines stood before they were packed, which an index that saw them keeps."""
    return {name: rows for name, rows in found.items() if name not in ("record_sources", "run_sources")}


@pytest.mark.parametrize("left", first_of([4, 0]))
def test_a_full_disk_ends_a_prune_with_a_sentence(tmp_path, left):
    if shutil.which("unshare") is None or on_a_small_disk(tmp_path, "true").returncode:
        pytest.skip("this system lets nobody mount a small disk")
    home, disk = tmp_path / "home", tmp_path / "disk"
    records = demo_records("run-1", 1.7e9, 1.0, "nightly")
    write_run(home / "runs" / "run-1", records)
    ingest([home / "runs"], home / "store")
    disk.mkdir()
    # The runs lie on the small disk, the index on the large one.
    prune = " ".join([sys.executable, "-m", "xlabench", *WORDS, str(home)])
    size = f"$(($(df -k --output=avail {disk} | tail -1) - {left}))k"
    script = (
        f"cp -r {home}/runs/run-1 {disk}/ && mount --bind {disk}/run-1 {home}/runs/run-1 && "
        f'head -c {size} /dev/zero > {disk}/filled; {prune}; echo "code $?"; '
        f"ls {home}/runs/run-1; cat {home}/runs/run-1/results.jsonl > {tmp_path}/after"
    )
    done = on_a_small_disk(disk, "sh", "-c", script)
    assert "Traceback" not in done.stderr
    assert "disk" in done.stderr, done
    assert "code 1" in done.stdout
    assert "tmp" not in done.stdout
    assert (tmp_path / "after").read_bytes() == (home / "runs" / "run-1" / RESULTS).read_bytes()
    add_row("a full disk under a prune", 1, "one sentence, the plain file stays")
