"""What an ingest reads: long lines, bytes that are no text, compressed and rotated files, patterns."""

import gzip
import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from store import query
from store.errors import NoSuchSource
from store.ingest import chunks, ingest, lines
from store.ingest.lines import MAX_LINE_BYTES
from tests.packed import pack
from tests.performance.store_parts import records
from tests.performance.store_parts.apart import cost
from tests.store.contents import contents
from tests.store.factory import demo_runs, make_record, write_lines
from tests.store.peer_records import peer_record
from tests.tiers import first_of


def line(model):
    return msgspec.json.encode(make_record(model=model)) + b"\n"


GOOD = [line(f"m{number}") for number in range(3)]


def models(store_dir):
    with query.connect(query.current_snapshot(store_dir)) as con:
        return [model for (model,) in con.execute("SELECT model FROM records ORDER BY 1").fetchall()]


BAD = [
    (b'{"model": "\x00"}', "not JSON"),
    (b"\x00\x00\x00", "not JSON"),
    (GOOD[0].strip()[:-1] + b', "later": "\xff"}', "not UTF-8"),
    (GOOD[0].strip()[:-1] + b', "later": "\\ud800"}', "JSON that cannot be written back"),
    (GOOD[0].strip() * 2, "not JSON"),
    (GOOD[0].replace(b'"replica":0', b'"replica":"0"').strip(), "replica"),
    (GOOD[0].replace(b'"replica":0', b'"replica":99999999999').strip(), "replica"),
    (b"  ", "not JSON"),
]


def _around(number):
    """Return the lines around a bad one."""
    return [line(f"{place}-{number}") for place in ("before", "after")]


FUTURE = 2**63 + 10**18


@pytest.fixture(scope="module")
def home_of_bad_files(tmp_path_factory):
    """A home of odd files, ingested at once, each with models of its own."""
    home = tmp_path_factory.mktemp("odd")
    (home / "bad").mkdir()
    for number, (bad, _) in enumerate(BAD):
        before, after = _around(number)
        (home / "bad" / f"{number}.jsonl").write_bytes(before + bad + b"\n" + after)
    unread = line("unread").strip()[:-1] + b', "later": {"x": "\\udc00"}}\n'
    (home / "unread.jsonl").write_bytes(line("u0") + unread + line("u1"))
    (home / "returns.jsonl").write_bytes(b"".join(line(f"r{n}").replace(b"\n", b"\r\n") for n in range(3)))
    record = json.loads(line("ordered"))
    (home / "first.jsonl").write_text(json.dumps(record) + "\n")
    (home / "second.jsonl").write_text(json.dumps(dict(reversed(record.items()))) + "\n")
    (home / "future.jsonl").write_bytes(line("future"))
    os.utime(home / "future.jsonl", ns=(0, FUTURE))
    (home / "notes.json").write_text('{"of": 1}')
    (home / "data.csv").write_text("a,b\n1,2\n")
    (home / "picture.png").write_text("no suffix of another tool")
    (home / "cut.json.gz").write_bytes(gzip.compress(os.urandom(1000))[:-500])
    report = ingest([home], home / "store")
    found = {Path(each.path).relative_to(home).as_posix(): each for each in report.rejected}
    return SimpleNamespace(home=home, store=home / "store", report=report, rejected=found)


def test_a_bad_line_between_good_ones_is_rejected_with_place_reason_and_hash(home_of_bad_files):
    """Each in a file of its own."""
    assert home_of_bad_files.report.exit_code == 3
    with query.connect(home_of_bad_files.report.snapshot) as con:
        sql = "SELECT path, line_number, byte_offset, sha256, reason FROM rejected_lines"
        found = {path: place for path, *place in con.execute(sql).fetchall()}
    for number, (bad, reason) in enumerate(BAD):
        *place, why = found[str(home_of_bad_files.home / "bad" / f"{number}.jsonl")]
        assert place == [2, len(_around(number)[0]), hashlib.sha256(bad).hexdigest()]
        assert reason in why
    good = [name for name in models(home_of_bad_files.store) if name.startswith(("before", "after"))]
    assert good == [f"{place}-{number}" for place in ("after", "before") for number in range(len(BAD))]


