"""A request for a run: typed once, as data, with the flags that it is typed as; a job, a command and a plan share it.

A field with a `Flag` is a flag of the same name; `runner.flags` makes the flags of all commands from these fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from runner.backends.steps import DTYPES
from runner.flag import Bytes, Count, Flag, Number, Seconds, Word, whole
from runner.plan.values import (
    Backend,
    DeviceModel,
    Dynamo,
    Identifier,
    ModelName,
    Name,
    OperatorConfig,
    Ops,
    Override,
    Regex,
    SuiteModel,
    TestName,
    TorchXla2,
    Xla,
    XlaFlags,
)
from runner.settings import ARTIFACTS, VERIFICATION, TypedSettings
from runner.suites import suite_names
from store.record import Accelerator, CacheState, UsedBy, Weights

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
"""`save_ir` belongs to them under `--save-ir-format`."""
INSTRUMENTS: dict[Instrument, str] = {
    "dump_hlo": "save XLA's dump of every module (--xla_dump_to)",
    "dump_dynamo_counters": "save dynamo's counters as JSON",
    "dump_pytorch_profiles": "save a Chrome trace (gzip) and the key_averages table",
    "dump_pytorch_xla_metrics": "save PyTorch/XLA's metrics report",
    "dump_inductor": "save the TORCH_COMPILE_DEBUG folder, with a runnable fx_graph_runnable.py",
    "profile_xla": "save an XPlane profile for XProf or TensorBoard",
    "profile_cuda_cpu": "add CPU and CUDA seconds to the record",
    "profile_cuda_cpu_individual_ops": "add CPU and CUDA seconds per op, or per fallback op on XLA",
    "save_output": "save the outputs of the last iteration (torch.save)",
    "memory_snapshot": "save the allocator history (CUDA)",
    "minify": "if the backend fails, save a minimal program that still fails",
}
"""What each instrument leaves behind; the timed process never sees any of them."""


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which experiments there are; an empty tuple means all that exist."""

    suite_name: Annotated[tuple[Name, ...], Flag("suite of models or operators", choices=suite_names)] = ()
    config: Annotated[
        tuple[OperatorConfig, ...],
        Meta(max_length=8),
        Flag(
            "measure the operators of a PARAM configuration, given as a file or as JSON (suite operators)",
            metavar="FILE",
        ),
    ] = ()
    ops_of: Annotated[
        SuiteModel | None,
        Flag(
            "measure a model and the operators that it calls, or the operators of an execution trace",
            metavar="SUITE/NAME|TRACE",
        ),
    ] = None
    """The operators of this model, recorded when it runs, and the model; of a job never a trace, which is a file."""
    accelerator: Annotated[tuple[Accelerator, ...], Flag("kind of device (default: all that this machine has)")] = ()
    backend: Annotated[
        tuple[Backend, ...],
        Flag(
            "backend by its name in reports: eager, inductor, openxla+lazytensor, openxla+dynamo (default: these "
            "four), or any that dynamo lists; replaces --xla, --dynamo and --torch-xla2"
        ),
    ] = ()
    """Backends by name; if there are any, they replace `xla`, `dynamo` and `torch_xla2`."""
    xla: Annotated[tuple[Xla, ...], Flag("run on PyTorch/XLA (PJRT) or without it (None)")] = ()
    dynamo: Annotated[
        tuple[Dynamo, ...],
        Flag("torch.compile backend: inductor, openxla, or any that dynamo lists; None does not compile"),
    ] = ()
    torch_xla2: Annotated[tuple[TorchXla2, ...], Flag("run through torchax: extract_jax or torch_export")] = ()
    test: Annotated[tuple[TestName, ...], Flag("test to run; inference and training are synonyms (default: both)")] = ()
    filter: Annotated[tuple[Regex, ...], Flag("include models whose name matches", names=("-k",))] = ()
    exclude: Annotated[tuple[Regex, ...], Flag("exclude models whose name matches", names=("-x",))] = ()
    only: Annotated[
        tuple[ModelName, ...], Flag("include the model with exactly this name, or SUITE/NAME", metavar="NAME")
    ] = ()
    filter_by_tier: Annotated[tuple[Literal[1, 2, 3], ...], Flag("include models of this PyTorch/XLA tier")] = ()
    exclude_by_tier: Annotated[tuple[Literal[1, 2, 3], ...], Flag("exclude models of this tier")] = ()
    fast: Annotated[bool, Flag("exclude models that the suite marks as slow")] = False
    no_skip: Annotated[bool, Flag("also measure experiments that the suites' tables skip")] = False
    total_partitions: Annotated[Count, Flag("split the selected models into N parts")] = 1
    partition_id: Annotated[
        Number, Flag("measure part K, counted from 0 (default: 0)", metavar="K", word=Word(whole))
    ] = 0
    smoke: Annotated[bool, Flag("measure two well-known models on the CPU with all backends, and verify them")] = False


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings that are part of every experiment's identity; None stands for the preset's value."""

    batch_size: Annotated[Count | None, Flag("batch size (default: the suite's value for each model)")] = None
    preset: Annotated[
        Literal["xlabench", "peer", "hud"],
        Flag("set of defaults for dtype, optimizer, repeats and more (default: xlabench)"),
    ] = "xlabench"
    dtype: Annotated[Identifier | None, Flag("data type (default: the preset's)", choices=DTYPES)] = None
    amp_dtype: Annotated[Literal["float16", "bfloat16"] | None, Flag("data type of autocast with --dtype amp")] = None
    matmul_precision: Annotated[
        Literal["highest", "high", "medium", "default"] | None, Flag("precision of float32 matrix products")
    ] = None
    disable_tf32: Annotated[
        Literal[True] | None, Flag("disable TensorFloat-32 in matrix products and convolutions (CUDA)")
    ] = None
    xla_flags: Annotated[
        tuple[XlaFlags, ...],
        Flag("XLA_FLAGS of the XLA backends; each occurrence adds a variant, and None adds one without flags"),
    ] = ()
    without_fallback: Annotated[
        tuple[Ops, ...],
        Flag(
            "measure the XLA backends twice: unchanged, and with these fallback ops replaced by torch's decomposition "
            "or PyTorch/XLA's opt-in lowering, to estimate what a lowering would gain"
        ),
    ] = ()
    enable_functionalization: Annotated[
        Literal[True] | None, Flag("functionalize XLA tensors, even if the preset disables it")
    ] = None
    compile_mode: Annotated[
        Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None,
        Flag("mode of torch.compile"),
    ] = None
    dynamic_shapes: Annotated[Literal[True] | None, Flag("compile with torch.compile(dynamic=True)")] = None
    dynamic_batch_only: Annotated[
        Literal[True] | None, Flag("with --dynamic-shapes: only the batch dimension is dynamic")
    ] = None
    fullgraph: Annotated[
        Literal[True] | None,
        Flag("fail on a graph break instead of continuing", names=("--filter-by-single-graph",)),
    ] = None
    cudagraphs: Annotated[
        Literal[False] | None,
        Flag("", off=("--disable-cudagraphs", "disable CUDA graphs, even if the preset enables them")),
    ] = None
    freezing: Annotated[Literal[True] | None, Flag("let inductor freeze parameters into the program (eval)")] = None
    dynamo_config: Annotated[tuple[Override, ...], Flag("set torch._dynamo.config.KEY")] = ()
    inductor_config: Annotated[tuple[Override, ...], Flag("set torch._inductor.config.KEY")] = ()
    randomize_input: Annotated[Literal[True] | None, Flag("draw new floating-point inputs for each iteration")] = None
    with_optimizer: Annotated[
        Identifier | None,
        Flag("include an optimizer step in train (default: SGD)", metavar="CLASS", const="SGD"),
    ] = None
    no_optimizer: Annotated[bool, Flag("run train without an optimizer step, whatever the preset says")] = False
    loss: Annotated[Identifier | None, Flag("loss function of train (default: the suite's own)", metavar="NAME")] = None
    weights: Annotated[Weights | None, Flag("model weights (default: random, so nothing is downloaded)")] = None
    cache: Annotated[
        CacheState | Literal["both"],
        Flag("compiler caches: empty, filled by an earlier process, or measure both (default: cold)"),
    ] = "cold"
    keep_model_data_on_cuda: Annotated[
        bool | None,
        Flag(
            "keep the model on the host device; the dynamo bridge moves it",
            off=("--trace-on-xla", "keep the model on the XLA device (default)"),
        ),
    ] = None
    use_xla_baseline: Annotated[bool, Flag("also plan openxla+lazytensor, as a baseline")] = False
    collect_full_output: Annotated[Literal[True] | None, Flag("return predictions, loss and gradients from train")] = (
        None
    )
    include_transfers: Annotated[
        Literal[True] | None, Flag("time the transfer of inputs to the device and of results back")
    ] = None
    pure_wall_time: Annotated[
        Literal[True] | None, Flag("measure time with device events around each iteration (CUDA)")
    ] = None
    exec_mode: Annotated[
        Literal["continuous", "discrete", "continuous_events"],
        Flag(
            "operators: call back to back, synchronize after each call, or time with device events on CUDA (default: "
            "continuous)"
        ),
    ] = "continuous"
    cuda_l2_cache: Annotated[
        Literal["on", "off"],
        Flag("operators: `off` clears the L2 cache before each call and synchronizes after it (CUDA)"),
    ] = "on"


class Protocol(TypedSettings, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of measurement and artifacts that `TypedSettings` lacks; None stands for the run's default."""

    repeat: Annotated[Count | None, Flag("number of timed blocks in the steady state (default: 20)")] = None
    processes: Annotated[
        Count | None, Flag("number of benchmark processes per experiment (default: 3)", metavar="K")
    ] = None
    time_budget: Annotated[
        Seconds | None,
        Flag(
            "seconds that one process may measure after its warm-up with --until-stable (default: 60), or that all "
            "additional processes may take with --until-verdict (default: 600)"
        ),
    ] = None
    no_wait_quiet: Annotated[
        bool,
        Flag(
            "do not wait for a quiet machine before a group's turns (default: wait up to 10 s, and up to a tenth of "
            "the run in total)"
        ),
    ] = False
    own_priority: Annotated[
        bool, Flag("do not raise the priority of benchmark processes (default: raise it where permitted)")
    ] = False
    subprocess_timeout: Annotated[
        Count | None, Flag("time limit of one process in seconds (default: 1800)", metavar="S")
    ] = None
    memory_limit: Annotated[Bytes | None, Flag("kill a benchmark process that exceeds this memory, for example 8G")] = (
        None
    )
    retry_new_failures: Annotated[
        Number,
        Flag(
            "measure a group again, in new interpreters, up to N times if an experiment fails that ran when it was "
            "last measured (default: 1)",
        ),
    ] = 1
    verify: Annotated[
        bool,
        Flag("measure, and compare the results with those of eager in a separate process", group=VERIFICATION),
    ] = False
    verify_only: Annotated[
        bool, Flag("compare the results with those of eager without measuring time", group=VERIFICATION)
    ] = False
    prove: Annotated[
        bool,
        Flag(
            "repeat the timing proof of each backend (default: with preset xlabench, once per backend, environment "
            "and machine)",
            group=VERIFICATION,
        ),
    ] = False
    instruments: Annotated[tuple[Instrument, ...], Flag("", texts=INSTRUMENTS, group=ARTIFACTS)] = ()
    artifact_limit: Annotated[
        Bytes | None, Flag("size limit of artifacts per experiment (default: 1G)", group=ARTIFACTS)
    ] = None


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One experiment of a plan file; without an id, whatever its configuration gives."""

    experiment_id: str | None = None
    environment: str = "default"
    config: dict[str, Any]
    skip_reason: str | None = None
    not_here: str | None = None
    """Why the machine that printed the plan could not measure it; another may, so nobody reads it."""
    notes: tuple[str, ...] = ()
    in_spite_of: str | None = None
    used_by: UsedBy | None = None


class PlanFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan file as it lies on the disk."""

    schema_version: int
    settings: dict[str, Any] = {}
    environments: tuple[str, ...] = ("default",)
    experiments: tuple[FileEntry, ...]


class JobKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"):
    """What a row of a job can be; `kind` says which."""


class RunRequest(JobKind, frozen=True, kw_only=True, tag="run"):
    """Measure a selection, or exactly the experiments of a plan: `xlabench run`, as data that a job may hold."""

    selection: Selection = Selection()
    configuration: Configuration = Configuration()
    protocol: Protocol = Protocol()
    plan: PlanFile | None = None
    """A plan in place of selection and configuration, which are then ignored."""
    environments: tuple[Name, ...] = ()
    """Names of `xlabench.toml`, or `default`; none: the current interpreter."""
    accelerator_model: DeviceModel | None = None
    """A job waits for a host with one; none: any will do."""
