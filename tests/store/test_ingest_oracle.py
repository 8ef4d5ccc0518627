"""The SQL of store/load gives the rows that the Python of tests/store/oracle gives, for any record."""

import json
import math

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from store import query
from store.ingest import ingest
from store.ingest.decode import BadLine, decode
from store.ingest.lines import content_of, is_foreign
from tests.store.factory import demo_records, make_record
from tests.store.oracle.rows import rows_of
from tests.store.peer_records import peer_record

TABLES = {
    "samples": "samples",
    "record_fallback_ops": "fallback_ops",
    "record_graph_breaks": "graph_breaks",
    "record_graphs": "graphs",
    "record_artifacts": "artifacts",
    "record_findings": "findings",
    "record_metrics": "metrics",
}

times = st.one_of(st.none(), st.floats(min_value=-0.125, max_value=16384.0, allow_nan=False, width=32))
series = st.one_of(st.none(), st.lists(times, max_size=12))
texts = st.one_of(
    st.none(), st.text(alphabet=st.sampled_from("ab \n\r\t\x0b\x0c\x1c\x85\u2028\u2003é'\"\\"), max_size=12)
)
counts = st.one_of(st.none(), st.integers(min_value=-3, max_value=9))


@st.composite
def blocks(draw, n):
    """Return parallel arrays that fit `n` blocks, mostly."""
    size = draw(st.sampled_from([n, n, n, n, max(0, n - 1), n + 1]))
    kinds = st.sampled_from(["first", "warmup", "steady", "steady", "steady"])
    return {
        "kind": draw(st.lists(kinds, min_size=size, max_size=size)),
        "round": draw(st.one_of(st.just(list(range(n))), st.lists(counts, max_size=3))),
        "compiles": draw(st.one_of(st.just([0] * n), st.lists(counts, max_size=3))),
    }


@st.composite
def metrics_of(draw):
    """Return metrics with known names and others; a bare number counts as one entry."""
    found = {"total_time": draw(series)}
    if draw(st.booleans()):
        found["per_iter_time"] = draw(st.one_of(st.just(found["total_time"]), series))
    for name in draw(st.sets(st.sampled_from(sorted(_FURTHER)), max_size=5)):
        found[name] = draw(st.one_of(series, times))
    error = draw(st.one_of(st.none(), st.just("SKIP"), texts))
    return found if error is None else found | {"error": error}


_FURTHER = {
    "trace_per_iter_time",
    "xla_CompileTime_time_s",
    "xla_ExecuteTime_time_s",
    "xla_ExecutionTime_time_s",
    "dynamo_compile_time_s",
    "graphs_number",
    "load_time_s",
    "peak_memory_bytes",
    "speedup",
    "xla_ExecuteTime_number",
}


@st.composite
def own(draw):
    """Return a record of ours, changed in what decides about its rows."""
    record = msgspec.to_builtins(make_record())
    record["metrics"] = draw(metrics_of())
    count = len(record["metrics"]["total_time"] or [])
    record["measurement"]["blocks"] = draw(blocks(count))
    record["iterations_per_run"] = draw(st.sampled_from([1, 1, 2, 3, 0, None]))
    record["status"] = draw(
        st.sampled_from(["ok", "ok", "ok", "never_steady", "oom", "timeout", "skipped", "reported", "x"])
    )
    message = draw(texts)
    record["error"] = None if message is None else {"phase": "measure", "type": "T", "message": message}
    record["experiment"] |= {
        "xla": draw(st.sampled_from([None, "PJRT", ""])),
        "dynamo": draw(st.sampled_from([None, "openxla", "inductor", "eager", ""])),
        "torch_xla2": draw(st.sampled_from([None, None, "jax"])),
        "amp_dtype": draw(st.sampled_from([None, "bfloat16", ""])),
        "weights": draw(st.sampled_from([None, "random", "pretrained"])),
        "disable_tf32": draw(st.sampled_from([None, True, False])),
        "accelerator_model": draw(st.sampled_from([None, "", "Other CPU"])),
    }
    record["variant"] = draw(st.sampled_from([None, "", "inductor"]))
    record["timestamp"] = draw(st.floats(min_value=0, max_value=4e9, allow_nan=False))
    record["graphs"] = draw(
        st.sampled_from([[], [{"kind": "fx", "fingerprint": "f", "ops": 3, "op_histogram": {"add": 2}}]])
    )
    return record


