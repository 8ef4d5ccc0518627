"""What lies in an object store reads as what lies here: the same rows, and only what is new is read."""

import shutil
from pathlib import Path

import pytest

from store.errors import NoSuchSource, RemoteFailed, UsageError
from store.files import unpacked
from store.ingest import ingest
from store.query import connect, current_snapshot, fetch
from store.remote import SharedFolder, arrive, arrive_all, arrived
from tests.needs import NEEDS_RAY

fsspec = pytest.importorskip("fsspec", reason=NEEDS_RAY)
KEPT = Path(__file__).parents[2] / "data" / "review" / "runs" / "nightly-2"
ROWS = "SELECT record_id, status, model FROM records ORDER BY record_id"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder of which the records lie there as they were written."""
    made = tmp_path_factory.mktemp("run")
    shutil.copy(KEPT / "run.json", made)
    packed = KEPT / "results.jsonl.zst"
    with packed.open("rb") as file:
        (made / "results.jsonl").write_bytes(unpacked(packed, file).read())
    return made


@pytest.fixture
def bucket():
    """An object store, empty."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]
    return fs


class Counting(SharedFolder):
    """Counts the bytes that are read."""

    read_n = 0

    def chunks(self, name, offset):
        for data in super().chunks(name, offset):
            Counting.read_n += len(data)
            yield data


def rows(source: Path, store: Path) -> list[dict]:
    ingest([source], store)
    with connect(current_snapshot(store)) as con:
        return fetch(con, ROWS, {})


def test_a_run_of_an_object_store_gives_the_rows_of_the_same_run_here(bucket, tmp_path, run):
    bucket.put(str(run), "/runs/one", recursive=True)
    there = rows(arrived("memory://runs", tmp_path / "arrived"), tmp_path / "a")
    assert there
    assert there == rows(run, tmp_path / "b")


def test_only_what_was_appended_is_read(bucket, tmp_path, monkeypatch, run):
    lines = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    first, rest = b"".join(lines[:-1]), lines[-1]
    bucket.pipe("/runs/one/run.json", (run / "run.json").read_bytes())
    bucket.pipe("/runs/one/results.jsonl", first)
    place = Counting(*vars(SharedFolder.of("memory://runs")).values())
    monkeypatch.setattr(Counting, "read_n", 0)
    arrive(place, tmp_path)
    assert Counting.read_n == len(first) + (run / "run.json").stat().st_size
    assert arrive(place, tmp_path) == 0
    bucket.pipe("/runs/one/results.jsonl", first + rest)
    monkeypatch.setattr(Counting, "read_n", 0)
    assert arrive(place, tmp_path) == 1
    assert Counting.read_n == len(rest)
    assert (tmp_path / "one" / "results.jsonl").read_bytes() == first + rest


def test_a_file_that_became_another_one_is_read_anew(bucket, tmp_path):
    place = SharedFolder.of("memory://runs")
    for text in (b'{"a": 1}\n', b'{"b": 2}\n{"c": 3}\n', b"{}\n"):
        bucket.pipe("/runs/x.jsonl", text)
        arrive(place, tmp_path)
        assert (tmp_path / "x.jsonl").read_bytes() == text


def test_a_copy_that_broke_off_is_finished(bucket, tmp_path):
    text = b"".join(b'{"line": %d}\n' % number for number in range(5000))
    bucket.pipe("/runs/x.jsonl", text)
    place = SharedFolder.of("memory://runs")
    (tmp_path / "x.jsonl").write_bytes(text[:30_001])
    arrive(place, tmp_path)
    assert (tmp_path / "x.jsonl").read_bytes() == text


def test_a_copy_that_was_deleted_or_cut_is_read_anew(bucket, tmp_path):
    """A power loss, or who frees some space, leaves what the note of the last copy does not say."""
    bucket.pipe("/runs/x.jsonl", b"{}\n{}\n")
    place, copy = SharedFolder.of("memory://runs"), tmp_path / "x.jsonl"
    arrive(place, tmp_path)
    copy.unlink()
    assert (arrive(place, tmp_path), copy.read_bytes()) == (1, b"{}\n{}\n")
    copy.write_bytes(b"")
    assert (arrive(place, tmp_path), copy.read_bytes()) == (1, b"{}\n{}\n")
    assert arrive(place, tmp_path) == 0


