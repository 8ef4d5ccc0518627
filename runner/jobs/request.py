"""What can be asked for: typed data, never a path, a shell word or code. What is not named here cannot be asked for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from runner.plan.plan_file import PlanFile
from store.record import Accelerator, CacheState, Test, Weights

Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.+-]*\Z", max_length=200)]
"""Of a suite, a backend or an environment."""
ModelName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_./+-]*\Z", max_length=200)]
SuiteModel = Annotated[str, Meta(pattern=r"\A[a-z0-9_]+/[A-Za-z0-9][A-Za-z0-9_.+-]*\Z", max_length=200)]
"""A model as SUITE/NAME; which there are, `runner.jobs.check` knows."""
OpName = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?\Z", max_length=100)]
"""Of an op that may fall back, without `aten::`."""
Identifier = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z", max_length=100)]
Regex = Annotated[str, Meta(pattern=r"\A[\w.^$|()?:\[\]*+/ -]+\Z", max_length=200)]
XlaFlag = Annotated[str, Meta(pattern=r"\A--?xla_[a-z0-9_]+=(true|false|-?[0-9]+(\.[0-9]+)?)\Z", max_length=200)]
"""Numbers and switches only: other values name files."""
Override = tuple[
    Annotated[str, Meta(pattern=r"\A[A-Za-z_][\w.]*\Z", max_length=200)],
    Annotated[str, Meta(pattern=r"\A(True|False|None|-?[0-9]+(\.[0-9]+)?)\Z", max_length=40)],
]
"""A compiler's setting and its value; numbers and switches only: texts name programs and files."""
LONGEST_CONFIG = 100_000
"""Characters: a word of a command has a bound of its own, a little above."""
OperatorConfig = Annotated[str, Meta(pattern=r"\A\s*\{", max_length=LONGEST_CONFIG)]
"""The JSON of a configuration of operators, never a path; what it may hold, `runner.jobs.operators` checks."""
Side = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][\w.,+:/@#=() -]*\Z", max_length=200)]
"""A run (id, label, `latest`), environment or backend, as `xlabench compare` takes it."""
DeviceModel = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][\w.,+:/@#=() -]*\Z", max_length=200)]
"""As records name an accelerator's model."""
Identity = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]*\Z", max_length=100)]
"""Of an experiment, or of a run."""
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Number = Annotated[int, Meta(ge=0, le=1_000_000)]
Seconds = Annotated[float, Meta(gt=0, le=30 * 86_400)]
Bytes = Annotated[int, Meta(ge=1, le=1 << 50)]
Instrument = Literal[
    "dump_hlo",
    "dump_dynamo_counters",
    "dump_pytorch_profiles",
    "dump_pytorch_xla_metrics",
    "dump_inductor",
    "profile_xla",
    "profile_cuda_cpu",
    "profile_cuda_cpu_individual_ops",
    "save_output",
    "memory_snapshot",
    "minify",
]


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which experiments there are; fields and defaults are those of the flags of `xlabench run`."""

    suite_name: tuple[Name, ...] = ()
    accelerator: tuple[Accelerator, ...] = ()
    backend: tuple[Name, ...] = ()
    xla: tuple[Literal["PJRT"] | None, ...] = ()
    dynamo: tuple[Identifier | None, ...] = ()
    torch_xla2: tuple[Literal["extract_jax", "torch_export"] | None, ...] = ()
    test: tuple[Test, ...] = ()
    filter: tuple[Regex, ...] = ()
    exclude: tuple[Regex, ...] = ()
    only: tuple[ModelName, ...] = ()
    filter_by_tier: tuple[Literal[1, 2, 3], ...] = ()
    exclude_by_tier: tuple[Literal[1, 2, 3], ...] = ()
    fast: bool = False
    no_skip: bool = False
    total_partitions: Count = 1
    partition_id: Number = 0
    smoke: bool = False
    config: Annotated[tuple[OperatorConfig, ...], Meta(max_length=8)] = ()
    """Of suite `operators`."""
    ops_of: SuiteModel | None = None
    """The operators of this model, recorded when the job runs, and the model; never a trace, which is a file."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is part of every experiment's identity; None: as the preset says."""

    batch_size: Count | None = None
    preset: Literal["xlabench", "peer", "hud"] = "xlabench"
    dtype: Identifier | None = None
    amp_dtype: Literal["float16", "bfloat16"] | None = None
    matmul_precision: Literal["highest", "high", "medium", "default"] | None = None
    disable_tf32: Literal[True] | None = None
    xla_flags: tuple[tuple[XlaFlag, ...], ...] = ()
    without_fallback: tuple[Annotated[tuple[OpName, ...], Meta(min_length=1, max_length=20)], ...] = ()
    enable_functionalization: Literal[True] | None = None
    compile_mode: Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None = None
    dynamic_shapes: Literal[True] | None = None
    dynamic_batch_only: Literal[True] | None = None
    fullgraph: Literal[True] | None = None
    cudagraphs: Literal[False] | None = None
    freezing: Literal[True] | None = None
    dynamo_config: tuple[Override, ...] = ()
    inductor_config: tuple[Override, ...] = ()
    randomize_input: Literal[True] | None = None
    with_optimizer: Identifier | None = None
    no_optimizer: bool = False
    loss: Identifier | None = None
    weights: Weights | None = None
    cache: CacheState | Literal["both"] = "cold"
    keep_model_data_on_cuda: bool | None = None
    use_xla_baseline: bool = False
    collect_full_output: Literal[True] | None = None
    include_transfers: Literal[True] | None = None
    pure_wall_time: Literal[True] | None = None
    exec_mode: Literal["continuous", "discrete", "continuous_events"] = "continuous"
    cuda_l2_cache: Literal["on", "off"] = "on"


class Protocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How it is measured, and what is left behind; None: as the run's own default."""

    repeat: Count | None = None
    until_stable: Annotated[float, Meta(gt=0, lt=1)] | None = None
    """A share, not percent."""
    iterations_per_run: Count = 1
    processes: Count | None = None
    until_verdict: bool = False
    time_budget: Seconds | None = None
    interleave: Literal["processes", "rounds", "off"] = "processes"
    rounds: Count = 10
    rewarm: Number = 1
    twins: Number | None = None
    warmup_max: Count = 50
    threads: Count | None = None
    no_wait_quiet: bool = False
    own_priority: bool = False
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1337
    device_index: Number | None = None
    subprocess_timeout: Count | None = None
    memory_limit: Bytes | None = None
    retry_new_failures: Number = 1
    start: Literal["fork", "interpreter"] = "fork"
    verify: bool = False
    verify_only: bool = False
    prove: bool = False
    verify_iterations: Count = 3
    tolerance: Annotated[float, Meta(gt=0)] | None = None
    cosine: bool = False
    instruments: tuple[Instrument, ...] = ()
    save_ir_format: Literal["text", "hlo", "stablehlo"] | None = None
    profile_xla_duration_ms: Count = 5000
    collect_dynamo_counters: bool = False
    artifact_limit: Bytes | None = None


class RunRequest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="run",
):
    """Measure a selection, or exactly the experiments of a plan: `xlabench run`."""

    selection: Selection = Selection()
    configuration: Configuration = Configuration()
    protocol: Protocol = Protocol()
    plan: PlanFile | None = None
    """In place of selection and configuration, which are then left as they are."""
    environments: tuple[Name, ...] = ()
    """Names of `xlabench.toml`, or `default`; none: the current interpreter."""
    accelerator_model: DeviceModel | None = None
    """It waits for a host with one; none: any will do."""


class ConfirmRequest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="confirm",
):
    """Measure the suspected cells of two sides again, interleaved: `xlabench compare A B --confirm`."""

    old: Side
    new: Side
    run: Side | None = None
    """Whose environments or backends the sides are."""
    cells: Literal["suspected", "all"] = "suspected"
    experiments: Annotated[tuple[Identity, ...], Meta(max_length=2000)] = ()
    """Of the new side, where not all of these cells are wanted."""
    processes: Annotated[int, Meta(ge=3, le=1000)] | None = None
    accelerator: tuple[Accelerator, ...] = ()
    """What the sides ran on, so that the job waits for it; none: everything that the machine has."""


Request = RunRequest | ConfirmRequest


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a job waits for."""

    accelerators: tuple[Accelerator, ...] = ()
    """None named: all that the machine has."""
    accelerator_model: str | None = None
    """None: any."""
    device_index: int | None = None
    environments: tuple[str, ...] = ()
    store: bool = False
    """It asks the home's store, which lies where the worker is."""


def encode(request: Request) -> str:
    """Return a request as the text of its row."""
    return msgspec.json.encode(request).decode()


def decode(text: str | bytes) -> Request:
    """Read a request from its text.

    Raises:
        msgspec.DecodeError: it is no request; the message names the place.
    """
    found: Request = msgspec.json.decode(text, type=Request)
    return found


def needs(request: Request) -> Needs:
    """Return what a request waits for."""
    if isinstance(request, ConfirmRequest):
        return Needs(accelerators=request.accelerator, store=True)
    asked = request.selection.accelerator or (("cpu",) if request.selection.smoke else ())
    device_index = request.protocol.device_index
    if request.plan is not None:
        asked = tuple(dict.fromkeys(each.config["accelerator"] for each in request.plan.experiments))
        if device_index is None:  # an explicit flag overrides the plan's own settings
            device_index = request.plan.settings.get("device_index")
    return Needs(
        accelerators=asked,
        accelerator_model=request.accelerator_model,
        device_index=device_index,
        environments=request.environments or ("default",),
    )