@st.composite
def foreign(draw):
    """Return a record of the peer's."""
    record = peer_record(backend=draw(st.sampled_from(["eager", "inductor", "openxla+dynamo", "openxla+lazytensor"])))
    record["metrics"] = draw(st.one_of(st.none(), metrics_of()))
    record["iterations_per_run"] = draw(st.sampled_from([1, 2, None]))
    record["experiment"]["torch_xla2"] = draw(st.sampled_from([None, True, False, "jax"]))
    record["experiment"]["test"] = draw(st.sampled_from(["eval", "train", "inference", "training"]))
    return record


def expected(lines):
    """Return the oracle's rows by table, of the lines that are records."""
    found = {name: [] for name in ("records", *TABLES)}
    seen = {}
    for text in lines:
        try:
            line = decode(text)
        except BadLine:
            continue
        content = content_of(line)
        ordinal = seen.get(content, 0)
        seen[content] = ordinal + is_foreign(line)
        rows = rows_of(line, content, ordinal)
        found["records"].append(rows.record)
        for table, field in TABLES.items():
            found[table] += getattr(rows, field)
    return found


def same(one, other):
    """Tell equal values; sums and means may differ in their last places."""
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def differing(con, table, rows):
    """Return what differs: (record_id, column, stored, expected)."""
    cursor = con.execute(f"SELECT * FROM {table} ORDER BY ALL")
    names = [column[0] for column in cursor.description]
    stored = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    # The lists of blocks are what view `samples` shows.
    order = [name for name in names if name not in ("record", "op_histogram") and not name.startswith("block_")]
    stored.sort(key=lambda row: repr([row[name] for name in ("record_id", *order[1:4])]))
    rows = sorted(rows, key=lambda row: repr([row.get(name) for name in ("record_id", *order[1:4])]))
    if len(stored) != len(rows):
        return [(table, "rows", len(stored), len(rows))]
    return [
        (table, name, got[name], want.get(name))
        for got, want in zip(stored, rows, strict=True)
        for name in order
        if not same(got[name], want.get(name))
    ]


def check(folder, lines):
    path = folder / "results.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    ingest([path], folder / "store")
    rows = expected(lines)
    with query.connect(query.current_snapshot(folder / "store")) as con:
        assert [each for table, wanted in rows.items() for each in differing(con, table, wanted)] == []


def _numbered(records):
    """Give each record of ours an id of its own."""
    for number, record in enumerate(records):
        if "record_id" in record:
            record["record_id"] = f"r{number:03}"
    return [json.dumps(record).encode() for record in records]


def test_the_demonstration_runs_give_the_oracles_rows(tmp_path):
    check(tmp_path, [msgspec.json.encode(each) for each in demo_records("run-1", 1.7e9, 1.0, "nightly")])


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(records=st.lists(st.one_of(own(), own(), foreign()), min_size=15, max_size=40))
def test_any_records_give_the_oracles_rows(tmp_path_factory, records):
    check(tmp_path_factory.mktemp("oracle"), _numbered(records))


def test_non_finite_numbers_give_the_oracles_rows(tmp_path):
    values = [1.0, 0.5, math.nan, math.inf, 0.25, 0.25, 0.5]
    own_record = msgspec.to_builtins(make_record())
    own_record["metrics"]["total_time"] = values
    own_record["measurement"]["blocks"]["kind"] = ["first", "warmup", *["steady"] * 5]
    check(tmp_path, _numbered([own_record, peer_record(total_time=values), peer_record(total_time=[math.nan] * 5)]))
