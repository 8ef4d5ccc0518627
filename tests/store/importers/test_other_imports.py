"""PARAM's output, published tables and our own Parquet become records."""

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from store import query
from store.importers import IMPORTERS, Imported, UnreadableLine, facts, importer_of, text
from store.ingest import ingest
from store.operators import operator_name
from store.query import fetch
from tests.packed import pack
from tests.store.peer_records import peer_record
from tests.tiers import first_of

PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "data" / "published-speedups.json"
TENSORS = {"args": [{"type": "tensor", "dtype": "float", "shape": [4, 8]}, {"type": "int", "value": 1}]}


def read(path):
    importer = importer_of(path)
    with path.open("rb") as file:
        return importer.name, list(importer.records(file, path))


def param_file(path, lines, device="cpu", iteration=3):
    setup = {
        "run_options": {"device": device, "iteration": iteration, "warmup": 2},
        "sys_info": {"hostname": "bench-1", "pytorch_version": "2.9.1"},
        "start_time": "2026-01-31T12:00:00",
    }
    path.write_text("".join(json.dumps(line) + "\n" for line in [setup, *lines, {"finish_time": "later"}]))
    return path


def op(metrics, name="aten::add", of=TENSORS):
    return {"op_name": name, "id": "0:0:0", "metric": metrics, "config": {"build": None, "input": of}}


