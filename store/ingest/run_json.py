"""The parts that ingest reads of a run.json (run, environments, plan) and of a pruned.json (time of the pruning)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from store.ingest.decode import EARLIEST_S, LATEST_S, BadLine, Int, ReadEnvironment, ReadRun, ReadWorkload


class ReadConfig(ReadWorkload, msgspec.Struct, kw_only=True):  # type: ignore[misc]  # its fields are those of `WORKLOAD`
    """`config` of a plan entry as read."""

    suite_name: str
    model_name: str
    test: str
    accelerator: str
    dtype: str = "float32"
    batch_size: Int | None = None
    optimizer: str | None = None
    loss: str | None = None
    matmul_precision: str = "highest"
    cache: str = "cold"


class ReadEntry(msgspec.Struct, kw_only=True):
    """A plan entry as read."""

    experiment_id: str
    config: ReadConfig
    variant: str
    backend: str
    environment: str
    group: str
    skip_reason: str | None = None


_Time = Annotated[float, msgspec.Meta(ge=EARLIEST_S, le=LATEST_S)]


class ReadRunFile(msgspec.Struct, kw_only=True):
    """run.json as read; unknown keys are ignored."""

    run: ReadRun
    timestamp: _Time
    environments: list[dict[str, Any]]
    plan: list[ReadEntry]
    plan_id: str
    settings: dict[str, Any] = msgspec.field(default_factory=dict)


def check_run_file(data: bytes) -> str:
    """Return the text of a run.json that has every key that is read, of its type.

    Raises:
        BadLine: not JSON, or a key is missing or of a wrong type.
    """
    try:
        run_file = msgspec.json.decode(data, type=ReadRunFile)
        msgspec.convert(run_file.environments, list[ReadEnvironment])
        return data.decode()
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadLine(f"run.json: {error}") from None


class ReadPruned(msgspec.Struct):
    """pruned.json as read."""

    run_id: str
    pruned_at: _Time

    @property
    def time(self) -> datetime:
        """Return when the samples were pruned, in UTC."""
        return datetime.fromtimestamp(self.pruned_at, UTC).replace(tzinfo=None)


def check_pruned(data: bytes) -> ReadPruned:
    """Return the content of a pruned.json.

    Raises:
        BadLine: not JSON, or a key is missing or of a wrong type.
    """
    try:
        return msgspec.json.decode(data, type=ReadPruned)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadLine(f"pruned.json: {error}") from None
