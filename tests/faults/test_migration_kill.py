"""A kill while an index is migrated loses nothing: the old snapshot stays, and the next ingest migrates again."""

import multiprocessing
import os
import random
import signal

import duckdb
import pytest

from store import query
from store.database import migrate, owner
from store.ingest import ingest
from tests.faults.fault_rows import add_row
from tests.store.contents import contents
from tests.store.factory import demo_records, make_record, write_lines, write_run
from tests.store.test_migrate import later_migration
from tests.tiers import first_of

pytestmark = [pytest.mark.faults, pytest.mark.slow]
MIGRATION = "ALTER TABLE records ADD COLUMN later DOUBLE; UPDATE records SET latency_s = latency_s * 1;"
PHASES = ["in the views", "in the migration", "after the migration", "before the checkpoint"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a folder with an index from before the migration and one record that it lacks."""
    for number in range(3):
        name = f"run-{number}"
        write_run(tmp_path / name, demo_records(name, 1.7e9 + number, 1.0, "many"))
    ingest([tmp_path], tmp_path / "store")
    for path in (tmp_path / "store" / owner.WORK, query.current_snapshot(tmp_path / "store")):
        with duckdb.connect(str(path)) as con:
            con.execute("UPDATE index_facts SET value = 'another' WHERE name = 'views'")
    later_migration(tmp_path, monkeypatch, MIGRATION)
    write_lines(tmp_path / "new.jsonl", [make_record(model="new")])
    return tmp_path


def _die(*_args, **_kwargs):
    os.kill(os.getpid(), signal.SIGKILL)


class _Dying:
    """A connection whose process is killed as soon as it has executed a migration, before its commit."""

    def __init__(self, con):
        self._con = con

    def execute(self, sql, *parameters):
        if sql.startswith("INSERT INTO migrations"):
            _die()
        return self._con.execute(sql, *parameters)


def _ingest(home, phase):
    apply = migrate._apply
    if phase == "in the migration":
        migrate._apply = lambda con, name: apply(_Dying(con), name)
    elif phase == "after the migration":
        migrate._apply_views = _die
    elif phase == "in the views":
        migrate.recreate = _die
    elif phase == "before the checkpoint":
        owner._write_all = _die
    ingest([home], home / "store")


def _rows_of_reader(home):
    """Return how many records, and how many ids, are in the newest snapshot, whatever its version."""
    with duckdb.connect(str(query.current_snapshot(home / "store")), read_only=True) as con:
        return con.execute("SELECT count(*), count(DISTINCT record_id) FROM records").fetchone()


def _killed(home, phase, wait_s=60.0):
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_ingest, args=(home, phase))
    child.start()
    child.join(wait_s)
    if child.is_alive():
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    return child.exitcode


def _assert_whole(home):
    ingest([home], home / "store")
    ingest([home], home / "expected")
    assert contents(home / "store") == contents(home / "expected")


@pytest.mark.parametrize("phase", first_of(PHASES))
def test_a_kill_in_each_phase_loses_nothing(home, phase):
    before = _rows_of_reader(home)
    assert _killed(home, phase) == -signal.SIGKILL
    assert _rows_of_reader(home) == before
    _assert_whole(home)
    add_row(f"kill -9 of a migration: {phase}", 1, "the snapshot before it, and the index of files read anew")


@pytest.mark.thorough
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kills", [40])
def test_kills_at_any_time_lose_and_double_nothing(home, kills):
    generator = random.Random(20261125)
    old = {path.name: path.read_bytes() for path in (home / "store").iterdir() if path.is_file()}
    for _ in range(kills):
        for path in (home / "store").iterdir():
            path.unlink()
        for name, data in old.items():
            (home / "store" / name).write_bytes(data)
        _killed(home, None, generator.uniform(0.005, 0.6))
        records_n, ids_n = _rows_of_reader(home)
        assert records_n == ids_n
    _assert_whole(home)
    add_row("kill -9 of a migration at any time", kills, "the index of files read anew", lost=0, doubled=0)
