"""Whatever happens between the files and the index, the content is that of the files."""

import json
import random
import shutil

import msgspec
import pytest

from store import query
from store.database import owner as owner_module
from store.database import snapshot
from store.database.owner import LOCK, WORK, owner
from store.errors import NoRoom, OwnerBusy, StorageError
from store.ingest import ingest
from tests.store.contents import contents
from tests.store.factory import make_record, write_lines
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


@pytest.mark.parametrize("drawn", first_of(range(10)))
def test_any_split_into_ingests_gives_the_same_content(tmp_path, drawn):
    """The file grows by arbitrary pieces, which cut lines anywhere, with an ingest after each."""
    folder, generator = tmp_path, random.Random(drawn)
    whole = b"".join(line + b"\n" for line in generator.sample(LINES, len(LINES)))
    cuts = sorted(generator.sample(range(1, len(whole)), 2))
    path = folder / "results.jsonl"
    path.write_bytes(b"")
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        with path.open("ab") as file:
            file.write(whole[start:end])
        ingest([path], folder / "pieces")
    ingest([path], folder / "once")
    assert contents(folder / "pieces") == contents(folder / "once")


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


@pytest.fixture(scope="module")
def ingested_once(tmp_path_factory):
    """A folder with one file and its index."""
    folder = tmp_path_factory.mktemp("once")
    write_lines(folder / "a.jsonl", [make_record()])
    ingest([folder / "a.jsonl"], folder / "store")
    return folder


@pytest.fixture
def store(ingested_once, tmp_path):
    """A copy of its index."""
    return shutil.copytree(ingested_once / "store", tmp_path / "store")


def test_without_a_working_database_nothing_is_lost(store, tmp_path):
    write_lines(tmp_path / "b.jsonl", [make_record(model="vgg16")])
    (store / WORK).unlink()
    ingest([tmp_path / "b.jsonl"], tmp_path / "store")
    assert len(contents(tmp_path / "store")["records"]) == 2


def test_an_index_of_a_later_version_is_refused_with_advice(tmp_path):
    ingest([tmp_path], tmp_path / "store")
    with owner(tmp_path / "store") as index:
        index.con.execute("INSERT INTO migrations VALUES ('9999_later.sql')")
    with pytest.raises(StorageError, match="delete the store folder and ingest again"):
        ingest([tmp_path], tmp_path / "store")


def test_an_ingest_that_waited_too_long_says_what_to_do(tmp_path):
    import filelock

    (tmp_path / "store").mkdir()
    with filelock.FileLock(tmp_path / "store" / LOCK), pytest.raises(OwnerBusy, match="nothing is lost"):
        ingest([tmp_path], tmp_path / "store", wait_s=0.1)


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, monkeypatch):
    """Without room to read nothing is begun; without room for the snapshot the records wait in the working database."""
    from types import SimpleNamespace

    path = tmp_path / "a.jsonl"
    write_lines(path, [make_record()])
    first = ingest([path], tmp_path / "store")
    write_lines(path, [make_record(), make_record(model="vgg16")])
    for free, reserve in ((0, 2**24), (20 * 2**20, 20 * 2**20 - 10_000)):
        with monkeypatch.context() as patched:
            patched.setattr(snapshot.shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
            patched.setattr(snapshot, "RESERVE_BYTES", reserve)
            with pytest.raises(NoRoom, match="nothing is lost") as told:
                ingest([path], tmp_path / "store")
        assert told.value.exit_code == 1
        assert query.current_snapshot(tmp_path / "store") == first.snapshot
    assert ingest([path], tmp_path / "store").published
    assert len(contents(tmp_path / "store")["records"]) == 2


def test_a_rebuild_that_was_killed_leaves_the_old_index(store, monkeypatch):
    before = contents(store, files=True)

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owner_module, "refresh", die)
        with pytest.raises(KeyboardInterrupt):
            ingest([], store, rebuild=True)
    assert ingest([], store).changed_files_n == 0
    assert contents(store, files=True) == before


@pytest.mark.parametrize("rebuild", first_of([True, False]))
def test_what_a_killed_owner_spilled_is_removed(tmp_path, rebuild):
    """DuckDB writes what does not fit into memory to a folder beside the database."""
    home, store = tmp_path / "home", tmp_path / "store"
    write_lines(home / "a.jsonl", [make_record()])
    for name in ("work.duckdb.tmp", "rebuilt.duckdb.tmp", "index-7.tmp"):
        (store / name).mkdir(parents=True)
        (store / name / "duckdb_temp_storage-0.tmp").write_bytes(b"spilled")
    ingest([home], store, rebuild=rebuild)
    assert not list(store.glob("*.tmp"))


def test_a_snapshot_name_is_not_used_again_after_the_folder_was_emptied(ingested_once, store):
    before = query.current_snapshot(store).name
    shutil.rmtree(store)
    assert ingest([ingested_once / "a.jsonl"], store).snapshot.name != before
