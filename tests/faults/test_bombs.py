"""A small file that stands for a huge one costs neither memory nor the files beside it."""

import io
import json
import multiprocessing
import resource

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from store import query
from store.ingest import ingest
from tests.faults.told import tell
from tests.store import hud_files
from tests.store.factory import make_record, write_run

CHUNK, CHUNKS_N = 2**20, 64
MOST_GROWTH = 300 * 2**20


def packed(path, beginning, chunk):
    """Write beginning and chunks, 64 MiB, compressed: a few kilobytes."""
    kind = {".zst": "zstd", ".gz": "gzip"}[path.suffix]
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), kind) as stream:
        stream.write(beginning)
        for _ in range(CHUNKS_N):
            stream.write(chunk)
    return path


def lines(line):
    return line * (CHUNK // len(line))


HUD = json.dumps(hud_files.metric("resnet18", "speedup", 1.5)).encode()
BOMBS = {
    "a.jsonl.zst": (b"", lines(b'{"a": 1}\n')),
    "one-line.jsonl.gz": (b'{"a": "', b"x" * CHUNK),
    "hud.json.zst": (HUD + b"\n", lines(HUD + b"\n")),
    "array.json.zst": (b"[" + HUD, lines(b"," + HUD)),
    "inductor_torchbench_amp_training_cuda_performance.csv.gz": (
        hud_files.PERFORMANCE.encode() + b"\n",
        lines(b"a,b,1\n"),
    ),
    "table.csv.zst": (b"model,speedup\n", lines(b"a,2.0\n")),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_rejected_in_bounded_memory_and_the_run_beside_it_is_read(tmp_path, name):
    path = packed(tmp_path / name, *BOMBS[name])
    ingest_apart(tmp_path, path, "unpacks to more than")
    tell(f"bomb: {name}", 1, f"rejected, at most {MOST_GROWTH // 2**20} MiB of memory")


def test_a_parquet_file_of_one_value_in_many_rows_ends_early(tmp_path):
    record = json.dumps({"a": "x" * 2**20})
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array([record]))
    sink = io.BytesIO()
    pq.write_table(pa.table({"record": column}), sink, compression="zstd")
    path = tmp_path / "export.parquet"
    path.write_bytes(sink.getvalue())
    ingest_apart(tmp_path, path, "unpacks to more than")


def ingest_apart(folder, path, reason):
    write_run(folder / "run", [make_record(model="beside")])
    context = multiprocessing.get_context("spawn")  # of pyarrow's threads none is forked
    told = context.SimpleQueue()
    child = context.Process(target=_ingest, args=(folder, path, told))
    child.start()
    grown, models_n, reasons = told.get()
    child.join(60)
    assert child.exitcode == 0
    assert models_n == 1
    assert any(reason in each for each in reasons)
    assert grown < MOST_GROWTH


def _ingest(folder, path, told):
    """Ingest in a process of its own, whose memory is known."""
    ingest([folder / "run"], folder / "warm")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = ingest([path, folder / "run"], folder / "store")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    with query.connect(report.snapshot) as con:
        beside = con.execute("SELECT count(*) FROM records WHERE model = 'beside'").fetchone()
    told.put((grown, beside[0], sorted({line.reason for line in report.rejected})))
