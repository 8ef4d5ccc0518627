"""The record contract: what one line of `results.jsonl` and a `run.json` hold.

A record is a superset of what PyTorch/XLA's `experiment_runner.py` writes, so its readers keep working.
Times are seconds, sizes are bytes; a unit stands in the name except where the peer's key has none.
`None` means unknown or not measurable, never zero.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = 1

Test = Literal["eval", "train"]
Accelerator = Literal["cpu", "cuda", "tpu", "xpu"]
Status = Literal[
    "ok",
    "verify_only",
    "never_steady",
    "invalid",
    "skipped",
    "load_error",
    "compile_error",
    "run_error",
    "oom",
    "timeout",
    "crashed",
]
Phase = Literal["load", "compile", "warmup", "measure", "verify", "profile"]
BlockKind = Literal["first", "warmup", "steady"]
FallbackClass = Literal["no_lowering", "opt_in_lowering", "host_read"]
Purpose = Literal["benchmark", "calibration", "confirmation"]
CacheState = Literal["cold", "warm"]
StartMethod = Literal["fork", "interpreter"]
UntilRule = Literal["stable"]
Weights = Literal["random", "pretrained"]
VerificationCode = Literal[
    "PASS",
    "FAIL",
    "EAGER_FAILED",
    "EXCEPTION_RAISED",
    "NONDETERMINISTIC_EAGER_RUN",
    "VERIFIER_SKIPPED",
    "VERIFIER_DIDNT_RUN",
]
"""PyTorch/XLA's codes; skipped is never pass."""

FAILED: frozenset[str] = frozenset({"invalid", "load_error", "compile_error", "run_error", "oom", "timeout", "crashed"})
"""Statuses of an experiment that was attempted and gave no usable number."""

SKIP = "SKIP"
"""`metrics.error` of a skipped experiment, as the peer writes it."""


class ModelRef(msgspec.Struct, frozen=True, kw_only=True):
    """A named workload of a suite."""

    suite_name: str
    model_name: str


class ExperimentConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The *requested* configuration of an experiment; its canonical form gives `experiment_id`.

    Every field has a default that is left out of the canonical form, so a field added later does not change
    the identity of experiments that do not use it.
    """

    suite_name: str
    model_name: str
    test: Test
    accelerator: Accelerator
    xla: str | None = None
    dynamo: str | None = None
    dtype: str = "float32"
    batch_size: int | None = None
    xla_flags: tuple[str, ...] = ()
    torch_xla2: str | None = None
    enable_functionalization: bool = True
    keep_model_data_on_cuda: bool = False
    """Model and data stay on the host device (theirs: CUDA); the dynamo bridge moves them at each call."""
    amp_dtype: str | None = None
    """Under dtype `amp`: what autocast lowers to; None: bfloat16, on CUDA float16."""
    disable_tf32: bool = False
    weights: Weights = "random"
    """`pretrained` downloads where a model offers them; `random` never does."""
    randomize_input: bool = False
    """New floating inputs for each iteration; integers are kept, they are indices."""
    collect_full_output: bool = False
    """Train returns predictions, loss and gradients, as the peer's `--collect-full-output`."""
    include_transfers: bool = False
    """The timed iteration brings its inputs to the device and its result back."""
    pure_wall_time: bool = False
    """Device time of an iteration by events, without launch overhead (CUDA), as the peer's `--pure-wall-time`."""
    optimizer: str | None = None
    """Name of a `torch.optim` class stepped in train, or None: no optimizer step (as TorchDynamo defines train)."""
    loss: str | None = None
    """Loss of train; None: the suite's own."""
    matmul_precision: str = "highest"
    compile_mode: str | None = None
    cudagraphs: bool = False
    dynamic_shapes: bool = False
    dynamic_batch_only: bool = False
    """With `dynamic_shapes`: only the batch dimension is dynamic."""
    fullgraph: bool = False
    freezing: bool = False
    """Inductor folds parameters into the program (inference only)."""
    cache: CacheState = "cold"
    overrides: dict[str, str] = msgspec.field(default_factory=dict)
    """Configuration overrides by dotted name, as `inductor.max_autotune` → `"True"`."""


