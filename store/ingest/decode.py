"""Read one line of a JSONL file: a record of ours, of the peer's runner, or of a later version of ours."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec

from store.errors import Signal
from store.identity import WORKLOAD
from store.importers import text
from store.metrics import SCALARS
from store.record import SCHEMA_VERSION
from store.record.experiment import TESTS

MOST_INT = 2**48
"""No whole number of a record is larger; the sums of a store fit into a BIGINT."""
Float = Annotated[float, msgspec.Meta(ge=-text.MOST, le=text.MOST)]
Numbers = list[Float | None]
Int = Annotated[int, msgspec.Meta(ge=-MOST_INT, le=MOST_INT)]
MOST_SMALL_INT = 2**31 - 1
SmallInt = Annotated[int, msgspec.Meta(ge=-(2**31), le=MOST_SMALL_INT)]


EARLIEST_S, LATEST_S = 0.0, 253_402_300_799.0
"""Times of a record: from 1970 to the end of the year 9999, Unix seconds."""


class ReadModel(msgspec.Struct):
    """`model` as read."""

    model_name: str
    suite_name: str = "unknown"


ReadWorkload: Any = msgspec.defstruct(
    "ReadWorkload",
    [(setting.name, str | None if "{}" in setting.words else bool | None, None) for setting in WORKLOAD],
    kw_only=True,
)
"""The settings of what is timed, of an `experiment` or a planned `config`, as read; None is unknown or the default."""


class ReadExperiment(ReadWorkload, msgspec.Struct, kw_only=True):  # type: ignore[misc]  # its fields are those of `WORKLOAD`
    """`experiment` as read; a key that is absent is unknown."""

    accelerator: str
    test: str
    accelerator_model: str | None = None
    xla: str | None = None
    xla_flags: str | None = None
    dynamo: str | None = None
    torch_xla2: str | bool | None = None
    batch_size: Int | None = None
    requested_batch_size: Int | None = None
    enable_functionalization: bool | None = None
    dtype: str | None = None
    optimizer: str | None = None
    loss: str | None = None
    matmul_precision: str | None = None


class ReadRun(msgspec.Struct):
    """`run` as read."""

    run_id: str
    label: str | None = None
    command: str | None = None


class ReadError(msgspec.Struct):
    """`error` as read."""

    message: str = ""
    phase: str | None = None
    type: str | None = None


class ReadEnvironment(msgspec.Struct, kw_only=True):
    """`environment` as read: the facts that get a column."""

    name: str
    torch: str | None = None
    torch_xla: str | None = None
    host: str | None = None
    machine_id: str | None = None
    accelerator: str | None = None
    threads: SmallInt | None = None
    variables: Any = None


class ReadBlocks(msgspec.Struct):
    """`measurement.blocks` as read."""

    kind: list[str] = msgspec.field(default_factory=list)
    compiles: list[Int | None] = msgspec.field(default_factory=list)
    executions: list[Int | None] = msgspec.field(default_factory=list)
    round: list[SmallInt | None] = msgspec.field(default_factory=list)
    inner_loops: list[Int | None] = msgspec.field(default_factory=list)


class ReadTurns(msgspec.Struct):
    """`measurement.quiet.turns` as read."""

    reason: list[str | None] = msgspec.field(default_factory=list)


class ReadQuiet(msgspec.Struct):
    """`measurement.quiet` as read."""

    rule: SmallInt
    policy: str | None = None
    turns: ReadTurns = msgspec.field(default_factory=ReadTurns)
    at_least_s: Float | None = None
    at_most_s: Float | None = None


class ReadMeasurement(msgspec.Struct):
    """`measurement` as read."""

    cache: str | None = None
    start: str | None = None
    instrumented: bool | None = None
    quiet: ReadQuiet | None = None
    blocks: ReadBlocks = msgspec.field(default_factory=ReadBlocks)


class ReadFallbackOp(msgspec.Struct):
    """One of `fallback_ops` as read."""

    op: str
    klass: str
    calls_per_iteration: Float | None = None
    calls_compile: Int | None = None
    time_s: Float | None = None
    profiled_iteration_s: Float | None = None
    call_site: str | None = None


class ReadGraphBreak(msgspec.Struct):
    """One of `graph_breaks` as read."""

    reason: str
    count: Int


class ReadGraph(msgspec.Struct):
    """One of `graphs` as read."""

    kind: str
    fingerprint: str
    ops: Int
    op_histogram: dict[str, Any] = msgspec.field(default_factory=dict)
    fusions: Int | None = None
    flops: Float | None = None
    bytes_accessed: Float | None = None


class ReadArtifact(msgspec.Struct):
    """One of `artifacts` as read."""

    kind: str
    path: str
    repeat: SmallInt | None = None
    bytes: Int | None = None


class ReadFinding(msgspec.Struct):
    """One of `findings` as read."""

    code: str
    text: str = ""
    next_step: str | None = None


class ReadRecord(msgspec.Struct, kw_only=True):
    """A record as read: the peer's keys are required, ours are optional, unknown keys are ignored here."""

    model: ReadModel
    experiment: ReadExperiment
    timestamp: float
    metrics: dict[str, Any] | None = None
    repeat: Int | None = None
    iterations_per_run: Int | None = None
    verification_code: str | None = None
    schema_version: int | None = None
    record_id: str | None = None
    experiment_id: str | None = None
    variant: str | None = None
    run: ReadRun | None = None
    source: str | None = None
    """Name of the importer that made the record; None: our own runner, or the peer's, wrote it."""
    purpose: str = "benchmark"
    twin_of: str | None = None
    replica: SmallInt = 0
    attempt: SmallInt = 1
    status: str | None = None
    error: ReadError | None = None
    environment: ReadEnvironment | None = None
    measurement: ReadMeasurement = msgspec.field(default_factory=ReadMeasurement)
    fallback_ops: list[ReadFallbackOp] = msgspec.field(default_factory=list)
    graph_breaks: list[ReadGraphBreak] = msgspec.field(default_factory=list)
    graphs: list[ReadGraph] = msgspec.field(default_factory=list)
    artifacts: list[ReadArtifact] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    findings: list[ReadFinding] = msgspec.field(default_factory=list)
    finished_at: float | None = None
    reproduce: str | None = None


