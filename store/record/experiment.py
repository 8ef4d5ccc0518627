"""The words of a record, what an experiment is, where it is measured, and the plan that `run.json` holds."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = 1

Test = Literal["eval", "train"]
TESTS: dict[str, Test] = {"eval": "eval", "train": "train", "inference": "eval", "training": "train"}
"""What other tools call a test → our word."""
Accelerator = Literal["cpu", "cuda", "tpu", "xpu"]
Status = Literal[
    "ok",
    "verify_only",
    "never_steady",
    "disturbed",
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
BlockKind = Literal["first", "warmup", "steady", "disturbed"]
"""`disturbed`: taken in the steady state, in a turn that other programs disturbed; it is in no statistic."""
FallbackClass = Literal["no_lowering", "opt_in_lowering", "host_read"]
Purpose = Literal["benchmark", "calibration", "confirmation", "payoff"]
Lowering = Literal["decomposition", "opt_in"]
CacheState = Literal["cold", "warm"]
StartMethod = Literal["fork", "interpreter"]
UntilRule = Literal["stable"]
Weights = Literal["random", "pretrained"]
ProofVerdict = Literal["passed", "failed", "unknown"]
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

REFUSED: frozenset[str] = frozenset({"disturbed"})
"""Statuses of an experiment that ran, and whose number is refused for what the machine did; measuring again helps."""

SKIP = "SKIP"
"""`metrics.error` of a skipped experiment, as the peer writes it."""


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


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The run a record belongs to."""

    run_id: str
    label: str
    command: str


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
    in_spite_of: str | None = None
    """What the suite's tables say against measuring it, where it is measured all the same (`--no-skip`)."""

    used_by: UsedBy | None = None
    """The model that an operator was recorded from."""

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


class ModelRef(msgspec.Struct, frozen=True, kw_only=True):
    """A named workload of a suite."""

    suite_name: str
    model_name: str


class Operator(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a workload of suite `operators` calls: one expanded configuration, in the words of PARAM's files."""

    name: str
    """Name such as `torch.mm`, `torch.nn.Conv2d` or `aten::add`."""
    build: dict[str, Any] | None = None
    """`args` and `kwargs` of the step that makes the operator; None: it is called as it is."""
    input: dict[str, Any]
    """`args` and `kwargs` of a call."""
    build_data_generator: str | None = None
    """None: PARAM's default generator."""
    input_data_generator: str | None = None
    discrete: bool = False
    """Each call is waited for and timed alone, in place of a block of calls."""
    clear_cache: bool = False
    """The L2 cache of the device is cleared before each call, outside of its time (CUDA)."""


class UsedBy(msgspec.Struct, frozen=True, kw_only=True):
    """The model whose operators were recorded, and how often one iteration of it makes this call."""

    model: str
    """The model as `SUITE/NAME`, or the name of a trace."""
    test: Test
    calls: int


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a model of suite `own` comes from: name and hash, never a path and never the source itself."""

    name: str
    """Names of the file and of the model in it, such as `mymodel.py:MyNet`."""
    sha256: str
    """Hash of the file; with files in its folder that it imports or reads, hash of all their names and hashes."""
    inputs: tuple[str, ...] = ()
    """Inputs as typed with `--input`; empty: those of the source."""


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
    """Data type; for an operator, that of its call (`store.operators.operator_dtype`)."""
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
    operator: Operator | None = None
    """The operator that is built and called (suite `operators`). Its experiments need no file but the plan."""
    without_fallback: tuple[str, ...] = ()
    """Ops (without `aten::`) that PyTorch/XLA would run on the host, computed by what replaces them."""
    source: Source | None = None
    """Source of the model (suite `own`)."""


class Experiment(msgspec.Struct, kw_only=True):
    """`experiment` of a record: the peer's keys, then ours; batch size as resolved by the model."""

    accelerator: str
    accelerator_model: str | None = None
    device_index: int | None = None
    """Index of the requested device; None: the first."""
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
    """The requested loss; None: the suite's own, which `resolved_loss` names if the model was built."""
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
    """The weights that were used: `random` also if pretrained ones were requested but not available."""
    randomize_input: bool | None = None
    collect_full_output: bool | None = None
    include_transfers: bool | None = None
    pure_wall_time: bool | None = None
    overrides: dict[str, str] = msgspec.field(default_factory=dict)
    operator: Operator | None = None
    """The operator that was built and called (suite `operators`)."""
    without_fallback: list[str] = []
    """Ops that were replaced, so that they would not run on the host."""
    source: Source | None = None
    """Source of the model (suite `own`)."""