class Experiment(msgspec.Struct, kw_only=True):
    """`experiment` of a record: the peer's keys, then ours; batch size as resolved by the model."""

    accelerator: str
    accelerator_model: str | None = None
    device_index: int | None = None
    """Of the device that was asked for; None: the first."""
    xla: str | None = None
    xla_flags: str | None = None
    dynamo: str | None = None
    torch_xla2: str | None = None
    test: str
    batch_size: int | None = None
    enable_functionalization: bool | None = None
    keep_model_data_on_cuda: bool | None = None
    experiment_name: str = "run_all"
    outputs_file: str | None = None
    """Where the peer's analyzer looks for it; the same as the record's."""
    requested_batch_size: int | None = None
    dtype: str | None = None
    optimizer: str | None = None
    loss: str | None = None
    """As requested; None: the suite's own, which `resolved_loss` names where the model was built."""
    resolved_loss: str | None = None
    matmul_precision: str | None = None
    compile_mode: str | None = None
    cudagraphs: bool | None = None
    dynamic_shapes: bool | None = None
    dynamic_batch_only: bool | None = None
    fullgraph: bool | None = None
    freezing: bool | None = None
    amp_dtype: str | None = None
    disable_tf32: bool | None = None
    weights: str | None = None
    """As resolved: `random` also where pretrained ones were asked for and could not be had."""
    randomize_input: bool | None = None
    collect_full_output: bool | None = None
    include_transfers: bool | None = None
    pure_wall_time: bool | None = None
    overrides: dict[str, str] = msgspec.field(default_factory=dict)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The run a record belongs to."""

    run_id: str
    label: str
    command: str


class Error(msgspec.Struct, kw_only=True):
    """Why an experiment gave no number; `phase` says how far it came."""

    phase: Phase
    type: str
    message: str
    traceback: str | None = None
    exit_code: int | None = None
    signal: int | None = None


class Environment(msgspec.Struct, kw_only=True, frozen=True):
    """The interpreter, packages and machine that measured; `machine_id` leaves the host name out."""

    name: str
    executable: str | None = None
    """Path of the interpreter, by which `compare --confirm` finds it again; no part of any identity."""
    python: str | None = None
    torch: str | None = None
    torch_git: str | None = None
    torch_xla: str | None = None
    torch_xla_git: str | None = None
    torchvision: str | None = None
    transformers: str | None = None
    timm: str | None = None
    torchax: str | None = None
    jax: str | None = None
    torchbench_commit: str | None = None
    host: str | None = None
    machine_id: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    accelerator: str | None = None
    driver: str | None = None
    threads: int | None = None
    toolchain_probe_s: float | None = None
    """Inductor's one-time toolchain work (vector-ISA probe, precompiled headers), part of no compile time."""
    server_import_s: float | None = None
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    """Effective values of the environment variables that change timing (`OMP_*`, `XLA_*`, `PJRT_DEVICE`, …)."""


class Blocks(msgspec.Struct, kw_only=True):
    """Parallel arrays over `metrics.total_time`, one entry per timed block."""

    kind: list[BlockKind] = msgspec.field(default_factory=list)
    compiles: list[int | None] = msgspec.field(default_factory=list)
    executions: list[int | None] = msgspec.field(default_factory=list)
    round: list[int] = msgspec.field(default_factory=list)
    rewarm_time: list[float] = msgspec.field(default_factory=list)
    """Of the blocks at the begin of interleaved turns, seconds; they stand in no other array."""


class Until(msgspec.Struct, kw_only=True):
    """How a process came to the end of its blocks, where their number was not fixed."""

    rule: UntilRule = "stable"
    """`stable`: until the median of its steady blocks was known well enough."""
    target: float
    """Half the width of the median's 95 % interval, as a share of the median, at which it stops."""
    budget_s: float
    half_width: float | None = None
    """What was reached; None under six steady blocks, where there is no interval."""
    spent_s: float = 0.0
    """Running time since the warm-up, re-warming included."""
    stable: bool = False
    """Whether the target was reached."""


class Measurement(msgspec.Struct, kw_only=True):
    """How the numbers were taken: the protocol settings, which are no part of the experiment's identity."""

    protocol: str = "xlabench"
    """The preset: `xlabench`, `peer` or `hud`."""
    order: str = "sequence"
    """`interleaved` (turns, while the group's other processes are stopped), `rounds`, `sequence`."""
    block: int = 1
    """Blocks of a turn: of the longest one."""
    together: int = 1
    """Processes that stood open at the same time and took turns, this one included."""
    processes: int = 1
    """Of the experiment; each has a record, its `replica`."""
    looks: int = 1
    """How often verdicts of the run may be asked for, each time with more processes (`--until-verdict`)."""
    repeat: int | None = None
    until: Until | None = None
    """Where blocks beyond `repeat` were taken if need be; None: exactly `repeat`."""
    warmup_min: int | None = None
    warmup_max: int | None = None
    steady_blocks: int | None = None
    cache: CacheState = "cold"
    start: StartMethod = "fork"
    instrumented: bool = False
    blocks: Blocks = msgspec.field(default_factory=Blocks)


class FallbackOp(msgspec.Struct, kw_only=True):
    """An op that XLA did not lower: `op` without its `aten::` prefix."""

    op: str
    klass: FallbackClass
    calls_per_iteration: float | None
    """Over the steady blocks; None where there are none."""
    calls_compile: int
    time_s: float | None = None
    call_site: str | None = None


class GraphBreak(msgspec.Struct, kw_only=True):
    """A place where dynamo split the graph, and why."""

    reason: str
    count: int


