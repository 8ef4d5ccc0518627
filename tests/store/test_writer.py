import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from store.errors import WriteFailed, WriterBusy
from store.record import Record
from store.writer import ResultsWriter, encode
from tests.store.factory import make_record

ROOT = Path(__file__).resolve().parents[2]


def test_a_record_is_one_line_that_reads_back(tmp_path):
    record = make_record()
    with ResultsWriter(tmp_path / "run" / "results.jsonl") as writer:
        writer.append(record)
        writer.append(record)
    lines = (tmp_path / "run" / "results.jsonl").read_bytes().split(b"\n")
    assert lines[2:] == [b""]
    assert [msgspec.json.decode(line, type=Record) for line in lines[:2]] == [record, record]


@pytest.mark.parametrize("length", [0, 1, 10, 65536, 65537, 200_000])
def test_opening_cuts_a_torn_line_of_any_length(tmp_path, length):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"whole":1}\n' + b"x" * length)
    with ResultsWriter(path) as writer:
        assert path.read_bytes() == b'{"whole":1}\n'
        writer.append(make_record())
    assert path.read_bytes().startswith(b'{"whole":1}\n{"model"')


def test_opening_cuts_a_file_that_has_no_whole_line(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"torn')
    with ResultsWriter(path):
        assert path.read_bytes() == b""


def test_a_second_writer_is_refused_and_cuts_nothing(tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path):
        path.write_bytes(b'{"half')
        with pytest.raises(WriterBusy, match=r"Wait for that run to end"):
            ResultsWriter(path)
        assert path.read_bytes() == b'{"half'
    with ResultsWriter(path):
        assert path.read_bytes() == b""


def test_numbers_that_are_not_finite_become_null_with_a_warning():
    record = make_record(per_iter=[0.01, float("nan"), float("inf")], metrics={"load_time_s": [float("-inf")]})
    line = msgspec.json.decode(encode(record))
    assert line["metrics"]["per_iter_time"][2:] == [0.01, None, None]
    assert line["metrics"]["load_time_s"] == [None]
    [warning] = line["warnings"]
    assert "metrics.total_time[3]" in warning
    assert "metrics.load_time_s[0]" in warning


def test_a_finite_record_is_written_as_it_is():
    record = make_record()
    assert encode(record) == msgspec.json.encode(record) + b"\n"


def test_a_full_disk_leaves_whole_lines_and_says_what_to_do(tmp_path):
    """A file size limit stands for the full disk: the kernel writes a part of the line, then refuses."""
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path) as writer:
        writer.append(make_record())
    size = path.stat().st_size
    script = f"""
        import resource, sys
        sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests" / "store")!r}]
        from tests.store.factory import make_record
        from store.errors import WriteFailed
        from store.writer import ResultsWriter
        writer = ResultsWriter({str(path)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 100}, resource.RLIM_INFINITY))
        try:
            writer.append(make_record(model="other"))
        except WriteFailed as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        writer.append(make_record(model="third"))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, capture_output=True, text=True, timeout=60
    )
    assert "Free disk space" in done.stdout
    names = [msgspec.json.decode(line)["model"]["model_name"] for line in path.read_bytes().splitlines()]
    assert names == ["resnet18", "third"]
    assert WriteFailed.exit_code == 3


def _append_for_ever(path):
    writer = ResultsWriter(path)
    while True:
        writer.append(make_record())


@pytest.mark.faults
def test_a_killed_writer_leaves_whole_lines_for_the_next(tmp_path):
    path = tmp_path / "results.jsonl"
    for _ in range(3):
        child = multiprocessing.get_context("fork").Process(target=_append_for_ever, args=(path,))
        child.start()
        child.join(0.15)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        with ResultsWriter(path) as writer:
            writer.append(make_record())
        for line in path.read_bytes().splitlines():
            msgspec.json.decode(line, type=Record)
