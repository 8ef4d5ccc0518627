"""A publication writes what is new over an older snapshot that nobody reads, and over none that somebody reads."""

import multiprocessing
import os
import random
import signal
import threading

import pytest

from store import query
from store.database import owner, snapshot
from store.ingest import ingest
from tests.faults.fault_rows import add_row
from tests.faults.test_damaged_store import damage
from tests.performance.store_parts import records
from tests.store.contents import contents, digests
from tests.store.factory import demo_records, make_record, write_lines
from tests.tiers import first_of

pytestmark = [pytest.mark.faults, pytest.mark.slow]
LONG = pytest.param(20, marks=pytest.mark.thorough)


@pytest.fixture
def home(tmp_path):
    """Return a folder with a few hundred kB of index, published often enough that one snapshot is overwritten."""
    write_lines(tmp_path / "many.jsonl", demo_records("run-0", 1.7e9, 1.0, "many"))
    for number in range(3):
        _publish(tmp_path, number)
    return tmp_path


def _publish(home, number):
    """Bring in one record more; returns the snapshot."""
    write_lines(home / f"{number}.jsonl", [make_record(model=f"m{number}")])
    return ingest([home], home / "store").snapshot


def _as_never_published(home):
    ingest([home], home / "expected")
    return contents(home / "expected")


def _snapshots(home):
    return snapshot.existing_snapshots(home / "store")


@pytest.mark.parametrize("kind", first_of(["flipped", "empty", "zeroed", "cut"]))
def test_a_snapshot_that_nobody_reads_becomes_the_newest(home, monkeypatch, kind):
    """By what differs; as a whole where it was damaged, or where nobody knows what was written meanwhile."""
    files = {path.stat().st_ino for path in _snapshots(home)}
    written = []
    pwrite = os.pwrite
    with monkeypatch.context() as patched:
        patched.setattr(snapshot, "copy", lambda *_: pytest.fail("the whole index was copied"))
        patched.setattr(snapshot, "_cloned", lambda *_: False)
        patched.setattr(os, "pwrite", lambda file, data, at: written.append(len(data)) or pwrite(file, data, at))
        newest = _publish(home, 99)
    assert {path.stat().st_ino for path in _snapshots(home)} == files
    assert 0 < sum(written) < newest.stat().st_size
    assert contents(home / "store") == _as_never_published(home)
    damage(_snapshots(home)[-1], kind, 0.5)
    _publish(home, 100)
    assert contents(home / "store") == _as_never_published(home)
    add_row("an older snapshot is overwritten", 1, "repaired when it becomes the newest")
    with monkeypatch.context() as patched:
        patched.setattr(owner, "detached", lambda *_: {(0, 4096)})
        for number in range(2):
            _publish(home, 10 + number)
    assert contents(home / "store") == _as_never_published(home)


def _hold(path, opened, done):
    with query.connect(path) as con:
        seen = con.execute("SELECT count(*), max(model) FROM records").fetchall()
        opened.set()
        done.wait(120)
        assert con.execute("SELECT count(*), max(model) FROM records").fetchall() == seen
        assert con.execute("SELECT count(*) FROM results").fetchall()[0][0] > 0


@pytest.mark.parametrize("publications_n", [2, LONG])
def test_readers_keep_their_snapshot_over_many_publications(home, publications_n):
    """One reads in another process, one in this, which has no lock that would stop itself."""
    context = multiprocessing.get_context("spawn")
    opened, done = context.Event(), context.Event()
    there = context.Process(target=_hold, args=(_snapshots(home)[0], opened, done))
    there.start()
    assert opened.wait(60)
    held = _snapshots(home)[0]
    here = _publish(home, 30)
    with query.connect(here) as con:
        for number in range(publications_n):
            _publish(home, 31 + number)
        assert con.execute("SELECT count(*) FROM records WHERE model = 'm31'").fetchall() == [(0,)]
        assert con.execute("SELECT max(hash(r)) IS NOT NULL FROM records AS r").fetchall() == [(True,)]
        assert {held, here} < set(_snapshots(home))
        assert len(_snapshots(home)) == 4
    done.set()
    there.join(60)
    assert there.exitcode == 0
    assert contents(home / "store") == _as_never_published(home)
    _publish(home, 99)
    assert len(_snapshots(home)) == 2
    add_row("publications while two readers have snapshots open", publications_n, "each reads what it opened")