def test_a_file_is_named_by_itself(bucket, tmp_path, run):
    bucket.put(str(run / "results.jsonl"), "/runs/only.jsonl")
    found = arrived("memory://runs/only.jsonl", tmp_path)
    assert found.name == "only.jsonl"
    assert found.read_bytes() == (run / "results.jsonl").read_bytes()


def test_a_url_of_this_host_is_read_in_place(tmp_path, run):
    assert arrived(f"file://{run}", tmp_path / "arrived") == run
    assert not (tmp_path / "arrived").exists()


def test_artifacts_come_with_their_run_and_nothing_else_does(bucket, tmp_path, run):
    bucket.put(str(run), "/runs/one", recursive=True)
    bucket.pipe("/runs/one/artifacts/a/log.txt", b"text")
    bucket.pipe("/runs/movie.bin", b"0" * 100)
    arrive(SharedFolder.of("memory://runs"), tmp_path)
    assert (tmp_path / "one" / "artifacts" / "a" / "log.txt").read_bytes() == b"text"
    assert not (tmp_path / "movie.bin").exists()


@pytest.mark.parametrize("name", ["../../evil.jsonl", "one/../../../evil.jsonl"])
def test_no_name_there_leaves_the_folder_here(bucket, tmp_path, name, monkeypatch):
    bucket.pipe("/runs/good.jsonl", b"{}\n")
    place = SharedFolder.of("memory://runs")
    found = {**place.files(), name: place.files()["good.jsonl"]}
    monkeypatch.setattr(SharedFolder, "files", lambda _: found)
    assert arrive(place, tmp_path / "deep" / "er" / "into") == 1
    assert list(tmp_path.rglob("evil*")) == []


def test_a_link_on_a_shared_disk_brings_nothing(tmp_path):
    """It may lead to what only the user of this host may read."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("s")
    there = tmp_path / "there"
    there.mkdir()
    (there / "a.jsonl").symlink_to(tmp_path / "secret" / "key")
    (there / "b").symlink_to(tmp_path / "secret")
    (there / "log").write_text("text")
    assert arrive_all(SharedFolder.of(str(there)), tmp_path / "here") == 1
    assert sorted(path.name for path in (tmp_path / "here").rglob("*")) == [".arrived", "log"]


def test_what_cannot_be_used_is_said_in_a_sentence(bucket, tmp_path):
    with pytest.raises(NoSuchSource, match=r"memory://runs contains no results.jsonl"):
        arrived("memory://runs", tmp_path)
    for url in ("nonsense://x", "ftp://127.0.0.1:1/x"):
        with pytest.raises(UsageError, match=f"{url} cannot be used"):
            arrived(url, tmp_path)


def test_a_place_that_fails_says_where_and_keeps_what_has_arrived(bucket, tmp_path, monkeypatch, run):
    bucket.put(str(run), "/runs/one", recursive=True)
    place = SharedFolder.of("memory://runs")
    arrive(place, tmp_path)
    bucket.pipe("/runs/one/results.jsonl", b"{}\n")
    monkeypatch.setattr(place.fs, "open", lambda *_, **__: (_ for _ in ()).throw(ConnectionResetError("reset")))
    with pytest.raises(RemoteFailed, match=r"memory://runs/one/results.jsonl cannot be used: reset"):
        arrive(place, tmp_path)
    assert (tmp_path / "one" / "results.jsonl").read_bytes() == (run / "results.jsonl").read_bytes()


def test_both_kinds_of_place_write_and_read_alike(bucket, tmp_path):
    (tmp_path / "file").write_bytes(b"more")
    for place in (SharedFolder.of("memory://shared"), SharedFolder.of(str(tmp_path / "shared"))):
        assert (place.read("a/b"), place.exists("a/b")) == (None, False)
        place.write("a/b", b"text")
        place.put("a/c", tmp_path / "file")
        assert (place.read("a/b"), place.exists("a/b"), place.under("a").read("c")) == (b"text", True, b"more")
        assert sorted(place.under("a").files()) == ["b", "c"]
    shutil.rmtree(tmp_path / "shared")
