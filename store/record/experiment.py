"""Types of a record: its words, experiments, environments, and the plan in `run.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

SCHEMA_VERSION = 1

Test = Literal["eval", "train"]
TESTS: dict[str, Test] = {"eval": "eval", "train": "train", "inference": "eval", "training": "train"}
"""Name of a test in other tools → our name."""
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
"""Kind of a block. `disturbed`: a steady block of a turn that other programs disturbed; no statistic uses it."""
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
"""PyTorch/XLA's verification codes; skipped never counts as passed."""

FAILED: frozenset[str] = frozenset({"invalid", "load_error", "compile_error", "run_error", "oom", "timeout", "crashed"})
"""Statuses of an experiment that was attempted and has no usable number."""

REFUSED: frozenset[str] = frozenset({"disturbed"})
"""Statuses of an experiment that ran, and whose number is refused because of the machine; measuring again helps."""

SKIP = "SKIP"
"""`metrics.error` of a skipped experiment, as the peer writes it."""


class Environment(msgspec.Struct, kw_only=True, frozen=True):
    """The interpreter, packages and machine that measured; `machine_id` leaves the host name out."""

    name: str
    executable: str | None = None
    """Path of the interpreter, with which `compare --confirm` finds it again; no part of any identity."""
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
    """Effective values of the environment variables that change timing (`OMP_*`, `XLA_*`, `LD_PRELOAD`, …)."""


VERSIONS = (
    *("torch", "torch_git", "torch_xla", "torch_xla_git", "torchvision", "transformers", "timm"),
    "torchbench_commit",
)
"""Fields of an environment: the packages that a model's speed depends on."""


class MachineState(msgspec.Struct, kw_only=True):
    """State of the machine during an experiment's timed process; None: the machine does not report the value."""

    seconds: float
    """Seconds of observation, from before the start of the process to after its end."""
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
    """Mean frequency at the end over the CPUs that this run may use."""
    frequency_min_hz: float | None = None
    frequency_max_hz: float | None = None
    turbo: bool | None = None
    throttle_events: int | None = None
    """Number of times that a core or its package was slowed down because of heat."""
    swap_used_bytes: int | None = None
    swap_traffic_bytes: int | None = None
    """Bytes written to and read from swap during that time."""
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
    """Changes to the requested configuration, with their reasons; they become warnings of the record."""
    in_spite_of: str | None = None
    """Reason of the suite's tables for skipping it, if it is measured nevertheless (`--no-skip`)."""

    used_by: UsedBy | None = None
    """The model that an operator was recorded from."""

    @property
    def runnable(self) -> bool:
        return self.skip_reason is None

    @property
    def key(self) -> tuple[str, str]:
        """Identify the experiment within its run, as `Record.key` does."""
        return self.experiment_id, self.environment


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
    """Hash of the plan's experiment ids, skips and environments; resuming compares it."""


class ModelRef(msgspec.Struct, frozen=True, kw_only=True):
    """A named workload of a suite."""

    suite_name: str
    model_name: str