ReadScalars: Any = msgspec.defstruct("ReadScalars", [(name, Numbers | None, None) for name in SCALARS], gc=False)
"""The entries of `metrics` that are one column each."""


class ReadMetrics(ReadScalars, msgspec.Struct, gc=False):  # type: ignore[misc]  # its further fields are those of `SCALARS`
    """`metrics` as our runner writes it; in other records an entry may be a bare number."""

    total_time: Numbers | None = None
    per_iter_time: Numbers | None = None
    trace_per_iter_time: Numbers | None = None
    xla_CompileTime_time_s: Numbers | None = None  # noqa: N815 (the peer's key)
    xla_ExecuteTime_time_s: Numbers | None = None  # noqa: N815 (the peer's key)
    xla_ExecutionTime_time_s: Numbers | None = None  # noqa: N815 (the same in the peer's README)
    dynamo_compile_time_s: Numbers | None = None
    error: str | None = None


class DecodedLine(NamedTuple):
    """A valid line: the typed record, the whole object, its readable part, and notes on what was left out."""

    record: ReadRecord
    raw: dict[str, Any]
    known: dict[str, Any]
    notes: list[str]


class BadLine(Signal):
    """The line is no record; the message says why."""


NUMERIC_METRICS = tuple(name for name in ReadMetrics.__struct_fields__ if name != "error")
"""Metrics that become columns; the others stay in the JSON of the record."""
_OPTIONAL = ("error", "measurement", "fallback_ops", "graph_breaks", "graphs", "artifacts", "warnings", "findings")


