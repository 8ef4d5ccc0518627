"""Whatever happens between the files and the index, the content is that of the files."""

import json
import multiprocessing
import time

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import query
from store.database import owner as owner_module
from store.database import snapshot
from store.database.owner import LOCK, WORK, owner
from store.errors import NoRoom, OwnerBusy, StorageError
from store.ingest import ingest
from tests.store.contents import contents
from tests.store.factory import demo_records, demo_runs, make_record, write_lines
from tests.store.peer_records import peer_record
from tests.tiers import first_of

LINES = [
    msgspec.json.encode(make_record()),
    msgspec.json.encode(make_record(model="vgg16", status="oom", message="no room")),
    json.dumps(peer_record()).encode(),
    json.dumps(peer_record()).encode(),
    json.dumps(peer_record(total_time=None, error="SKIP")).encode(),
    b"{bad",
    b"\xff",
    b"",
]


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_split_into_ingests_gives_the_same_content(tmp_path_factory, data):
    """The file grows by arbitrary pieces, which cut lines anywhere, with an ingest after each."""
    folder = tmp_path_factory.mktemp("split")
    whole = b"".join(line + b"\n" for line in data.draw(st.permutations(LINES)))
    cuts = sorted(data.draw(st.sets(st.integers(min_value=1, max_value=len(whole) - 1), max_size=4)))
    path = folder / "results.jsonl"
    path.write_bytes(b"")
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        with path.open("ab") as file:
            file.write(whole[start:end])
        ingest([path], folder / "pieces")
    ingest([path], folder / "once")
    assert contents(folder / "pieces") == contents(folder / "once")


def _ingest(home, store_dir):
    ingest([home], store_dir)


def _many(home, runs_n):
    for number in range(runs_n):
        run_id = f"run-{number:04}"
        write_lines(home / "runs" / run_id / "results.jsonl", demo_records(run_id, 1.7e9 + number, 1.0, "many"))


def test_a_kill_between_commit_and_publication_is_made_up_for(tmp_path, monkeypatch):
    write_lines(tmp_path / "a.jsonl", [make_record()])

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owner_module.snapshot, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    assert query.current_snapshot(tmp_path / "store") is None
    report = ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    assert (report.records_n, report.published) == (0, True)
    with query.connect(report.snapshot) as con:
        assert con.execute("SELECT count(*) FROM results").fetchone() == (1,)


@pytest.mark.parametrize("damage", first_of([b"not a database" * 1000, b""]))
def test_a_damaged_working_database_is_replaced_from_the_snapshot(tmp_path, damage):
    demo_runs(tmp_path)
    ingest([tmp_path], tmp_path / "store")
    before = contents(tmp_path / "store")
    (tmp_path / "store" / WORK).write_bytes(damage)
    ingest([tmp_path], tmp_path / "store")
    assert contents(tmp_path / "store") == before


def test_without_a_working_database_nothing_is_lost(tmp_path):
    write_lines(tmp_path / "a.jsonl", [make_record()])
    write_lines(tmp_path / "b.jsonl", [make_record(model="vgg16")])
    ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    (tmp_path / "store" / WORK).unlink()
    ingest([tmp_path / "b.jsonl"], tmp_path / "store")
    assert len(contents(tmp_path / "store")["records"]) == 2


def test_an_index_of_a_later_version_is_refused_with_advice(tmp_path):
    ingest([tmp_path], tmp_path / "store")
    with owner(tmp_path / "store") as index:
        index.con.execute("INSERT INTO migrations VALUES ('9999_later.sql')")
    with pytest.raises(StorageError, match="delete the store folder and ingest again"):
        ingest([tmp_path], tmp_path / "store")


def test_ingests_at_the_same_time_wait_for_each_other(tmp_path):
    _many(tmp_path, 4)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_ingest, args=(tmp_path, tmp_path / "store")) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert [child.exitcode for child in children] == [0] * 3
    ingest([tmp_path], tmp_path / "once")
    assert contents(tmp_path / "store") == contents(tmp_path / "once")


def test_an_ingest_that_waited_too_long_says_what_to_do(tmp_path):
    import filelock

    (tmp_path / "store").mkdir()
    with filelock.FileLock(tmp_path / "store" / LOCK), pytest.raises(OwnerBusy, match="nothing is lost"):
        ingest([tmp_path], tmp_path / "store", wait_s=0.1)


def test_readers_see_whole_snapshots_while_runs_are_ingested(tmp_path):
    """A reader opens the newest snapshot again and again; each shows whole runs and never fewer than before."""
    _many(tmp_path, 1)
    ingest([tmp_path], tmp_path / "store")
    per_run = len(contents(tmp_path / "store")["records"])
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_grow, args=(tmp_path,))
    child.start()
    seen = []
    while child.is_alive():
        with query.connect(query.current_snapshot(tmp_path / "store")) as con:
            seen.append(con.execute("SELECT count(*) FROM results").fetchone()[0])
        time.sleep(0.02)
    child.join()
    assert child.exitcode == 0
    assert seen == sorted(seen)
    assert {count % per_run for count in seen} == {0}