class Verification(msgspec.Struct, kw_only=True):
    """What comparing the backend's results with eager's found; `verification_code` of the record is its verdict."""

    code: VerificationCode
    decided_by: str | None = None
    """The check that decided: `bitwise`, `allclose`, `rmse`, `cosine`, `shape`, `dtype`, `control` …"""
    tolerance: float | None = None
    iterations: int = 1
    batch_size: int | None = None
    reference: str | None = None
    """`float64`, or `eager` where float64 could not run: then the check was weaker, and `notes` says so."""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    rmse: float | None = None
    """Against the float64 reference: of the backend's result, and of eager's."""
    rmse_eager: float | None = None
    cosine: float | None = None
    first_failed: str | None = None
    """Name of the first tensor that failed, as `output[0]`, `loss`, `grad.fc.weight`."""
    tensors: int = 0
    """How many tensors were compared."""
    control: str | None = None
    """Negative control: `noticed`, `vacuous` (the check did not see perturbed weights), or why there was none."""
    notes: list[str] = msgspec.field(default_factory=list)
    error: Error | None = None
    seconds: float | None = None


class Graph(msgspec.Struct, kw_only=True):
    """One compiled program as its compiler saw it: no noise, so a change here explains a change of time."""

    kind: str
    """`fx` (dynamo's capture), `hlo` (XLA, before its passes), `hlo_optimized`, `inductor`."""
    fingerprint: str
    """Hash of the program with its names and locations taken out: equal programs, equal fingerprints."""
    ops: int
    """Operations in it."""
    op_histogram: dict[str, int] = msgspec.field(default_factory=dict)
    fusions: int | None = None
    flops: float | None = None
    bytes_accessed: float | None = None


class Artifact(msgspec.Struct, kw_only=True):
    """A file beside the record; `path` is relative to the run folder."""

    kind: str
    path: str
    repeat: int | None = None
    bytes: int | None = None
    note: str | None = None
    """Why it is not whole: cut at the byte limit, or not to be had here."""


class MachineState(msgspec.Struct, kw_only=True):
    """What the machine did while an experiment's timed process lived; None: this machine does not say."""

    seconds: float
    """How long it was watched: from before the process's start to after its end."""
    cpus: int | None = None
    load_start: float | None = None
    """Load average over the last minute, this run's own processes included."""
    load_end: float | None = None
    others_share: float | None = None
    """CPU time of processes that are not this run's, as a share of all CPUs' time."""
    steal_share: float | None = None
    """CPU time that the hypervisor gave to other virtual machines, as a share of all CPUs' time."""
    governor: str | None = None
    frequency_hz: float | None = None
    """Mean over the CPUs that this run may use, at the end."""
    frequency_min_hz: float | None = None
    frequency_max_hz: float | None = None
    turbo: bool | None = None
    throttle_events: int | None = None
    """How often a core or its package was slowed down for heat."""
    swap_used_bytes: int | None = None
    swap_traffic_bytes: int | None = None
    """Written to and read from swap meanwhile."""
    accelerator_processes: int | None = None
    """Processes on the accelerator at the start that are not this run's."""


class Finding(msgspec.Struct, kw_only=True):
    """A reason to doubt a number, as data: `code` and `values` for programs, the rest for people."""

    code: str
    """A key of the table in `store.advice`."""
    text: str
    next_step: str
    values: dict[str, float | int | str] = msgspec.field(default_factory=dict)


class Record(msgspec.Struct, kw_only=True):
    """One line of `results.jsonl`: what one experiment of a run produced, also when it failed.

    `metrics` holds the peer's keys and numeric lists only (and `error`, a text, on failure), because the
    peer's analyzer turns each value into an array. Keys of ours there, each a list of one value:
    `dynamo_compile_time_s`, `graphs_number`, `peak_memory_bytes` (over the steady part),
    `setup_peak_memory_bytes` (set-up and compilation), `load_time_s`, `runtime_start_s`, and
    `start_time_s` (request of the process to the begin of its first iteration).
    """

    model: ModelRef
    experiment: Experiment
    repeat: int
    iterations_per_run: int
    metrics: dict[str, Any]
    timestamp: float
    verification_code: str = "VERIFIER_SKIPPED"
    verification: Verification | None = None
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
    graph_breaks: list[GraphBreak] = msgspec.field(default_factory=list)
    graphs: list[Graph] = msgspec.field(default_factory=list)
    artifacts: list[Artifact] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    """Everything that a reader should know, as text; the findings among it."""
    findings: list[Finding] = msgspec.field(default_factory=list)
    machine: MachineState | None = None
    finished_at: float
    reproduce: str


class PlanEntry(msgspec.Struct, kw_only=True, frozen=True):
    """One planned experiment: runnable, or skipped with the reason."""

    experiment_id: str
    config: ExperimentConfig
    variant: str
    backend: str
    environment: str
    group: str
    skip_reason: str | None = None
    notes: tuple[str, ...] = ()
    """What was changed in the configuration that was asked for, and why; warnings of the record."""

    @property
    def runnable(self) -> bool:
        return self.skip_reason is None


class RunFile(msgspec.Struct, kw_only=True):
    """`run.json`: written and fsynced before the first experiment; the denominator of every rate."""

    schema_version: int = SCHEMA_VERSION
    run: Run
    timestamp: float
    """Start of the run, Unix seconds; every record of the run repeats it."""
    environments: list[Environment]
    settings: dict[str, Any]
    plan: list[PlanEntry]
    plan_id: str
    """Hash of the plan's experiment ids, skips and environments: what resuming compares."""
