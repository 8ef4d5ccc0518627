"""An ingest that is killed at a random moment corrupts, loses and doubles nothing; `make faults` kills it 200 times."""

import gzip
import multiprocessing
import os
import random
import signal
import time

import pytest

from store import query
from store.ingest import ingest, run
from tests.faults.fault_rows import add_row
from tests.performance.store_parts import records
from tests.store.contents import contents, digests
from tests.store.factory import demo_records, write_lines, write_run
from tests.store.peer_records import peer_record, write_peer

KILLS = int(os.environ.get("XLABENCH_KILLS", "5"))
GROWN_N = 12

pytestmark = [pytest.mark.faults, pytest.mark.slow]


def _ingest(home, store_dir, rebuild, each_batch):
    """Ingest; with `each_batch` a file is a batch, and a batch a transaction, as if there were many records."""
    if each_batch:
        run.BATCH_PIECES = run.TRANSACTION_LINES = 1
    ingest([home], store_dir, rebuild=rebuild)


def _grow(home, number):
    """Add a run, a line to a file of the peer's, and now and then a rotation or a compressed file."""
    run_id = f"run-{number:04}"
    records = demo_records(run_id, 1.7e9 + number, 1.0, "many")
    write_run(home / "runs" / run_id, records)
    peers = home / "peer.jsonl"
    write_peer(home / "new.jsonl", [peer_record(timestamp=1.7e9 + number), peer_record(timestamp=1.7e9 + number)])
    with peers.open("ab") as file:
        file.write((home / "new.jsonl").read_bytes() + b"{bad\n")
    (home / "new.jsonl").unlink()
    if number % 5 == 4:
        peers.rename(home / f"peer.jsonl.{number}")
        peers.touch()
    if number % 4 == 3:
        write_lines(home / "packed", records[:3])
        (home / f"packed-{number}.jsonl.gz").write_bytes(gzip.compress((home / "packed").read_bytes()))


def _readable(store_dir):
    """Return the rows of the newest snapshot, which has to be whole at any moment."""
    snapshot = query.current_snapshot(store_dir)
    if snapshot is None:
        return 0
    with query.connect(snapshot) as con:
        return con.execute("SELECT count(*), count(DISTINCT record_id) FROM records").fetchone()


@pytest.mark.timeout(3000)
def test_a_kill_at_any_time_loses_and_doubles_nothing(tmp_path):
    home, store_dir = tmp_path / "home", tmp_path / "store"
    home.mkdir()
    context = multiprocessing.get_context("fork")
    generator = random.Random(20261121)
    for number in range(KILLS):
        if number < GROWN_N or number % 10 == 0:
            _grow(home, number)
        child = context.Process(target=_ingest, args=(home, store_dir, generator.random() < 0.2, number % 2 == 1))
        child.start()
        child.join(generator.uniform(0.01, 1.2))
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
        child.join()
        seen = _readable(store_dir)
        assert seen == 0 or seen[0] == seen[1]
    ingest([home], store_dir)
    ingest([home], tmp_path / "expected")
    assert contents(store_dir) == contents(tmp_path / "expected")
    assert not list(store_dir.glob("*.tmp"))
    assert not list(store_dir.glob("rebuilt*"))
    add_row("kill -9 of an ingest", KILLS, "the index of an ingest that was never killed", lost=0, doubled=0)


LARGE_N, LARGE_RUNS = 300_000, 60
"""Four whole row groups of the index, of 61,440 records each, and a part of a fifth."""
LARGE_STEPS = 20
"""Each finds three runs more than the one before: about 15,000 records."""


@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_a_kill_among_several_row_groups_loses_and_doubles_nothing(tmp_path):
    home, store_dir = tmp_path / "home", tmp_path / "store"
    folders = records.write(tmp_path / "later", LARGE_N, runs=LARGE_RUNS)
    (home / "runs").mkdir(parents=True)
    context = multiprocessing.get_context("fork")
    generator = random.Random(20261129)
    killed_n, each_n, whole_s = 0, LARGE_RUNS // LARGE_STEPS, 0.0
    for number in range(LARGE_STEPS):
        for folder in folders[number * each_n : (number + 1) * each_n]:
            folder.rename(home / "runs" / folder.name)
        child = context.Process(target=_ingest, args=(home, store_dir, number == LARGE_STEPS // 2, False))
        began = time.monotonic()
        child.start()
        child.join(generator.uniform(0.1, 1.8) * whole_s if whole_s else None)
        if child.is_alive():
            killed_n += 1
            os.kill(child.pid, signal.SIGKILL)
        child.join()
        whole_s = whole_s or time.monotonic() - began
        seen = _readable(store_dir)
        assert seen[0] == seen[1]
    ingest([home], store_dir)
    ingest([home], tmp_path / "expected")
    found = digests(store_dir)
    assert found == digests(tmp_path / "expected")
    assert found["records"][0] == LARGE_N
    assert killed_n >= LARGE_STEPS // 4
    row = f"kill -9 of an ingest of {LARGE_N:,} records"
    add_row(row, killed_n, "the index of an ingest that was never killed", lost=0, doubled=0)
