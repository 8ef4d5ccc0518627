"""A damaged index is said in one sentence, and the next ingest makes it whole."""

import shutil

import pytest
from hypothesis import strategies as st

from store import query
from store.choose import newest_snapshot
from store.database import snapshot
from store.database.owner import WORK
from store.errors import NoSnapshot, StorageError, XlabenchError
from store.ingest import ingest
from tests.faults.fault_rows import add_row
from tests.faults.hostile import property_of
from tests.store.contents import contents
from tests.store.factory import make_record, write_run
from tests.tiers import first_of

KINDS = ("empty", "cut", "zeroed", "flipped", "text")


def damage(path, kind, share):
    data = bytearray(path.read_bytes())
    at = int(share * (len(data) - 1))
    if kind == "flipped":
        data[at] ^= 1 << (at % 8)
    elif kind == "zeroed":
        data[at : at + 4096] = bytes(len(data[at : at + 4096]))
    elif kind == "cut":
        del data[at:]
    else:
        data[:] = b"" if kind == "empty" else b"no database" * 1000
    path.write_bytes(data)


def read(store_dir):
    """Return what a reader sees, or the sentence that it is told."""
    newest = query.current_snapshot(store_dir)
    if newest is None:
        return "no index"
    try:
        with query.connect(newest) as con:
            names = [row["name"] for row in query.fetch(con, "SELECT table_name AS name FROM duckdb_tables()")]
            return [query.fetch(con, f"SELECT max(hash(t)) AS h FROM {name} AS t") for name in sorted(names)]
    except XlabenchError as error:
        return str(error)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    home = tmp_path_factory.mktemp("whole")
    for number in range(3):
        records = [make_record(model=model, run_id=f"run-{number}") for model in ("vgg16", "resnet18")]
        write_run(home / "runs" / f"run-{number}", records, timestamp=1.76e9 + number)
        ingest([home], home / "store")
    return home


def check_damage(store, whole, files, kind, share):
    """Damage files of a copied store: a reader sees what it saw or is told what to run, which makes it whole."""
    shutil.copytree(whole / "store", store)
    ingest([whole / "runs"], store)  # what was copied is no longer what was published
    seen = read(store)
    newest = query.current_snapshot(store)
    for path in {"snapshot": [newest], "work": [store / WORK], "both": [newest, store / WORK]}[files]:
        damage(path, kind, share)
    told = read(store)
    assert told == seen or "Run `xlabench ingest`" in told
    ingest([whole / "runs"], store)
    assert contents(store) == contents(whole / "store")
    assert snapshot.is_intact(store)
    add_row(
        "snapshot or working database is overwritten", 1, "one sentence, repaired by the next ingest", lost=0, doubled=0
    )


@pytest.mark.parametrize(("files", "kind"), first_of([("snapshot", "flipped"), ("both", "cut"), ("work", "text")], 2))
def test_what_is_written_over_is_whole_after_the_next_ingest(tmp_path, whole, files, kind):
    check_damage(tmp_path / "store", whole, files, kind, 0.4)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_whatever_is_written_over_the_next_ingest_makes_the_index_whole(tmp_path_factory, whole):
    def body(drawn):
        store = tmp_path_factory.mktemp("damaged") / "store"
        check_damage(store, whole, *drawn)
        shutil.rmtree(store)

    files = st.sampled_from(["snapshot", "snapshot", "work", "both"])
    property_of(body, st.tuples(files, st.sampled_from(KINDS), st.floats(0, 1)), 150)


POINTERS = (b"", b"\xff\xfe", b"index-" + b"9" * 5000 + b".duckdb\n", b"../../etc/passwd\n", b"index-1.duckdb\n")


def test_a_damaged_pointer_shows_no_index_until_the_next_ingest(tmp_path, whole):
    shutil.copytree(whole / "store", tmp_path / "store")
    for pointer in POINTERS:
        (tmp_path / "store" / snapshot.POINTER).write_bytes(pointer)
        assert query.current_snapshot(tmp_path / "store") is None
        with pytest.raises(StorageError, match=r"CURRENT is damaged.*Run `xlabench ingest`"):
            newest_snapshot(tmp_path / "store")
    report = ingest([whole / "runs"], tmp_path / "store")
    assert (report.records_n, report.published) == (0, True)
    assert contents(tmp_path / "store") == contents(whole / "store")
    add_row("CURRENT is overwritten", len(POINTERS), "no index until the next ingest", lost=0, doubled=0)


def test_a_reader_of_a_damaged_index_is_told_what_to_run(tmp_path, whole):
    shutil.copytree(whole / "store", tmp_path / "store")
    newest = query.current_snapshot(tmp_path / "store")
    newest.write_bytes(newest.read_bytes()[:5000])
    with pytest.raises(StorageError, match=r"The index is damaged .* Run `xlabench ingest`"):
        query.connect(newest)
    newest.unlink()
    with pytest.raises(NoSnapshot):
        query.connect(newest)


def test_a_folder_in_the_place_of_the_pointer_is_named(tmp_path, whole):
    shutil.copytree(whole / "store", tmp_path / "store")
    pointer = tmp_path / "store" / snapshot.POINTER
    pointer.unlink()
    pointer.mkdir()
    assert query.current_snapshot(tmp_path / "store") is None
    with pytest.raises(IsADirectoryError) as caught:
        ingest([whole / "runs"], tmp_path / "store")
    assert caught.value.filename == str(pointer)