def times(warmup, measure, memory=()):
    return {"warmup.time": warmup, "measure.time": measure, "measure.gpu.memory": list(memory)}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A home of files of all kinds was ingested."""
    home = tmp_path_factory.mktemp("others")
    param_file(home / "result.json", [op({"forward": times([9.0, 5.0], [2.0, 4.0, 3.0])})])
    (home / "table.json").write_text(json.dumps(TABLE))
    (home / "talk.csv").write_text("model,speedup\na,2.0\nb,8.0\n")
    facts.write(home / "talk.csv", {"baseline": "inductor", "origin": "a talk", "backend": "openxla+dynamo"})
    rows = ["model,speedup", "good,2.0", "good,3.0", "b,nan", "c,1,5", "d,", "", ",4.0", "last,8.0"]
    (home / "bad.csv").write_bytes("\r\n".join(rows).encode() + b"\r\nf,\xff\n")
    pq.write_table(pa.table({"x": [1]}), home / "other.parquet")
    (home / "torn.parquet").write_bytes(b"PAR1 and no more")
    pq.write_table(pa.table({"record": ["{}", "[1]", "{torn", None]}), home / "ours.parquet")
    cut = b"".join(b"m%d,1.5\n" % number for number in range(3000))
    (home / "cut.csv.gz").write_bytes(gzip.compress(b"model,speedup\n" + cut)[:-9])
    return ingest([home], home / "store")


@pytest.fixture(scope="module")
def con(report):
    with query.connect(report.snapshot) as opened:
        yield opened


@pytest.fixture
def rejected(report):
    """What was rejected of a file."""
    return lambda name: [line for line in report.rejected if Path(line.path).name == name]


def test_param_times_are_samples_in_seconds(con):
    (row,) = fetch(con, "FROM result_rows")
    kinds = fetch(con, "SELECT list(kind ORDER BY block) AS kinds FROM samples")
    assert (row["suite"], row["model"], row["backend"], row["test"]) == (
        "operators",
        "aten::add(float[4,8], 1)",
        "eager",
        "eval",
    )
    assert (row["latency_s"], row["steady_n"], row["status"], row["source"]) == (0.003, 3, "ok", "param")
    assert (row["torch"], row["host"], str(row["run_started"])) == ("2.9.1", "bench-1", "2026-01-31 12:00:00")
    assert kinds == [{"kinds": ["first", "warmup", "steady", "steady", "steady"]}]


def test_a_backward_pass_is_a_workload_of_its_own(tmp_path):
    line = op({"forward": times([1.0], [2.0]), "backward": times([1.0], [4.0])})
    _, found = read(param_file(tmp_path / "result.json", [line], iteration=1))
    names = [(each.record["model"]["model_name"], each.record["experiment"]["test"]) for each in found]
    assert names == [("aten::add(float[4,8], 1)", "eval"), ("aten::add(float[4,8], 1) backward", "train")]


def test_one_mean_of_many_iterations_says_so(tmp_path):
    line = op({"forward": times([5.0], [2.0], [64.0])})
    _, (only,) = read(param_file(tmp_path / "result.json", [line], device="cuda:0", iteration=100))
    assert "mean of 100 iterations" in only.record["warnings"][0]
    assert only.record["experiment"]["accelerator"] == "cuda"
    assert only.record["metrics"]["peak_memory_bytes"] == [64 * 2**20]


def test_an_operator_is_named_by_its_inputs():
    kwargs = {"args": [], "kwargs": {"dim": {"type": "int", "value": -1}}}
    nested = {"args": [{"type": "genericlist", "value": [TENSORS["args"][0], {"type": "bool", "value": True}]}]}
    assert operator_name("aten::sum", {"build": None, "input": kwargs}) == "aten::sum(dim=-1)"
    assert operator_name("aten::cat", {"input": nested}) == "aten::cat([float[4,8], True])"
    long = [operator_name("op", {"input": {"args": [{"type": "tensor", "shape": [size] * 99}]}}) for size in (1, 2)]
    assert long[0] != long[1]
    assert max(map(len, long)) < 140


def test_a_csv_with_a_heading_that_is_none_has_no_rows():
    found = list(text.records_of_rows(io.BytesIO(b"a,b\n"), b"model,\xff\n", lambda _number, row: [row]))
    assert [(each.line_number, each.reason) for each in found] == [(1, "not UTF-8: invalid start byte at byte 6")]


def test_a_row_is_read_by_its_headings_and_a_bad_one_costs_no_other():
    rows = io.BytesIO(b"1,2\n3,4,5\n\n6\n")
    first, bad, short = text.records_of_rows(rows, b"a,b\n", lambda number, row: [row | {"number": number}])
    assert (first.record, short.record) == ({"a": "1", "b": "2", "number": 2}, {"a": "6", "number": 5})
    assert isinstance(bad, UnreadableLine)


def test_a_param_line_of_another_form_is_named(tmp_path):
    path = param_file(
        tmp_path / "result.json", [op({"forward": times([], ["fast"])}), op({"forward": times([], [1.0])})]
    )
    _, found = read(path)
    assert [type(each) for each in found] == [UnreadableLine, Imported]
    assert found[0].line_number == 2


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published tables are not in ../shared/data")
def test_the_published_tables_give_their_geomeans(tmp_path):
    with query.connect(ingest([PUBLISHED], tmp_path / "store").snapshot) as con:
        found = fetch(con, "FROM reported_geomeans")
        assert fetch(con, "FROM result_rows") == []
        (tpu,) = fetch(con, "FROM reported_speedups WHERE model = 'resnet50' AND accelerator = 'tpu'")
    rounded = {(row["origin"], row["column_name"]): (row["n"], round(row["geomean"], 5)) for row in found}
    assert rounded == {
        ("pytorch/pytorch#87741", "trace_once"): (10, 1.38101),
        ("pytorch/pytorch#87741", "trace_every_time"): (10, 1.02324),
        ("pytorch/pytorch#88904", "trace_once"): (10, 1.50389),
        ("pytorch/pytorch#88904", "trace_every_time"): (10, 1.01261),
        ("pytorch/pytorch#87741, comment", "speedup"): (9, 1.33788),
    }
    assert all(row["published_geomean"] == round(row["geomean"], 5) for row in found)
    assert (tpu["reported_latency_s"], tpu["reported_baseline_latency_s"]) == (0.01389865, 0.01545586)
    assert tpu["baseline"] == "lazy"


TABLE = {
    "source": "somewhere#1",
    "test": "training",
    "baseline": "eager",
    "columns": ["fast"],
    "speedup": {"a": [2.0], "b": [8.0], "c": [None], "d": [0.0]},
}


def test_a_table_is_against_its_own_baseline_and_a_gap_is_no_number(con):
    (row,) = fetch(con, "FROM reported_geomeans WHERE origin = 'somewhere#1'")
    assert (row["baseline"], row["test"], row["n"], row["geomean"]) == ("eager", "train", 2, pytest.approx(4.0))


@pytest.mark.parametrize("change", [{"test": "exam"}, {"columns": ["fast", "slow"]}, {"speedup": {"a": "fast"}}])
def test_a_table_that_does_not_fit_is_named(tmp_path, change):
    path = tmp_path / "table.json"
    path.write_text(json.dumps([TABLE | change, TABLE]))
    _, found = read(path)
    assert [type(each) for each in found][:2] == [UnreadableLine, Imported]
    assert "somewhere#1" in found[0].reason


def test_a_csv_of_models_and_speedups_is_a_table(con):
    (row,) = fetch(con, "FROM reported_geomeans WHERE origin = 'a talk'")
    assert (row["origin"], row["baseline"], row["backend"], row["geomean"]) == (
        "a talk",
        "inductor",
        "openxla+dynamo",
        pytest.approx(4.0),
    )


def test_a_bad_row_of_a_csv_is_named_and_costs_no_other(con, rejected):
    """A model of two rows had its last number without a word, `1,5` was 1, and an empty cell cost the whole file."""
    assert {line.line_number: line.reason for line in rejected("bad.csv")} == {
        3: "model good is also in an earlier line",
        4: "speedup is 'nan', which is not a number",
        5: "3 cells for 2 headings",
        6: "speedup is '', which is not a number",
        8: "no model name",
        10: "not UTF-8: invalid start byte at byte 2",
    }
    assert rejected("bad.csv")[0].byte_offset == len("model,speedup\r\ngood,2.0\r\n")
    sql = """SELECT model, reported_speedup AS speedup FROM reported_speedups
    WHERE model IN ('good', 'b', 'c', 'd', '', 'last', 'f') AND origin <> 'a talk' AND origin <> 'somewhere#1'
    ORDER BY speedup"""
    assert fetch(con, sql) == [{"model": "good", "speedup": 2.0}, {"model": "last", "speedup": 8.0}]


def test_a_parquet_file_of_others_is_refused(rejected):
    reasons = [line.reason[:12] for name in ("other.parquet", "torn.parquet") for line in rejected(name)]
    assert reasons == ["no column `r", "not Parquet,"]


def test_a_parquet_row_that_is_no_record_is_named(rejected):
    assert sorted(line.line_number for line in rejected("ours.parquet")) == [1, 2, 3, 4]


def test_lines_of_ours_and_of_the_peer_are_no_importers(tmp_path):
    for name in ("results.jsonl", "peer.jsonl", "notes.json", "data.csv"):
        (tmp_path / name).write_text('{"model": {"model_name": "m"}, "metrics": {}}\n')
        assert importer_of(tmp_path / name) is None


def test_no_importer_is_renamed():
    """Its name is the source of the records that it has made."""
    assert {"hud-csv", "hud-json", "param", "table", "parquet"} <= set(IMPORTERS)


def _parquet(record):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"record": [json.dumps(record)]}), sink)
    return sink.getvalue().to_pybytes()


FILES = {
    "table.csv": b"model,speedup\nresnet18,1.5\nbert,0.5\n",
    "inductor_torchbench_amp_training_cuda_performance.csv": b"dev,name,batch_size,speedup\ncuda,alexnet,4,1.5\n",
    "ours.parquet": _parquet(peer_record()),
}


@pytest.mark.parametrize("suffix", first_of([".gz", ".zst"]))
def test_a_compressed_file_of_another_tool_gives_the_records_of_the_plain_one(tmp_path, suffix):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    ingest([tmp_path], tmp_path / "store")
    before = _rows(tmp_path / "store")
    assert len(before) == 4
    for name, data in FILES.items():
        pack(tmp_path / f"{name}{suffix}", data)
        (tmp_path / name).unlink()
    report = ingest([tmp_path], tmp_path / "packed-store")
    assert (report.exit_code, _rows(tmp_path / "packed-store")) == (0, before)


def test_a_compressed_file_of_another_tool_that_is_cut_is_named(con, rejected):
    assert ["cannot be unpacked" in line.reason for line in rejected("cut.csv.gz")] == [True]
    [(records_n,)] = con.execute("SELECT count(*) FROM records WHERE regexp_matches(model, '^m[0-9]+$')").fetchall()
    assert records_n > 1000


def _rows(store):
    with query.connect(query.current_snapshot(store)) as con:
        return con.execute("SELECT record_id, model, status FROM records ORDER BY ALL").fetchall()