def decode(line: bytes) -> DecodedLine:
    """Return the record of one line.

    Raises:
        BadLine: not UTF-8, not JSON, no object, or a known key of a wrong type.
    """
    raw, notes = _parse(line)
    try:
        record, known, left_out = _convert(raw)
        _check(record)
    except msgspec.ValidationError as error:
        raise BadLine(str(error)) from None
    return DecodedLine(record, raw, known, notes + left_out)


def numbers(value: Any) -> Numbers:
    """Return a metric as a list: the peer's are lists, a bare number counts as one entry, None as none.

    Raises:
        BadLine: an entry is no number.
    """
    if value is None:
        return []
    entries = value if isinstance(value, list) else [value]
    try:
        return msgspec.convert(entries, Numbers)
    except msgspec.ValidationError as error:
        raise BadLine(f"metrics: {error}") from None


def _parse(line: bytes) -> tuple[dict[str, Any], list[str]]:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8: {error.reason} at byte {error.start}") from None
    notes: list[str] = []
    try:
        value = msgspec.json.decode(line)
    except RecursionError:
        raise BadLine("unreadable JSON: nested too deep") from None
    except msgspec.DecodeError as error:
        value, notes = _parse_python(line, str(error))
    if not isinstance(value, dict):
        raise BadLine(f"not an object but {type(value).__name__}")
    return value, notes


def _parse_python(line: bytes, first_error: str) -> tuple[Any, list[str]]:
    """Read what Python's json module writes beyond the standard: NaN and Infinity, which become null."""
    try:
        value, not_finite_n = text.read(line)
    except text.NotJson as error:
        raise BadLine(str(error)) from None
    if not not_finite_n:
        raise BadLine(f"not JSON: {first_error}")
    return value, [f"{not_finite_n} non-finite number(s) read as null"]


def _convert(raw: dict[str, Any]) -> tuple[ReadRecord, dict[str, Any], list[str]]:
    try:
        return msgspec.convert(raw, ReadRecord), raw, []
    except msgspec.ValidationError:
        version = raw.get("schema_version")
        if not isinstance(version, int) or version <= SCHEMA_VERSION:
            raise
    return _convert_newer(raw, version)


def _convert_newer(raw: dict[str, Any], version: int) -> tuple[ReadRecord, dict[str, Any], list[str]]:
    """Read a record of a newer schema; an optional part whose shape is unknown is left out, and a note says so."""
    known, left_out = dict(raw), []
    for name in _OPTIONAL:
        try:
            msgspec.convert({**_skeleton(raw), name: raw[name]} if name in raw else _skeleton(raw), ReadRecord)
        except msgspec.ValidationError:
            del known[name]
            left_out.append(f"{name} of schema version {version} is unknown to this version and was left out")
    return msgspec.convert(known, ReadRecord), known, left_out


def _skeleton(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: raw.get(name) for name in ("model", "experiment", "timestamp")}


def _check_metrics(metrics: dict[str, Any]) -> None:
    """Check that each numeric metric is a list of numbers, as most are, which is checked at once; or a bare number."""
    try:
        msgspec.convert(metrics, ReadMetrics)
    except msgspec.ValidationError:
        for name in NUMERIC_METRICS:
            numbers(metrics.get(name))


def _check(record: ReadRecord) -> None:
    _check_metrics(record.metrics or {})
    if record.record_id is not None and (
        record.run is None or record.experiment_id is None or record.environment is None or record.status is None
    ):
        raise BadLine("record_id without run, experiment_id, environment or status")
    if record.experiment.test not in TESTS:
        raise BadLine(f"experiment.test is {record.experiment.test!r}, not eval or train")
    for seconds in (record.timestamp, record.finished_at):
        if seconds is not None and not EARLIEST_S <= seconds <= LATEST_S:
            raise BadLine(f"a value is out of range: {seconds} is no time in Unix seconds")