def _grow(home):
    for number in range(1, 4):
        run_id = f"run-{number:04}"
        write_lines(home / "runs" / run_id / "results.jsonl", demo_records(run_id, 1.7e9 + number, 1.0, "many"))
        ingest([home], home / "store")


def _hold(snapshot, opened, done):
    with query.connect(snapshot) as con:
        opened.set()
        done.wait(60)
        assert con.execute("SELECT model FROM results").fetchall() == [("resnet18",)]


def test_two_snapshots_are_kept_and_one_that_another_process_reads(tmp_path):
    path = tmp_path / "a.jsonl"
    write_lines(path, [make_record()])
    first = ingest([path], tmp_path / "store").snapshot
    context = multiprocessing.get_context("fork")
    opened, done = context.Event(), context.Event()
    reader = context.Process(target=_hold, args=(first, opened, done))
    reader.start()
    assert opened.wait(60)
    for number in range(3):
        write_lines(path, [make_record(model=f"m{number}")])
        ingest([path], tmp_path / "store")
    kept = set((tmp_path / "store").glob("index-*.duckdb"))
    assert first in kept
    assert len(kept) == 3
    done.set()
    reader.join(60)
    assert reader.exitcode == 0
    write_lines(path, [make_record(model="last")])
    ingest([path], tmp_path / "store")
    assert not first.exists()
    assert len(list((tmp_path / "store").glob("index-*.duckdb"))) == 2


def test_a_snapshot_that_this_process_reads_stays_readable(tmp_path):
    path = tmp_path / "a.jsonl"
    write_lines(path, [make_record()])
    first = ingest([path], tmp_path / "store").snapshot
    with query.connect(first) as con:
        for number in range(2):  # of which that many are kept, besides it
            write_lines(path, [make_record(model=f"m{number}")])
            ingest([path], tmp_path / "store")
        assert con.execute("SELECT model FROM results").fetchall() == [("resnet18",)]


@pytest.mark.parametrize("free", [0, 20 * 2**20])
def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, monkeypatch, free):
    """Without room to read nothing is begun; without room for the snapshot the records wait in the working database."""
    from types import SimpleNamespace

    path = tmp_path / "a.jsonl"
    write_lines(path, [make_record()])
    first = ingest([path], tmp_path / "store")
    write_lines(path, [make_record(), make_record(model="vgg16")])
    with monkeypatch.context() as patched:
        patched.setattr(snapshot.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        patched.setattr(snapshot, "RESERVE_BYTES", 2**24 if free == 0 else 20 * 2**20 - 10_000)
        with pytest.raises(NoRoom, match="nothing is lost") as told:
            ingest([path], tmp_path / "store")
    assert told.value.exit_code == 1
    assert query.current_snapshot(tmp_path / "store") == first.snapshot
    assert ingest([path], tmp_path / "store").published
    assert len(contents(tmp_path / "store")["records"]) == 2


def test_a_rebuild_that_was_killed_leaves_the_old_index(tmp_path, monkeypatch):
    demo_runs(tmp_path)
    ingest([tmp_path], tmp_path / "store")
    before = contents(tmp_path / "store", files=True)

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owner_module, "refresh", die)
        with pytest.raises(KeyboardInterrupt):
            ingest([], tmp_path / "store", rebuild=True)
    assert ingest([], tmp_path / "store").changed_files_n == 0
    assert contents(tmp_path / "store", files=True) == before


@pytest.mark.parametrize("rebuild", first_of([True, False]))
def test_what_a_killed_owner_spilled_is_removed(tmp_path, rebuild):
    """DuckDB writes what does not fit into memory to a folder beside the database."""
    home, store = tmp_path / "home", tmp_path / "store"
    _many(home, 1)
    for name in ("work.duckdb.tmp", "rebuilt.duckdb.tmp", "index-7.tmp"):
        (store / name).mkdir(parents=True)
        (store / name / "duckdb_temp_storage-0.tmp").write_bytes(b"spilled")
    ingest([home], store, rebuild=rebuild)
    assert not list(store.glob("*.tmp"))


def test_a_snapshot_name_is_not_used_again_after_the_folder_was_emptied(tmp_path):
    import shutil

    path = tmp_path / "a.jsonl"
    write_lines(path, [make_record()])
    ingest([path], tmp_path / "store")
    write_lines(path, [make_record(model="vgg16")])
    second = ingest([path], tmp_path / "store").snapshot
    shutil.rmtree(tmp_path / "store")
    assert ingest([path], tmp_path / "store").snapshot.name != second.name
