"""Turn one decoded line into rows of the base tables, in Python: what the SQL of store/load has to give."""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

import msgspec

from store.identity import backend_name, workload
from store.ingest import lines
from store.ingest.decode import DecodedLine, ReadEnvironment, ReadExperiment, ReadRecord
from store.ingest.lines import is_foreign
from store.record.experiment import TESTS
from tests.store.oracle import measures
from tests.store.oracle.verdict import judge

Row = dict[str, Any]
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (columns are TIMESTAMP in UTC, which take a naive datetime)


class Rows(msgspec.Struct, frozen=True):
    """The rows of one record, by table."""

    record: Row
    samples: list[Row]
    fallback_ops: list[Row]
    graph_breaks: list[Row]
    artifacts: list[Row]
    findings: list[Row]
    metrics: list[Row]
    graphs: list[Row]


def utc(seconds: float) -> datetime:
    """Return Unix seconds as a naive UTC datetime."""
    return _EPOCH + timedelta(seconds=seconds)


def rows_of(line: DecodedLine, content: str, ordinal: int) -> Rows:
    """Return the rows of a record; `ordinal` counts equal records before it in its file."""
    record = line.record
    peer = is_foreign(line)
    identity = _foreign_identity(line, content, ordinal) if peer else _own_identity(record)
    found = measures.blocks(record, foreign=peer)
    steady = measures.steady_per_iter(found)
    verdict = _verdict(record, found, steady, peer=peer)
    row = {
        **identity,
        **_configuration(record),
        **_environment(record.environment, record.experiment.accelerator_model),
        **verdict,
        "error_type": record.error.type if record.error else None,
        "error_message": _message(record),
        **measures.compile_times(found),
        **measures.compiler(record),
        **measures.scalars(record),
        "trace_s": measures.trace(found),
        "warm_up_s": measures.warm_up(found, record.iterations_per_run) if verdict["ran"] else None,
        "finished_at": None if record.finished_at is None else utc(record.finished_at),
        "warnings": record.warnings + line.notes,
        "reproduce": record.reproduce,
    }
    row["result_id"] = _result_id(row["run_id"], row["experiment_id"], row["environment"])
    row["id_number"] = _id_number(row["record_id"])
    key = {"record_id": row["record_id"]}
    return Rows(
        record=row,
        samples=_samples(record, found, key),
        fallback_ops=[key | msgspec.to_builtins(op) for op in record.fallback_ops],
        graph_breaks=[key | msgspec.to_builtins(graph_break) for graph_break in record.graph_breaks],
        artifacts=[key | msgspec.to_builtins(artifact) for artifact in record.artifacts],
        findings=[key | msgspec.to_builtins(finding) for finding in record.findings],
        graphs=[
            key | {"position": position} | msgspec.to_builtins(graph) for position, graph in enumerate(record.graphs)
        ],
        metrics=[key | {"name": name, "value": value} for name, value in measures.further(record).items()],
    )


def _message(record: ReadRecord) -> str | None:
    error = (record.metrics or {}).get("error")
    return record.error.message if record.error else error


def _own_identity(record: ReadRecord) -> Row:
    run = record.run
    return {
        "record_id": record.record_id,
        "run_id": run.run_id if run else None,
        "experiment_id": record.experiment_id,
        "source": record.source or "xlabench",
        "run_label": run.label if run else None,
        "command": run.command if run else None,
        "variant": record.variant or _backend(record.experiment),
    }


def _foreign_identity(line: DecodedLine, content: str, ordinal: int) -> Row:
    return {
        "record_id": lines.foreign_record_id(content, ordinal),
        "run_id": lines.foreign_run_id(line.record),
        "experiment_id": lines.foreign_experiment_id(line.raw),
        "source": "peer",
        "run_label": lines.foreign_run_label(line.record),
        "command": None,
        "variant": lines.foreign_variant(line.record.experiment),
    }


def _backend(experiment: ReadExperiment) -> str:
    mode = experiment.torch_xla2
    return backend_name(experiment.xla, experiment.dynamo, str(mode) if mode else None)


def _configuration(record: ReadRecord) -> Row:
    experiment = record.experiment
    return {
        "purpose": record.purpose,
        "twin_of": record.twin_of,
        "replica": record.replica,
        "attempt": record.attempt,
        "run_started": utc(record.timestamp),
        "suite": record.model.suite_name,
        "model": record.model.model_name,
        "test": TESTS[experiment.test],
        "backend": _backend(experiment),
        "accelerator": experiment.accelerator,
        "dtype": experiment.dtype,
        "batch_size": experiment.batch_size,
        "requested_batch_size": experiment.requested_batch_size,
        "optimizer": experiment.optimizer,
        "loss": experiment.loss,
        "matmul_precision": experiment.matmul_precision,
        "workload": workload(experiment),
        "cache": record.measurement.cache,
        "start": record.measurement.start,
        "instrumented": record.measurement.instrumented,
        "iterations_per_run": record.iterations_per_run,
        "repeat": record.repeat,
        "verification_code": record.verification_code,
    }


def _result_id(*parts: str | None) -> str:
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:16]


def _id_number(record_id: str) -> int:
    return int.from_bytes(hashlib.md5(record_id.encode(), usedforsecurity=False).digest()[8:10], "little")


def _environment(environment: ReadEnvironment | None, accelerator_model: str | None) -> Row:
    facts = environment or ReadEnvironment(name="")
    return {
        "environment": environment.name if environment else None,
        "accelerator_model": accelerator_model or facts.accelerator,
        "machine_id": facts.machine_id,
        "host": facts.host,
        "torch": facts.torch,
        "torch_xla": facts.torch_xla,
        "threads": facts.threads,
    }


def _verdict(record: ReadRecord, found: list[measures.Block], steady: list[float], *, peer: bool) -> Row:
    verdict = judge(record, found, steady, foreign=peer)
    return {
        "status": verdict.status,
        "ran": verdict.ran,
        "failure_phase": verdict.phase,
        "reason": verdict.reason,
        "steady_n": len(steady),
        **measures.latency(steady if verdict.ran else []),
    }


def _samples(record: ReadRecord, found: list[measures.Block], key: Row) -> list[Row]:
    arrays = record.measurement.blocks

    def at(values: list[int | None], index: int) -> int | None:
        return values[index] if len(values) == len(found) else None

    return [
        {
            **key,
            "block": index,
            "kind": block.kind,
            "round": at(arrays.round, index),
            "total_s": block.total_s,
            "per_iter_s": block.per_iter_s,
            "trace_s": block.trace_s,
            "compile_s": block.compile_s,
            "execute_s": block.execute_s,
            "compiles": at(arrays.compiles, index),
            "executions": at(arrays.executions, index),
            "inner_loops": block.loops,
        }
        for index, block in enumerate(found)
    ]
