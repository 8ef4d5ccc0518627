"""Lines and files that no tool of ours writes: good ones with a part replaced, repeated, cut or removed."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from store.record import FallbackOp, Graph, GraphBreak
from tests.store import hud_files
from tests.store.factory import make_record, plan_for
from tests.store.peer_records import peer_record

SEED = 22
"""What is drawn is the same each time. A new seed finds new faults; each becomes a test of its own."""

Path = tuple[str | int, ...]

HOSTILE = (
    '"\\ud800"',
    '"\\u0000"',
    '""',
    '"' + "x" * 70_000 + '"',
    '"<script>alert(1)</script>"',
    "NaN",
    "-Infinity",
    "1e400",
    "1e308",
    "-1e308",
    "5e-324",
    "-1",
    "0",
    "0.5",
    str(2**63),
    str(-(2**63) - 1),
    str(2**31),
    "9" * 400,
    "9" * 5000,
    "[" * 400 + "]" * 400,
    "[" * 5000 + "]" * 5000,
    '{"a":' * 400 + "1" + "}" * 400,
    '{"of":1}',
    "{}",
    "[]",
    "[null]",
    '["\\ud800"]',
    "[[1]]",
    "null",
    "true",
    "5",
)
"""JSON, and what some tools write instead, where something else belongs."""
BROKEN = (b"\xff", b"\x00", b"\xef\xbb\xbf", b"\r", b"\x0b", b"\xed\xa0\x80", b"\xe2\x80\xa8", b",", b"}", b'"')
"""Bytes that stand in no line of JSON, or not just anywhere in one."""
_MARK = "\x01here\x01"


def property_of(body: Callable[[Any], None], strategy: st.SearchStrategy[Any], examples_n: int) -> None:
    """Run a test over so many examples."""
    drawn = settings(
        max_examples=examples_n,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # to find a smaller example takes minutes, and the whole one is printed
        suppress_health_check=list(HealthCheck),
    )
    seed(SEED)(drawn(given(strategy)(body)))()


def replaced(value: Any, path: Path, token: str) -> bytes:
    """Return JSON of a value with a token at a place, whatever the token is."""
    copy = json.loads(json.dumps(value))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = _MARK
    return json.dumps(copy).replace(json.dumps(_MARK), token).encode("utf-8", "surrogatepass")


def places(value: Any, begun: Path = ()) -> Iterator[Path]:
    """Give the place of each part of a value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield (*begun, name)
        yield from places(child, (*begun, name))


@st.composite
def changed(draw: st.DrawFn, values: Sequence[Any]) -> bytes:
    """Draw one of the values as JSON with something hostile in it."""
    value = draw(st.sampled_from(values))
    kind = draw(
        st.sampled_from(["value", "value", "value", "value", "unknown", "twice", "key", "cut", "bytes", "whole"])
    )
    if kind == "value":
        return _with_value(draw, value)
    token, whole = draw(st.sampled_from(HOSTILE)).encode(), json.dumps(value).encode()
    name = draw(st.sampled_from(sorted(value if isinstance(value, dict) else value[0])))
    at = draw(st.integers(min_value=0, max_value=len(whole)))
    return {
        "unknown": whole[:-1] + b', "unknown": ' + token + b"}",
        "twice": whole[:-1] + b", " + json.dumps(name).encode() + b": " + token + b"}",
        "key": whole[:-1] + b', "\\ud800": NaN}',
        "cut": whole[:at],
        "bytes": whole[:at] + draw(st.sampled_from(BROKEN)) + whole[at:],
        "whole": token,
    }[kind]


def _with_value(draw: st.DrawFn, value: Any) -> bytes:
    """Replace one part, half of the time by something of its own kind; half of the records stay others of their id."""
    path = draw(st.sampled_from(sorted(places(value), key=repr)))
    fitting = [token for token in HOSTILE if _kind(token) == _kind(json.dumps(_at(value, path)))] or HOSTILE
    token = draw(st.sampled_from(draw(st.sampled_from([fitting, HOSTILE]))))
    if isinstance(value, dict) and "record_id" in value and draw(st.booleans()):
        value = value | {"record_id": f"id-{draw(st.integers(0, 2**60))}"}
    return replaced(value, path, token)


def _kind(token: str) -> str:
    return "number" if token[0] in "-0123456789NI" else token[0]


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _own(**changes: Any) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(make_record(**changes)))


_FOUND = _own(
    model="dcgan",
    backend="openxla+dynamo",
    fallback_ops=[FallbackOp(op="nonzero", klass="no_lowering", calls_per_iteration=1.0, calls_compile=2)],
    graph_breaks=[GraphBreak(reason="a call", count=2)],
    graphs=[Graph(kind="hlo", fingerprint="f00d", ops=3, op_histogram={"add": 3}, flops=2.0)],
) | {
    "artifacts": [{"kind": "hlo", "path": "a/b.txt", "repeat": 0, "bytes": 5}],
    "findings": [{"code": "noisy", "text": "it is", "next_step": "wait"}],
    "finished_at": 1_760_000_100.0,
    "reproduce": "xlabench run",
}
RECORDS = [
    _own(),
    _own(model="vgg16", status="oom", message="no room"),
    _FOUND,
    peer_record(),
    peer_record(error="SKIP"),
]
"""What the lines of a results.jsonl are made of; most of what is made of one has its record_id."""


def lines(min_size: int, max_size: int) -> st.SearchStrategy[list[bytes]]:
    """Draw the lines of a results.jsonl."""
    return st.lists(changed(RECORDS).map(_one_line), min_size=min_size, max_size=max_size)


