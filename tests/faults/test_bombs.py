"""A small file that stands for a huge one costs neither memory nor the files beside it."""

import gzip
import json
import multiprocessing
import os
import resource
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dashboard.viewers import readers, text
from store import query
from store.importers import text as importers_text
from store.importers.table import PublishedTable
from store.ingest import chunks, ingest
from tests.faults.fault_rows import add_row
from tests.store import hud_files
from tests.store.factory import make_record, write_run

BYTES = 2**26
MOST_GROWTH = 300 * 2**20


def packed(path, beginning, chunk, size=BYTES):
    """Write beginning and chunks, 64 MiB, compressed: some kilobytes."""
    kind = {".zst": "zstd", ".gz": "gzip"}[path.suffix]
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), kind) as stream:
        stream.write(beginning)
        for _ in range(size // 2**20):
            stream.write(chunk * (2**20 // len(chunk)))
    return path


LONG = "x" * 4000
HUD = json.dumps(hud_files.metric(LONG, "speedup", 1.5)).encode()
BOMBS = {
    "a.jsonl.zst": (b"", b'{"a": "' + LONG.encode() + b'"}\n'),
    "one-line.jsonl.gz": (b'{"a": "', b"x" * 2**16),
    "hud.json.zst": (HUD + b"\n", HUD + b"\n"),
    "array.json.zst": (b"[" + HUD, b"," + HUD),
    "inductor_torchbench_amp_training_cuda_performance.csv.zst": (
        hud_files.PERFORMANCE.encode() + b"\n",
        f"a,{LONG},1\n".encode(),
    ),
    "table.csv.zst": (b"model,speedup\n", f"{LONG},2.0\n".encode()),
}


def parquet(path):
    """Write one value in many rows: 100 GiB, if each were read."""
    record = json.dumps({"a": "x" * 2**20})
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array([record]))
    pq.write_table(pa.table({"record": column}), path, compression="zstd")
    return path


VIEWED = {
    "levels": (readers.dynamo, b"[" * 2_000_000),
    "objects in objects": (readers.dynamo, b'{"a":' * 500_000),
    "an integer of 400 digits": (readers.dynamo, b'{"a": {"b": ' + b"9" * 400 + b', "c": 1}}'),
    "an integer of 5000 digits": (readers.dynamo, b'{"a": ' + b"9" * 5000 + b"}"),
    "digits without a unit": (readers.xla_metrics, b"Metric: a\n  Accumulator: " + b"1" * 3_000_000 + b"\n"),
    "many durations": (readers.xla_metrics, b"Metric: a\n  Accumulator: " + b"1m" * 1_000_000 + b"x\n"),
    "a number without end": (readers.xla_metrics, b"Counter: a\n  Value: " + b"1" * 3_000_000 + b"\n"),
    "columns without end": (readers.profile, (b"----- " * 3000 + b"\n" + b"a \n") * 3 + b"-----\n"),
    "two columns of one name": (readers.profile, b"----- -----\na     a\n----- -----\n1s    2s\n----- -----\n"),
    "digits in a cell": (readers.profile, b"-" * 9**6 + b"\na\n" + (b"-" * 5 + b"\n" + b"1" * 9**6 + b"\n") * 2),
}
"""What stands in a report that a viewer opens."""


@pytest.mark.parametrize("name", VIEWED)
def test_a_viewer_of_reports_takes_its_time_from_nobody(tmp_path, name):
    read, content = VIEWED[name]
    (tmp_path / "report").write_bytes(content)
    begun = time.thread_time()
    table = read(tmp_path / "report")
    assert time.thread_time() - begun < 4
    assert table is None or table.size < 100
    add_row("reports and traces that are expensive to show", 1, "a small table, or none")
    if table is not None:
        pa.Table.from_pandas(table)


TRACES = {
    "levels": b'{"traceEvents": ' + b"[" * 2**20,
    "levels in an event": b'{"traceEvents": [{"ph": ' + b'{"a":' * 2**20,
    "no events": b'{"traceEvents": 5}',
    "events of other kinds": b'{"traceEvents": [null, 5, "x", [], {"ph": "X", "dur": "x", "ts": 1e400}]}',
    "times without end": b'{"traceEvents": [{"ph": "X", "ts": 1e308, "dur": 1e308}, {"ph": "X", "ts": -9e307}]}',
}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_viewer_of_traces_sums_up_or_says_why_not(tmp_path, name, suffix):
    path = tmp_path / f"trace.json{suffix}"
    path.write_bytes(gzip.compress(TRACES[name]) if suffix else TRACES[name])
    try:
        found = readers.top_ops(path)
    except readers.NotSummed:
        return
    assert len(found) <= 2


def test_a_text_that_unpacks_without_end_is_shown_and_searched_in_bounded_time(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MOST_S", 0.3)
    path = packed(tmp_path / "ir.txt.gz", b"first\n", b"\n" * 2**10)
    begun = time.thread_time()
    assert text.page(path, 0).text.startswith("first")
    text.page(path, 10**9)
    assert not text.search(path, "nothing").whole
    add_row("an endless compressed text of empty lines in a viewer", 3, "shown and searched for seconds")
    assert time.thread_time() - begun < 2


BAD = {
    "inductor_torchbench_amp_training_cuda_performance.csv.zst": hud_files.PERFORMANCE.encode() + b"\n",
    "results.jsonl.zst": b"",
    "a.jsonl.gz": b"{bad\n",
}


def test_a_packed_file_of_nothing_but_bad_lines_is_not_read_to_its_end(tmp_path, monkeypatch):
    """Each rejected line is kept with its place and reason: 488,000 of them, from 1.7 kB, took 300 MB."""
    monkeypatch.setattr(chunks, "MOST_REJECTED", 50)
    paths = [packed(tmp_path / name, beginning, b"{}\n", 2**20) for name, beginning in BAD.items()]
    write_run(tmp_path / "run", [make_record(model="beside")])
    report = ingest([*paths, tmp_path / "run"], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (1, 3)
    for path in paths:
        reasons = [line.reason for line in report.rejected if line.path == str(path)]
        assert reasons[-1].startswith("not read from here on")
        assert len(reasons) == 51


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_packed_text_that_is_damaged_is_shown_as_far_as_it_goes(tmp_path, share):
    path, whole = tmp_path / "ir.txt.gz", gzip.compress(os.urandom(50_000).hex().encode())
    at = int(share * len(whole))
    for damaged in (whole[:at], whole[:at] + bytes(90) + whole[at + 90 :]):
        path.write_bytes(damaged)
        text.page(path, 0)
        assert not text.search(path, "nothing").lines_n
        with pytest.raises(readers.NotSummed):
            readers.top_ops(path)


def test_many_equal_rows_of_a_table_are_never_held_at_once(tmp_path):
    """Below the bound of the ratio, 52 kB that unpack to 2 million rows took 680 MB."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"model,speedup\n" + b"a,2.0\n" * 20_000)
    tracemalloc.start()
    try:
        with path.open("rb") as file:
            records = PublishedTable().records(file, path)
            found, last = next(records), None
            for last in records:
                assert "earlier line" in last.reason
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.record["metrics"], last.line_number) == ({"reported_speedup": [2.0]}, 20_001)
    assert peak < 1_000_000


def test_one_value_of_very_many_parts_is_rejected_before_it_is_parsed(tmp_path, monkeypatch):
    """An empty list takes three bytes of a file, of which 250 are one packed, and 64 of memory."""
    monkeypatch.setattr(importers_text, "MOST_PARTS", 1000)
    (tmp_path / "hud.json").write_bytes(b"[" + HUD + b",[]" * 1001 + b"]")
    (tmp_path / "good.json").write_bytes(b"[" + HUD + b"," + HUD + b"]")
    report = ingest([tmp_path / "hud.json", tmp_path / "good.json"], tmp_path / "store")
    assert (report.records_n, [line.reason for line in report.rejected]) == (
        2,
        ["one JSON value of more than 1,000 parts: write one object per line"],
    )


def test_bombs_are_rejected_in_bounded_memory_and_the_run_beside_them_is_read(tmp_path):
    paths = [packed(tmp_path / name, *bomb) for name, bomb in BOMBS.items()] + [parquet(tmp_path / "export.parquet")]
    write_run(tmp_path / "run", [make_record(model="beside")])
    context = multiprocessing.get_context("spawn")  # of pyarrow's threads none is forked
    told = context.SimpleQueue()
    child = context.Process(target=_ingest, args=(tmp_path, paths, told))
    child.start()
    grown, beside_n, stopped = told.get()
    child.join(60)
    assert child.exitcode == 0
    assert (beside_n, stopped) == (1, sorted(path.name for path in paths))
    assert grown < MOST_GROWTH
    add_row("compressed and Parquet files that unpack endlessly", len(paths), f"rejected, {grown >> 20} MiB of memory")


def _ingest(folder, paths, told):
    """Ingest in a process of its own, whose memory is known."""
    ingest([folder / "run"], folder / "warm")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = ingest([*paths, folder / "run"], folder / "store")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    with query.connect(report.snapshot) as con:
        beside = con.execute("SELECT count(*) FROM records WHERE model = 'beside'").fetchone()
    stopped = {Path(line.path).name for line in report.rejected if "unpacks to more than" in line.reason}
    told.put((grown, beside[0], sorted(stopped)))


CSV = "inductor_torchbench_amp_training_cuda_performance.csv"
HEAD = ["dev,name,batch_size,speedup"]
MANY = {
    "hud.json": ([json.dumps(hud_files.metric(f"m{number}", "speedup", 1.5)) for number in range(20)], 10),
    f"full/{CSV}": ([*HEAD, *(f"cuda,m{number},8,1.5" for number in range(20))], 9),
    f"empty/{CSV}": ([*HEAD, *[""] * 20, "cuda,m,8,1.5"], 0),
}
"""Lines, and how many records they give if ten are read; each row has a name, so that an importer keeps each."""


def test_a_file_of_another_tool_is_not_read_beyond_its_most_lines(tmp_path, monkeypatch):
    """Empty lines count, too: a packed file of them kept an importer for 43 seconds."""
    monkeypatch.setattr(importers_text, "MOST_OBJECTS", 10)
    for name, (lines, _) in MANY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    report = ingest([tmp_path / name for name in MANY], tmp_path / "store")
    said = (11, "not read from here on: more than 10 lines; split the file")
    found = {line.path: (line.line_number, line.reason) for line in report.rejected}
    assert found == {str(tmp_path / name): said for name in MANY}
    with query.connect(report.snapshot) as con:
        asked = "SELECT path, count(*) FROM record_sources GROUP BY path"
        assert dict(con.execute(asked).fetchall()) == {str(tmp_path / name): n for name, (_, n) in MANY.items() if n}
