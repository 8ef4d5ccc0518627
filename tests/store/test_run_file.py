import random

import msgspec
import pytest

from store.errors import RunFileError
from store.run_file import read_records, read_run_file, write_run_file
from tests.packed import pack
from tests.store.factory import make_config, make_record, write_run


def test_run_json_reads_back(tmp_path):
    write_run(tmp_path / "a", [make_record()], [make_config(model="other")])
    run_file = read_run_file(tmp_path / "a")
    assert write_run_file(tmp_path / "b", run_file) == tmp_path / "b" / "run.json"
    assert read_run_file(tmp_path / "b") == run_file
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["run.json"]


def test_a_missing_run_json_says_what_to_do(tmp_path):
    with pytest.raises(RunFileError, match="Name a folder"):
        read_run_file(tmp_path)


DEEP = b"[" * 5000 + b"]" * 5000
"""JSON that is nested deeper than anything here can read."""


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"\xff", b'{"unknown": ' + DEEP + b"}"])
def test_a_broken_run_json_says_what_to_do(tmp_path, data):
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(RunFileError, match="start a new run"):
        read_run_file(tmp_path)


def test_records_are_read_up_to_a_torn_line_and_bad_ones_are_left_out(tmp_path):
    first, last = make_record(), make_record(model="vgg16")
    line = msgspec.json.encode
    data = b"\n".join([line(first), b"{}", b"\xff", line(last), line(first)[:-5]])
    (tmp_path / "results.jsonl").write_bytes(data)
    assert list(read_records(tmp_path / "results.jsonl")) == [first, last]


def test_a_line_that_is_nested_too_deep_is_left_out_and_the_others_are_read(tmp_path):
    line = msgspec.json.encode(make_record())
    (tmp_path / "results.jsonl").write_bytes(line[:-1] + b', "unknown": ' + DEEP + b"}\n" + line + b"\n")
    assert list(read_records(tmp_path / "results.jsonl")) == [make_record()]


def test_a_run_json_that_is_no_file_says_so(tmp_path):
    (tmp_path / "run.json").mkdir()
    with pytest.raises(RunFileError, match="cannot be read: Is a directory"):
        read_run_file(tmp_path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_records_are_read_packed_and_rotated_and_each_once(tmp_path, suffix):
    """Also while the plain file still lies beside the packed one."""
    records = [make_record(), make_record(model="vgg16")]
    first, second = (msgspec.json.encode(record) + b"\n" for record in records)
    plain = tmp_path / "results.jsonl"
    plain.write_bytes(first + second)
    pack(tmp_path / f"results.jsonl.1{suffix}", first)
    (tmp_path / "results.jsonl.old").write_bytes(second)  # nobody's
    assert list(read_records(plain)) == records
    plain.write_bytes(second)
    assert list(read_records(plain)) == records
    pack(tmp_path / f"results.jsonl{suffix}", second)
    plain.unlink()
    assert sorted(map(str, read_records(plain))) == sorted(map(str, records))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_damaged_packed_file_says_so(tmp_path, suffix):
    path = tmp_path / f"results.jsonl{suffix}"
    pack(path, random.Random(1).randbytes(100_000))
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(RunFileError, match="cannot be unpacked"):
        list(read_records(tmp_path / "results.jsonl"))


def test_no_file_has_no_records(tmp_path):
    assert list(read_records(tmp_path / "results.jsonl")) == []