def test_what_the_database_alone_takes_for_no_json_is_rejected_with_its_place(home_of_bad_files):
    """A key that is not read passes the typed validation unread."""
    rejected = home_of_bad_files.rejected["unread.jsonl"]
    assert (rejected.line_number, rejected.byte_offset) == (2, len(line("u0")))
    assert [name for name in models(home_of_bad_files.store) if name.startswith("u")] == ["u0", "u1"]


def _write_long(path, size):
    with path.open("wb") as file:
        file.write(GOOD[0] + b'{"x": "')
        for _ in range(size // 2**20):
            file.write(b"a" * 2**20)
        file.write(b'"}\n' + GOOD[1])


@pytest.mark.thorough
def test_a_line_of_a_hundred_megabytes_costs_little_memory(tmp_path):
    """The short form is a packed one, among the bombs of tests/faults/test_bombs.py."""
    _write_long(tmp_path / "shorter.jsonl", 2**25)
    _write_long(tmp_path / "a.jsonl", 10**8)
    shorter, longer = (
        cost(ingest, [tmp_path / name], tmp_path / f"store-{name}") for name in ("shorter.jsonl", "a.jsonl")
    )
    assert longer.rss_bytes - shorter.rss_bytes < 3 * 10**7
    store = tmp_path / "store-a.jsonl"
    assert models(store) == ["m0", "m1"]


def test_a_long_line_is_rejected_wherever_its_file_is_cut(tmp_path):
    path = tmp_path / "a.jsonl"
    long = b'{"x": "' + b"a" * MAX_LINE_BYTES + b'"}'
    whole = GOOD[0] + long + b"\n" + GOOD[1]
    path.write_bytes(whole[: len(whole) // 2])
    assert ingest([path], tmp_path / "store").pending == [(str(path), 2, len(GOOD[0]))]
    path.write_bytes(whole)
    [rejected] = ingest([path], tmp_path / "store").rejected
    assert (rejected.reason, rejected.sha256) == ("longer than 16 MiB", hashlib.sha256(long).hexdigest())
    assert models(tmp_path / "store") == ["m0", "m1"]


@pytest.mark.parametrize("suffix", first_of(["zst", "gz"]))
def test_a_compressed_file_gives_the_rows_of_the_plain_one(tmp_path, suffix):
    lines = b"".join([*GOOD, b"{bad\n", *(json.dumps(peer_record()).encode() + b"\n" for _ in range(2))])
    packed, plain = tmp_path / "packed", tmp_path / "plain"
    for folder in (packed, plain):
        folder.mkdir()
    (plain / "results.jsonl").write_bytes(lines)
    pack(packed / f"results.jsonl.{suffix}", lines)
    report = ingest([packed], tmp_path / "one")
    assert (report.records_n, report.known_n, report.exit_code) == (5, 0, 3)
    ingest([plain], tmp_path / "other")
    one, other = contents(tmp_path / "one"), contents(tmp_path / "other")
    for table in ("records", "results"):
        assert one[table] == other[table]
    assert ingest([packed], tmp_path / "one").changed_files_n == 0


LAST = {
    "whole": (line("last").rstrip(), None),
    "half": (line("last")[:50], "not JSON"),
    "long": (b'{"x": "' + b"a" * 2**15, "longer than 16 MiB"),
}


@pytest.mark.parametrize("suffix", first_of(["gz", "zst"]))
def test_the_last_line_of_a_compressed_file_needs_no_newline(tmp_path, monkeypatch, suffix):
    """Nobody appends to a compressed file, so its last line would never be read."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 2**13)
    for name, (last, _) in LAST.items():
        pack(tmp_path / f"{name}.jsonl.{suffix}", line(name) + last)
    report = ingest([tmp_path], tmp_path / "store")
    assert report.pending == []
    assert models(tmp_path / "store") == ["half", "last", "long", "whole"]
    found = {(each.path, each.line_number, each.byte_offset): each.reason for each in report.rejected}
    for name in ("half", "long"):
        place = (str(tmp_path / f"{name}.jsonl.{suffix}"), 2, len(line(name)))
        assert found.pop(place).startswith(LAST[name][1])
    assert found == {}


def test_links_of_a_folder_are_followed_and_those_that_lead_nowhere_are_passed_over(tmp_path):
    (tmp_path / "elsewhere" / "run").mkdir(parents=True)
    for name in ("elsewhere/a.jsonl", "elsewhere/run/b.jsonl"):
        (tmp_path / name).write_bytes(line(name))
    home = tmp_path / "home"
    home.mkdir()
    for name, target in {"a.jsonl": "a.jsonl", "run": "run", "gone.jsonl": "gone"}.items():
        (home / name).symlink_to(tmp_path / "elsewhere" / target)
    (home / "circle.jsonl").symlink_to(home / "circle.jsonl")
    report = ingest([home], tmp_path / "store")
    assert (report.files_n, report.rejected) == (2, [])
    assert models(tmp_path / "store") == ["elsewhere/a.jsonl", "elsewhere/run/b.jsonl"]


def test_files_of_a_folder_whose_format_is_not_known_are_named(home_of_bad_files, tmp_path):
    """Nothing is read of them; a named one, and one that cannot be unpacked, is rejected."""
    assert home_of_bad_files.report.passed_over == [
        str(home_of_bad_files.home / name) for name in ("data.csv", "notes.json")
    ]
    read = {"unread.jsonl", "returns.jsonl", "first.jsonl", "second.jsonl", "future.jsonl", "cut.json.gz"}
    assert home_of_bad_files.report.files_n == len(BAD) + len(read)
    assert {name for name in home_of_bad_files.rejected if not name.startswith("bad/")} == {
        "unread.jsonl",
        "cut.json.gz",
    }
    (tmp_path / "notes.json").write_text('{"of": 1}\n')
    report = ingest([tmp_path / "notes.json"], tmp_path / "store")
    assert (report.passed_over, len(report.rejected), report.exit_code) == ([], 1, 3)


def test_a_file_of_bad_lines_is_not_read_to_its_end_and_what_is_appended_is_neither_doubled_nor_lost(
    tmp_path, monkeypatch
):
    """Two million empty lines, 2 MB, took 1.9 GB and 31 seconds."""
    monkeypatch.setattr(chunks, "MOST_REJECTED", 50)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD[0] + b"\n" * 1000)
    report = ingest([path], tmp_path / "store")
    assert (report.records_n, len(report.rejected)) == (1, 51)
    last = report.rejected[-1]
    assert (last.line_number, last.byte_offset) == (52, len(GOOD[0]) + 50)
    assert last.reason.startswith("not read from here on")
    with path.open("ab") as file:
        file.write(GOOD[1] + b"{bad\n")
    report = ingest([path], tmp_path / "store")
    assert [(line.line_number, line.byte_offset) for line in report.rejected] == [(1003, len(GOOD[0] + GOOD[1]) + 1000)]
    assert models(tmp_path / "store") == ["m0", "m1"]


def test_a_compressed_file_that_is_cut_gives_what_it_has_and_says_so(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(GOOD) + b"\0" * 2**14)[:-20])
    report = ingest([path], tmp_path / "store")
    assert (report.records_n, report.rejected[-1].line_number) == (3, 4)
    assert "cannot be unpacked" in report.rejected[-1].reason
    path.write_bytes(gzip.compress(b"".join(GOOD)))
    ingest([path], tmp_path / "store")
    with query.connect(query.current_snapshot(tmp_path / "store")) as con:
        assert con.execute("SELECT count(*) FROM rejected_lines").fetchone() == (0,)
    assert models(tmp_path / "store") == ["m0", "m1", "m2"]


@pytest.mark.parametrize("named", first_of(["results.jsonl", "."]))
def test_a_rotation_loses_and_doubles_nothing(tmp_path, named):
    folder = tmp_path / "run"
    path = folder / "results.jsonl"
    write_lines(path, [make_record(model="m0")])
    ingest([folder / named], tmp_path / "store")
    path.rename(folder / "results.jsonl.1")
    write_lines(path, [make_record(model="m1")])
    ingest([folder / named], tmp_path / "store")
    assert models(tmp_path / "store") == ["m0", "m1"]
    (folder / "results.jsonl.2.gz").write_bytes(gzip.compress((folder / "results.jsonl.1").read_bytes()))
    path.rename(folder / "results.jsonl.1")
    write_lines(path, [make_record(model="m2")])
    ingest([folder / named], tmp_path / "store")
    ingest([folder], tmp_path / "once")
    assert models(tmp_path / "store") == ["m0", "m1", "m2"]
    assert contents(tmp_path / "store") == contents(tmp_path / "once")


def test_a_pattern_names_files_and_one_that_fits_nothing_is_an_error(tmp_path):
    for name in ("one", "two"):
        write_lines(tmp_path / name / "a.jsonl", [make_record(model=name)])
    assert ingest([tmp_path / "*" / "a.jsonl"], tmp_path / "store").files_n == 2
    with pytest.raises(NoSuchSource, match="Name a run folder"):
        ingest([tmp_path / "*" / "b.jsonl"], tmp_path / "store")


def test_lines_with_carriage_returns_are_records(home_of_bad_files):
    assert "returns.jsonl" not in home_of_bad_files.rejected
    assert [name for name in models(home_of_bad_files.store) if name.startswith("r")] == ["r0", "r1", "r2"]


def test_the_order_of_keys_is_no_content(home_of_bad_files):
    assert home_of_bad_files.report.known_n == 1
    assert models(home_of_bad_files.store).count("ordered") == 1


def test_a_rebuild_gives_identical_content_and_validates_nothing_again(tmp_path, monkeypatch):
    """What is not all ours was not found to be valid: lines of the peer's, and a file with a bad one."""
    from store.ingest import relation

    demo_runs(tmp_path)
    records.write(tmp_path, 20)
    (tmp_path / "peer.jsonl").write_text("".join(json.dumps(peer_record()) + "\n" for _ in range(3)) + "{bad\n")
    ingest([tmp_path], tmp_path / "store")
    before, validate, validated = contents(tmp_path / "store", files=True), relation.all_own, []

    def told(data, count):
        validated.append(bytes(data))
        return validate(data, count)

    with monkeypatch.context() as patched:
        patched.setattr(relation, "all_own", told)
        ingest([], tmp_path / "store", rebuild=True)
    assert contents(tmp_path / "store", files=True) == before
    assert {"records", "record_metrics", "record_graphs", "result_rows"} <= set(before)
    assert validated
    assert not any(b'"record_id"' in data for data in validated), "of ours"
    results = tmp_path / "runs" / "run-00000" / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b'"replica":0', b'"replica":x', 1))
    os.utime(results, ns=(0, 10**18))
    assert ingest([], tmp_path / "store", rebuild=True).exit_code == 3


def test_a_file_of_a_far_future_or_of_a_large_inode_is_read_once(home_of_bad_files):
    """Its time or its inode beyond 63 bits ended the ingest; a union of disks makes inodes by hashing."""
    path = home_of_bad_files.home / "future.jsonl"
    assert models(home_of_bad_files.store).count("future") == 1
    assert path.stat().st_mtime_ns == FUTURE
    assert ingest([path], home_of_bad_files.store).changed_files_n == 0
    size = path.stat().st_size
    stat = SimpleNamespace(st_dev=2**64 - 1, st_ino=2**64 - 2, st_size=size, st_mtime_ns=FUTURE)
    with path.open("rb") as file:
        mark = chunks.mark_of(path, "jsonl", file, stat, size, 1)
    assert max(mark.device, mark.inode, mark.modified_ns) < 2**63
    assert chunks.untouched(mark, path, stat)