def _one_line(data: bytes) -> bytes:
    return data.replace(b"\n", b"")


def run_file() -> dict[str, Any]:
    """Return a good run.json."""
    record = make_record()
    return {
        "run": {"run_id": "run-1", "label": "nightly", "command": "xlabench run"},
        "timestamp": 1.76e9,
        "environments": [msgspec.to_builtins(record.environment)],
        "plan": msgspec.to_builtins(plan_for([record])),
        "plan_id": "p",
        "settings": {"repeat": 6},
    }


_TENSOR = {"type": "tensor", "dtype": "float", "shape": [4, 8]}
_PARAM_SETUP = {
    "run_options": {"device": "cpu", "iteration": 3, "warmup": 2},
    "sys_info": {"hostname": "bench-1", "pytorch_version": "2.9.1"},
    "start_time": "2026-01-31T12:00:00",
}
_PARAM_LINE = {
    "op_name": "aten::add",
    "id": "0:0:0",
    "metric": {"forward": {"warmup.time": [9.0], "measure.time": [2.0, 4.0], "measure.gpu.memory": [64.0]}},
    "config": {"build": None, "input": {"args": [_TENSOR, {"type": "genericlist", "value": [_TENSOR]}]}},
}
_TABLE = {
    "source": "somewhere#1",
    "test": "training",
    "baseline": "eager",
    "columns": ["fast", "slow_s", "eager_s"],
    "speedup": {"a": [2.0, 1.0, 2.0], "b": [8.0, 1.0, 8.0]},
    "geomean": [4.0],
}
_HUD = [hud_files.metric("resnet18", "speedup", 1.5), hud_files.metric("resnet18", "accuracy", "pass")]
_CELLS = (
    "",
    "-1",
    "nan",
    "inf",
    "1e400",
    "9" * 400,
    "9" * 5000,
    "x" * 200_000,
    '"',
    '"a\nb"',
    "\x00",
    "é",
    "=1+1",
    "pass",
)


def _joined(parts: Sequence[bytes]) -> bytes:
    return b"\n".join(parts) + b"\n"


def _json_lines(good: Sequence[Any]) -> st.SearchStrategy[bytes]:
    """Draw a file of the good lines in their order, hostile ones among them."""
    whole = [json.dumps(value).encode() for value in good]
    bad = st.lists(changed(good).map(_one_line), min_size=1, max_size=4)
    return st.builds(lambda first, last: _joined([*first, *whole, *last]), st.just([]) | bad, bad)


@st.composite
def _csv(draw: st.DrawFn, header: str, rows: Sequence[str]) -> bytes:
    """Draw a file of cells, some of them hostile."""
    made = [header]
    for row in rows:
        cells = row.split(",")
        for _ in range(draw(st.integers(0, 2))):
            cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(_CELLS))
        made.append(",".join(cells[: draw(st.integers(0, len(cells) + 1))] if draw(st.booleans()) else cells))
    whole = "\n".join(made).encode() + b"\n"
    at = draw(st.integers(0, len(whole)))
    kind = draw(st.sampled_from(["whole", "whole", "cut", "bytes"]))
    if kind == "cut":
        return whole[:at]
    return whole[:at] + draw(st.sampled_from(BROKEN)) + whole[at:] if kind == "bytes" else whole


def _parquet_of(texts: Sequence[str | None], compression: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"record": pa.array(texts, pa.string())}), sink, compression=compression)
    return sink.getvalue()


@st.composite
def _parquet(draw: st.DrawFn) -> bytes:
    """Draw a Parquet file: with hostile records in it, or with bits of the file itself flipped, or cut."""
    texts = [data.decode("utf-8", "replace") for data in draw(st.lists(changed(RECORDS), max_size=4))]
    compression = draw(st.sampled_from(["none", "snappy", "zstd"]))
    data = bytearray(_parquet_of([*texts, json.dumps(RECORDS[0]), None], compression))
    for _ in range(draw(st.integers(0, 3))):
        data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(data[: draw(st.integers(4, len(data)))] if draw(st.booleans()) else data)


_CSV_ROWS = [
    hud_files.performance("resnet18", 1.5, 2.0),
    hud_files.performance("vgg16", 0.5, 2.0),
    hud_files.failed("a"),
]
_STEM = "inductor_torchbench_amp_training_cuda"
_FILES = {
    "run.json": ("run.json", changed([run_file()])),
    "param": ("param.json", _json_lines([_PARAM_SETUP, _PARAM_LINE])),
    "hud-json": ("hud.json", _json_lines(_HUD)),
    "hud-csv": (f"{_STEM}_performance.csv", _csv(hud_files.PERFORMANCE, _CSV_ROWS)),
    "hud-csv accuracy": (
        f"{_STEM}_accuracy.csv",
        _csv(hud_files.ACCURACY, [hud_files.accuracy("resnet18", "pass"), hud_files.accuracy("vgg16", "OOM")]),
    ),
    "table": ("table.json", changed([_TABLE]) | changed([[_TABLE, _TABLE]])),
    "table csv": ("table.csv", _csv("model,speedup", ["a,2.0", "b,8.0"])),
    "parquet": ("export.parquet", _parquet()),
}
FILES: dict[str, st.SearchStrategy[tuple[str, bytes]]] = {
    kind: st.tuples(st.just(name), data) for kind, (name, data) in _FILES.items()
}
"""By importer: what a file of it is called, and what stands in it."""
