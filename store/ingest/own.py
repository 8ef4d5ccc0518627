"""Validate lines of ours straight from their bytes: the strict part of what `store.ingest.decode` accepts.

What passes here needs no second look: every value that the SQL reads has its type. Anything else goes through `decode`,
which knows the reasons.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from store.ingest import decode

_Seconds = Annotated[float, msgspec.Meta(ge=decode.EARLIEST_S, le=decode.LATEST_S)]
_Numbers = decode.Numbers | None


class OwnExperiment(decode.ReadExperiment, kw_only=True, gc=False):
    """`experiment` of a record of ours."""

    test: Literal["eval", "train", "inference", "training"]
    torch_xla2: str | None = None


class OwnMetrics(msgspec.Struct, gc=False):
    """`metrics`: lists, as our runner writes them."""

    total_time: _Numbers = None
    per_iter_time: _Numbers = None
    trace_per_iter_time: _Numbers = None
    xla_CompileTime_time_s: _Numbers = None  # noqa: N815 (the peer's key)
    xla_ExecuteTime_time_s: _Numbers = None  # noqa: N815 (the peer's key)
    xla_ExecutionTime_time_s: _Numbers = None  # noqa: N815 (the same in the peer's README)
    dynamo_compile_time_s: _Numbers = None
    graphs_number: _Numbers = None
    runtime_start_s: _Numbers = None
    load_time_s: _Numbers = None
    start_time_s: _Numbers = None
    peak_memory_bytes: _Numbers = None
    setup_peak_memory_bytes: _Numbers = None
    error: str | None = None


class OwnRecord(decode.ReadRecord, kw_only=True, gc=False):
    """A record with the identity that ours have."""

    record_id: str
    experiment_id: str
    run: decode.ReadRun
    status: str
    environment: decode.ReadEnvironment
    experiment: OwnExperiment
    timestamp: _Seconds
    finished_at: _Seconds | None = None
    metrics: OwnMetrics | None = None  # type: ignore[assignment]


_decoder = msgspec.json.Decoder(OwnRecord)
_REFUSED = (UnicodeDecodeError, msgspec.DecodeError, RecursionError)


def all_own(data: bytes, count: int) -> bool:
    """Tell whether these are `count` lines, each a record of ours in standard JSON."""
    try:
        data.decode("utf-8")
        lines = data.splitlines()
        for line in lines:  # one by one: to keep what each gives would cost four times as much as to read it
            _decoder.decode(line)
    except _REFUSED:
        return False
    return len(lines) == count


def is_own(line: bytes) -> bool:
    """Tell whether a line is a record of ours in standard JSON."""
    try:
        line.decode("utf-8")
        _decoder.decode(line)
    except _REFUSED:
        return False
    return True
