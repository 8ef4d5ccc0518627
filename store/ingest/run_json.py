"""Read a run.json into rows: the run, its environments and its plan."""

from __future__ import annotations

from typing import Any

import msgspec

from store.identity import workload
from store.ingest.decode import BadLine, Int, ReadEnvironment, ReadRun
from store.ingest.rows import Row, utc


class ReadConfig(msgspec.Struct, kw_only=True):
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
    amp_dtype: str | None = None
    disable_tf32: bool = False
    randomize_input: bool = False
    collect_full_output: bool = False
    include_transfers: bool = False
    pure_wall_time: bool = False
    weights: str = "random"


class ReadEntry(msgspec.Struct, kw_only=True):
    """A plan entry as read."""

    experiment_id: str
    config: ReadConfig
    variant: str
    backend: str
    environment: str
    group: str
    skip_reason: str | None = None


class ReadRunFile(msgspec.Struct, kw_only=True):
    """run.json as read; unknown keys are ignored."""

    run: ReadRun
    timestamp: float
    environments: list[dict[str, Any]]
    plan: list[ReadEntry]
    plan_id: str
    settings: dict[str, Any] = msgspec.field(default_factory=dict)


class RunRows(msgspec.Struct, frozen=True):
    """The rows of one run.json, by table."""

    run: Row
    environments: list[Row]
    plan: list[Row]


def read_run_file(data: bytes, path: str) -> RunRows:
    """Return the rows of a run.json.

    Raises:
        BadLine: not JSON, or a key is missing or of a wrong type.
    """
    try:
        run_file = msgspec.json.decode(data, type=ReadRunFile)
        environments = [(msgspec.convert(facts, ReadEnvironment), facts) for facts in run_file.environments]
        started = utc(run_file.timestamp)
    except (msgspec.DecodeError, OverflowError) as error:
        raise BadLine(f"run.json: {error}") from None
    key = {"path": path, "run_id": run_file.run.run_id}
    return RunRows(
        run={
            **key,
            "label": run_file.run.label or run_file.run.run_id,
            "command": run_file.run.command or "",
            "started": started,
            "plan_id": run_file.plan_id,
            "settings": msgspec.json.encode(run_file.settings).decode(),
        },
        environments=[_environment(key, environment, facts) for environment, facts in environments],
        plan=[_entry(key, entry) for entry in run_file.plan],
    )


def _environment(key: Row, environment: ReadEnvironment, facts: dict[str, Any]) -> Row:
    return {
        **key,
        "environment": environment.name,
        "torch": environment.torch,
        "torch_xla": environment.torch_xla,
        "host": environment.host,
        "machine_id": environment.machine_id,
        "accelerator_model": environment.accelerator,
        "threads": environment.threads,
        "facts": msgspec.json.encode(facts).decode(),
    }


def _entry(key: Row, entry: ReadEntry) -> Row:
    config = entry.config
    return {
        **key,
        "experiment_id": entry.experiment_id,
        "environment": entry.environment,
        "group_id": entry.group,
        "suite": config.suite_name,
        "model": config.model_name,
        "test": config.test,
        "backend": entry.backend,
        "variant": entry.variant,
        "accelerator": config.accelerator,
        "dtype": config.dtype,
        "requested_batch_size": config.batch_size,
        "optimizer": config.optimizer,
        "loss": config.loss,
        "matmul_precision": config.matmul_precision,
        "workload": workload(config),
        "cache": config.cache,
        "skip_reason": entry.skip_reason,
    }
