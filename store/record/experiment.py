"""What an experiment is: its model and the configuration that was asked for and resolved."""

from __future__ import annotations

from typing import Any

import msgspec

from store.record.words import Accelerator, CacheState, Test, Weights


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
