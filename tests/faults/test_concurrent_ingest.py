"""Ingests, rebuilds and readers at once: every reader sees whole snapshots, and nothing is lost or doubled."""

import multiprocessing
import random
import time

import pytest

from store import query
from store.ingest import ingest
from tests.faults.fault_rows import add_row
from tests.store.contents import contents
from tests.store.factory import demo_records, write_run

LONG = pytest.param(40, 3, marks=(pytest.mark.slow, pytest.mark.thorough))


def _ingest(home, store_dir, rounds, number):
    generator = random.Random(number)
    for _ in range(rounds):
        ingest([home], store_dir, rebuild=number == 0 or generator.random() < 0.1)
        time.sleep(generator.uniform(0, 0.05))


def _read(store_dir, over, told):
    looks, most = 0, 0
    while not over.is_set():
        newest = query.current_snapshot(store_dir)
        if newest is None:
            continue
        with query.connect(newest) as con:
            seen = con.execute("SELECT count(*), count(DISTINCT record_id) FROM records").fetchone()
        looks += 1
        if seen[0] != seen[1]:
            told.put(f"{seen[0]} records, {seen[1]} of them different")
        if seen[0] < most:
            told.put(f"{seen[0]} records after {most}")
        most = seen[0]
        time.sleep(0.01)  # else it would take a core from those whose work is looked at
    told.put(looks)


@pytest.mark.faults
@pytest.mark.parametrize(("rounds", "writers_n"), [(1, 2), LONG])
def test_whoever_writes_meanwhile_readers_see_whole_snapshots(tmp_path, rounds, writers_n):
    home, store_dir = tmp_path / "home", tmp_path / "store"
    write_run(home / "run-0", demo_records("run-0", 1.7e9, 1.0, "many"))
    context = multiprocessing.get_context("fork")
    over, told = context.Event(), context.SimpleQueue()
    reader = context.Process(target=_read, args=(store_dir, over, told))
    writers = [context.Process(target=_ingest, args=(home, store_dir, rounds, number)) for number in range(writers_n)]
    for each in (reader, *writers):
        each.start()
    for number in range(1, rounds + 1):
        write_run(home / f"run-{number}", demo_records(f"run-{number}", 1.7e9 + number, 1.0, "many"))
        time.sleep(0.05)
    for each in writers:
        each.join()
    over.set()
    seen = told.get()
    reader.join()
    assert [each.exitcode for each in writers] == [0] * writers_n
    assert isinstance(seen, int), seen
    ingest([home], store_dir)
    ingest([home], tmp_path / "expected")
    assert contents(store_dir) == contents(tmp_path / "expected")
    assert not list(store_dir.glob("rebuilt*"))
    said = f"{seen} reads, each of a whole snapshot"
    add_row("ingests and rebuilds at once, beside a reader", writers_n * rounds, said, lost=0, doubled=0)