def _die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def _killed(home, phase):
    """Publish, and die in a phase of it."""
    if phase == "midway":
        pwrite = os.pwrite
        os.pwrite = lambda *args: (pwrite(*args), _die())
    elif phase == "synced":
        snapshot._is_overwritten = lambda *args, then=snapshot._is_overwritten: (then(*args), _die())
    elif phase == "before CURRENT":
        snapshot.write_atomically = _die
    elif phase == "before the ledger":
        owner.save_ledger = _die
    _publish(home, 99)


@pytest.mark.parametrize("phase", first_of(["midway", "before CURRENT", "synced", "before the ledger"]))
def test_a_kill_in_any_phase_of_a_publication_loses_and_doubles_nothing(home, phase):
    before = contents(home / "store")
    child = multiprocessing.get_context("fork").Process(target=_killed, args=(home, phase))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert contents(home / "store") == before
    for name in ("again", "next"):
        ingest([home], home / "store")
        assert contents(home / "store") == _as_never_published(home)
        write_lines(home / f"{name}.jsonl", [make_record(model=name)])
    assert not list((home / "store").glob("*.tmp"))
    add_row(
        f"kill -9 of a publication: {phase}",
        1,
        "the snapshot before it, and the index of an ingest that was never killed",
        lost=0,
        doubled=0,
    )


def _killed_while_joining(home, after_s):
    """Publish what is new, and die so long after row groups begin to be joined."""
    join = owner._write_all

    def joined(*args, **choices):
        threading.Timer(after_s, _die).start()
        join(*args, **choices)

    owner._write_all = joined
    ingest([home], home / "store")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("kills", "records_n"), [(2, 100), pytest.param(100, 20_000, marks=pytest.mark.thorough)])
def test_a_kill_while_row_groups_are_joined_loses_and_doubles_nothing(tmp_path, monkeypatch, kills, records_n):
    monkeypatch.setattr(owner, "JOIN_EVERY", 1)
    records.write(tmp_path, records_n, runs=10)
    ingest([tmp_path], tmp_path / "store")
    context, generator, killed_n = multiprocessing.get_context("fork"), random.Random(20261130), 0
    for number in range(kills):
        before = digests(tmp_path / "store")["records"]
        write_lines(tmp_path / f"{number}.jsonl", [make_record(model=f"m{number}")])
        # Such a join takes 0.03 to 0.08 s, and the rest of the publication as long.
        child = context.Process(target=_killed_while_joining, args=(tmp_path, generator.uniform(0, 0.1)))
        child.start()
        child.join(60)
        killed_n += child.exitcode == -signal.SIGKILL
        found = digests(tmp_path / "store")["records"]
        assert found == before or found[0] == records_n + number + 1
    assert killed_n > 0.8 * kills
    ingest([tmp_path], tmp_path / "store")
    ingest([tmp_path], tmp_path / "expected")
    assert digests(tmp_path / "store") == digests(tmp_path / "expected")
    assert not list((tmp_path / "store").glob("*.tmp"))
    row = "kill -9 of a publication that joins row groups"
    add_row(row, killed_n, "the index of an ingest that was never killed", lost=0, doubled=0)


def test_the_small_row_groups_at_the_end_are_joined_now_and_then(tmp_path, monkeypatch):
    """DuckDB itself would join those of a bulk load first, which takes seconds, and add one for each publication."""
    monkeypatch.setattr(owner, "JOIN_EVERY", 2)
    monkeypatch.setattr(owner, "SMALL_GROUP_LINES", 100)
    for number in range(3):
        write_lines(tmp_path / f"bulk{number}.jsonl", [make_record(model=f"b{number}-{each}") for each in range(200)])
        ingest([tmp_path], tmp_path / "store")
    sizes = []
    for number in range(6):
        with query.connect(_publish(tmp_path, number)) as con:
            found = con.execute(
                "SELECT sum(count)::INTEGER FROM pragma_storage_info('records') WHERE column_path = '[0]' "
                "GROUP BY row_group_id ORDER BY row_group_id"
            ).fetchall()
            sizes.append([count for (count,) in found])
    assert [each[:3] for each in sizes] == [[200] * 3] * 6
    assert [len(each[3:]) for each in sizes] == [1, 2, 1, 2, 3, 1]
    ingest([tmp_path], tmp_path / "expected")
    assert contents(tmp_path / "store") == contents(tmp_path / "expected")