class Operator(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Call of a workload of suite `operators`: one expanded configuration, in the words of PARAM's files."""

    name: str
    """Name such as `torch.mm`, `torch.nn.Conv2d` or `aten::add`."""
    build: dict[str, Any] | None = None
    """`args` and `kwargs` of the step that builds the operator; None: it needs no such step."""
    input: dict[str, Any]
    """The `args` and `kwargs` of a call."""
    build_data_generator: str | None = None
    """Generator of the inputs; None: PARAM's default generator."""
    input_data_generator: str | None = None
    discrete: bool = False
    """Whether each call is timed and waited for separately, instead of blocks of calls."""
    clear_cache: bool = False
    """Whether the L2 cache of the device is cleared before each call, outside of its time (CUDA)."""


class UsedBy(msgspec.Struct, frozen=True, kw_only=True):
    """The model whose operators were recorded, and how often one iteration of it makes this call."""

    model: str
    """The model as `SUITE/NAME`, or the name of a trace."""
    test: Test
    calls: int


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Source of a model of suite `own`: name and hash, never a path and never the source itself."""

    name: str
    """Names of the file and of the model in it, such as `mymodel.py:MyNet`."""
    sha256: str
    """Hash of the file; if it imports or reads files of its folder, the hash of all their names and hashes."""
    inputs: tuple[str, ...] = ()
    """Inputs of `--input` as typed; empty: those of the source."""


@dataclass(frozen=True)
class OfVariant:
    """A setting of how a step is compiled: if it is set, the name of the variant contains these words."""

    words: str
    """`{}` stands for the value."""


@dataclass(frozen=True)
class OfWorkload:
    """A setting of what is timed, under every backend: results are comparable only where it is equal.

    The workload of a result contains these words if it is set. They are the only mention: they make the field that
    ingest reads of records and plans, the column `workload`, and the way back from that to the setting.
    """

    words: str
    """`{}` stands for the value, which has no blank."""


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
    amp_dtype: Annotated[str | None, OfWorkload("amp={}")] = None
    """Data type of autocast under dtype `amp`; None: bfloat16, on CUDA float16."""
    disable_tf32: Annotated[bool, OfWorkload("disable-tf32")] = False
    randomize_input: Annotated[bool, OfWorkload("randomize-input")] = False
    """Whether each iteration has new floating inputs; integers stay, because they are indices."""
    collect_full_output: Annotated[bool, OfWorkload("collect-full-output")] = False
    """Whether train returns predictions, loss and gradients, like the peer's `--collect-full-output`."""
    include_transfers: Annotated[bool, OfWorkload("include-transfers")] = False
    """Whether the timed iteration includes the transfer of its inputs to the device and of its result back."""
    pure_wall_time: Annotated[bool, OfWorkload("pure-wall-time")] = False
    """Whether time is that between device events around each iteration (CUDA), like the peer's `--pure-wall-time`."""
    weights: Annotated[Weights, OfWorkload("weights={}")] = "random"
    """Weights of the model: `pretrained` downloads them if the model offers some, `random` never does."""
    optimizer: str | None = None
    """Name of a `torch.optim` class stepped in train, or None: no optimizer step (as TorchDynamo defines train)."""
    loss: str | None = None
    """Loss of train; None: the suite's own."""
    matmul_precision: str = "highest"
    compile_mode: Annotated[str | None, OfVariant("mode={}")] = None
    cudagraphs: Annotated[bool, OfVariant("cudagraphs")] = False
    dynamic_shapes: Annotated[bool, OfVariant("dynamic")] = False
    dynamic_batch_only: Annotated[bool, OfVariant("dynamic-batch-only")] = False
    """Whether only the batch dimension is dynamic (with `dynamic_shapes`)."""
    fullgraph: Annotated[bool, OfVariant("fullgraph")] = False
    freezing: Annotated[bool, OfVariant("freezing")] = False
    """Whether Inductor folds parameters into the program (inference only)."""
    keep_model_data_on_cuda: Annotated[bool, OfVariant("keep-model-data-on-cuda")] = False
    """Whether model and data stay on the host device (in the peer: CUDA); the dynamo bridge moves them at each call."""
    cache: CacheState = "cold"
    overrides: dict[str, str] = msgspec.field(default_factory=dict)
    """Configuration overrides by dotted name, as `inductor.max_autotune` → `"True"`."""
    operator: Operator | None = None
    """The operator that is built and called (suite `operators`). Its experiments need no file but the plan."""
    without_fallback: tuple[str, ...] = ()
    """Fallback ops (without `aten::`) that are replaced, so that PyTorch/XLA does not run them on the host."""
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
    """The same value as in the record; the peer's analyzer reads it here."""
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
    """The weights that were used; `random` also if pretrained ones were requested but not available."""
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
