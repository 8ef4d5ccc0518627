"""A small file that stands for a huge one costs neither memory nor the files beside it."""

import json
import multiprocessing
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from store import query
from store.ingest import ingest
from tests.faults.told import tell
from tests.store import hud_files
from tests.store.factory import make_record, write_run

BYTES = 2**26
MOST_GROWTH = 300 * 2**20


def packed(path, beginning, chunk):
    """Write beginning and chunks, 64 MiB, compressed: some kilobytes."""
    kind = {".zst": "zstd", ".gz": "gzip"}[path.suffix]
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), kind) as stream:
        stream.write(beginning)
        for _ in range(BYTES // 2**20):
            stream.write(chunk * (2**20 // len(chunk)))
    return path


LONG = "x" * 4000
HUD = json.dumps(hud_files.metric(LONG, "speedup", 1.5)).encode()
BOMBS = {
    "a.jsonl.zst": (b"", b'{"a": "' + LONG.encode() + b'"}\n'),
    "one-line.jsonl.gz": (b'{"a": "', b"x" * 2**16),
    "hud.json.zst": (HUD + b"\n", HUD + b"\n"),
    "array.json.zst": (b"[" + HUD, b"," + HUD),
    "inductor_torchbench_amp_training_cuda_performance.csv.gz": (
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
    tell("compressed and Parquet files that unpack without end", len(paths), f"rejected, {grown >> 20} MiB of memory")


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
