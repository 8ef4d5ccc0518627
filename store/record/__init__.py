"""The record contract: the content of a line of `results.jsonl` and of a `run.json`.

A record is a superset of what PyTorch/XLA's `experiment_runner.py` writes, so its readers keep working.
Times are seconds, sizes are bytes; names contain their unit, unless the peer's key has none.
`None` means unknown or not measurable, never zero.
"""

from __future__ import annotations

from typing import Any

import msgspec

from store.record.experiment import (
    FAILED,
    REFUSED,
    SCHEMA_VERSION,
    SKIP,
    Accelerator,
    BlockKind,
    CacheState,
    Environment,
    Experiment,
    ExperimentConfig,
    FallbackClass,
    Lowering,
    MachineState,
    ModelRef,
    Operator,
    Phase,
    PlanEntry,
    ProofVerdict,
    Purpose,
    Run,
    RunFile,
    Source,
    StartMethod,
    Status,
    Test,
    UntilRule,
    UsedBy,
    VerificationCode,
    Weights,
)
from store.record.measurement import (
    Artifact,
    Blocks,
    Error,
    FallbackOp,
    Finding,
    Graph,
    GraphBreak,
    Measurement,
    Proof,
    Quiet,
    Replacement,
    Turns,
    Until,
    Verification,
)

__all__ = [
    "FAILED",
    "REFUSED",
    "SCHEMA_VERSION",
    "SKIP",
    "Accelerator",
    "Artifact",
    "BlockKind",
    "Blocks",
    "CacheState",
    "Environment",
    "Error",
    "Experiment",
    "ExperimentConfig",
    "FallbackClass",
    "FallbackOp",
    "Finding",
    "Graph",
    "GraphBreak",
    "Lowering",
    "MachineState",
    "Measurement",
    "ModelRef",
    "Operator",
    "Phase",
    "PlanEntry",
    "Proof",
    "ProofVerdict",
    "Purpose",
    "Quiet",
    "Record",
    "Replacement",
    "Run",
    "RunFile",
    "Source",
    "StartMethod",
    "Status",
    "Test",
    "Turns",
    "Until",
    "UntilRule",
    "UsedBy",
    "Verification",
    "VerificationCode",
    "Weights",
]


class Record(msgspec.Struct, kw_only=True):
    """One line of `results.jsonl`: the outcome of one experiment of a run, also of a failed one.

    `metrics` holds the peer's keys and numeric lists only (and `error`, a text, on failure), because the
    peer's analyzer turns each value into an array. Keys of ours there, each a list of one value:
    `dynamo_compile_time_s`, `graphs_number`, `peak_memory_bytes` (over the steady part),
    `setup_peak_memory_bytes` (set-up and compilation), `load_time_s`, `runtime_start_s`, and
    `start_time_s` (from the request of the process to the beginning of its first iteration).
    """

    model: ModelRef
    experiment: Experiment
    repeat: int
    iterations_per_run: int
    metrics: dict[str, Any]
    timestamp: float
    verification_code: str = "VERIFIER_SKIPPED"
    verification: Verification | None = None
    proof: Proof | None = None
    """Timing proof of the backend; None if none was taken."""
    outputs_file: str | None = None
    schema_version: int = SCHEMA_VERSION
    record_id: str
    experiment_id: str
    variant: str
    run: Run
    purpose: Purpose = "benchmark"
    twin_of: str | None = None
    replica: int = 0
    attempt: int = 1
    status: Status
    error: Error | None = None
    environment: Environment
    measurement: Measurement = msgspec.field(default_factory=Measurement)
    fallback_ops: list[FallbackOp] = msgspec.field(default_factory=list)
    instead_of: str | None = None
    """For an experiment with replaced ops: the experiment_id of the same configuration without replacements."""
    replacements: list[Replacement] = msgspec.field(default_factory=list)
    graph_breaks: list[GraphBreak] = msgspec.field(default_factory=list)
    graphs: list[Graph] = msgspec.field(default_factory=list)
    artifacts: list[Artifact] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    """All warnings for readers as text, including the findings."""
    findings: list[Finding] = msgspec.field(default_factory=list)
    machine: MachineState | None = None
    used_by: UsedBy | None = None
    """The model that an operator was recorded from."""
    finished_at: float
    reproduce: str

    @property
    def key(self) -> tuple[str, str]:
        """Identify the experiment within its run; its twin has the same key."""
        return self.experiment_id, self.environment.name

    def steady_s(self) -> list[float]:
        """Return the steady blocks in seconds per iteration, also those of a process that failed later."""
        times = zip(self.metrics.get("per_iter_time", ()), self.measurement.blocks.kind, strict=False)
        return [time for time, kind in times if kind == "steady"]
