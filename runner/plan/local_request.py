"""A request with what only a command may add to it, whether its parts agree, the plan made of it, and its entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import msgspec

from runner.accelerators import ACCELERATORS, refuse_index
from runner.accelerators.base import NoSuchDevice
from runner.backends import backend_of, openxla, xla_of
from runner.environments.machine import Machine, detect
from runner.flag import Flag, Word
from runner.plan import values
from runner.plan.request import Configuration, Protocol, RunRequest, Selection
from runner.settings import Settings
from runner.suites.base import SuiteContext, TriedModel
from store.errors import UsageError
from store.identity import backend_name, digest, experiment_id, variant, workload
from store.record import Accelerator, ExperimentConfig, PlanEntry, Test

SMOKE = ("timm_models/resnet18", "huggingface/DistilBertForMaskedLM")
"""Models of the smoke plan: well known, with random weights, in eval; they take minutes on two cores."""


class LocalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and what only a command may add: files, programs and code of this machine. No job holds any of it."""

    request: RunRequest = RunRequest()
    given: frozenset[str] = frozenset()
    """Fields of the request that were typed, also with their default value."""
    models_file: Annotated[
        Path | None,
        Flag("measure the models listed in FILE, one per line, in this order (not in jobs)", metavar="FILE"),
    ] = None
    plan: Annotated[Path | None, Flag("repeat a plan that `plan --format yaml` printed", metavar="FILE")] = None
    """File from which the plan of the request was read."""
    env: Annotated[
        tuple[tuple[str, Path | None], ...],
        Flag(
            "measure with this Python interpreter and its packages; repeat to compare environments (default: the "
            "current one). NAME alone, the only form that jobs accept, refers to xlabench.toml in the home, or is "
            "`default`",
            metavar="NAME=PYTHON",
            word=Word(values.environment),
        ),
    ] = ()
    """Name and interpreter of each environment; None if the name is one of `xlabench.toml`."""
    torchbench_dir: Annotated[
        Path | None,
        Flag("checkout of github.com/pytorch/benchmark ($TORCHBENCH_DIR)", metavar="DIR", group="configuration"),
    ] = None
    print_subprocess: Annotated[bool, Flag("print the output of benchmark processes", group="measurement")] = False
    quick: bool = False
    """Whether this is a first look: disturbed turns count, and no timing proof is taken."""
    own: tuple[TriedModel, ...] = ()
    """Models of the user's own."""
    models: tuple[str, ...] = ()
    """Exact `suite/model` names of a file or recording; if there are any, nothing else is planned."""
    tests_of: Mapping[str, tuple[Test, ...]] = {}
    """Suite → its tests, if they differ from those of the selection."""
    environment: str = "default"
    """Name of the environment that is planned."""

    @classmethod
    def of_job(cls, request: RunRequest) -> LocalRequest:
        """Return a job's request with the fields that differ from their defaults; with a plan, without filters."""
        if request.plan is not None:
            request = msgspec.structs.replace(request, selection=Selection(), configuration=Configuration())
        protocol = request.protocol
        usual = {field.name: field.default for field in msgspec.structs.fields(protocol)}
        changed = frozenset(name for name in usual if getattr(protocol, name) != usual[name])
        return cls(request=request, given=changed)

    @property
    def selection(self) -> Selection:
        return self.request.selection

    @property
    def configuration(self) -> Configuration:
        return self.request.configuration

    @property
    def protocol(self) -> Protocol:
        return self.request.protocol

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the requested suites; by default those of exact names, otherwise all."""
        chosen = tuple(dict.fromkeys(self.selection.suite_name)) or ("operators",) * bool(self.selection.config)
        return chosen or tuple(dict.fromkeys(name.partition("/")[0] for name in self.exactly))

    @property
    def exactly(self) -> tuple[str, ...]:
        """Return the `suite/model` names to which the plan is restricted; empty without such a restriction."""
        return self.models or SMOKE * self.selection.smoke

    @property
    def accelerators(self) -> tuple[Accelerator, ...]:
        return tuple(dict.fromkeys(self.selection.accelerator)) or (("cpu",) if self.selection.smoke else ())

    @property
    def tests(self) -> tuple[Test, ...]:
        return tuple(dict.fromkeys(self.selection.test)) or (("eval",) if self.selection.smoke else ())

    @property
    def environments(self) -> tuple[tuple[str, Path | None], ...]:
        """Return name and interpreter of each environment; None if the name is one of `xlabench.toml`."""
        return self.env or tuple((name, None) for name in self.request.environments)

    @property
    def context(self) -> SuiteContext:
        return SuiteContext(
            torchbench_dir=self.torchbench_dir,
            operator_configs=tuple(dict.fromkeys(self.selection.config)),
            discrete=self.configuration.exec_mode == "discrete",
            clear_cache=self.configuration.cuda_l2_cache == "off",
            own=self.own,
        )

    def changed(self, **fields: Any) -> LocalRequest:
        """Return the request with other values of fields, also of its selection, configuration and protocol."""
        groups = {}
        for name in ("selection", "configuration", "protocol"):
            group = getattr(self, name)
            groups[name] = msgspec.structs.replace(
                group, **{key: fields.pop(key) for key in group.__struct_fields__ if key in fields}
            )
        return msgspec.structs.replace(self, request=msgspec.structs.replace(self.request, **groups), **fields)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The experiments in the order they are measured, and the suites that could not be listed, with reasons."""

    entries: tuple[PlanEntry, ...]
    missing_suites: dict[str, str] = field(default_factory=dict)

    @property
    def plan_id(self) -> str:
        """Return the hash of the experiments and their environments; a run resumes only with the same one."""
        return digest([(*entry.key, entry.runnable) for entry in self.entries])

    @property
    def runnable(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entry in self.entries if entry.runnable)

    @property
    def skipped(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.runnable)


# Checks that the parts of a request do not contradict each other.


WITHOUT_CUDAGRAPHS = {"reduce-overhead": "default", "max-autotune": "max-autotune-no-cudagraphs"}
"""Modes of `torch.compile` that enable CUDA graphs regardless of inductor's setting → their modes without."""


def check(request: LocalRequest) -> None:
    """Check a request where it enters.

    Raises:
        UsageError: values that contradict each other, or a folder that is not there.
    """
    directory = request.torchbench_dir
    if directory is not None and not directory.is_dir():
        raise UsageError(
            f"--torchbench-dir {directory}: no such folder; pass a checkout of github.com/pytorch/benchmark."
        )
    _check_selection(request)
    _check_backends(request.selection, request.configuration)
    _check_configuration(request.configuration)
    names = [name for name, _ in request.environments]
    if len(set(names)) < len(names):
        raise UsageError(f"--env: names of environments must be unique, not {', '.join(names)}.")
    _check_device_index(request)
    if request.protocol.verify and request.protocol.verify_only:
        raise UsageError("--verify and --verify-only exclude each other: the first also measures time; use one.")


def _check_selection(request: LocalRequest) -> None:
    selection = request.selection
    if not 0 <= selection.partition_id < selection.total_partitions:
        raise UsageError(
            f"--partition-id {selection.partition_id}: there are {selection.total_partitions} parts, counted from 0. "
            "Choose a smaller part, or pass a larger --total-partitions."
        )
    if selection.suite_name and bool(selection.config) != ("operators" in selection.suite_name):
        raise UsageError("--config FILE and --suite-name operators require each other; pass both.")
    if selection.ops_of is None:
        return
    if selection.config or selection.suite_name or request.request.plan or selection.only or selection.smoke:
        raise UsageError("--ops-of selects the experiments; remove --suite-name, --config, --only, --plan, --smoke.")
    if len(selection.test) > 1:
        raise UsageError("--ops-of records one test of the model; pass --test eval or --test train.")


def _check_backends(selection: Selection, configuration: Configuration) -> None:
    if selection.backend and (selection.xla or selection.dynamo or selection.torch_xla2):
        raise UsageError("--backend replaces --xla, --dynamo and --torch-xla2; use one or the other.")
    if configuration.without_fallback and selection.xla and "PJRT" not in selection.xla:
        raise UsageError("--without-fallback: only PyTorch/XLA has fallback ops; remove --xla None.")


def _check_configuration(configuration: Configuration) -> None:
    if configuration.with_optimizer and configuration.no_optimizer:
        raise UsageError("--with-optimizer and --no-optimizer exclude each other; use one.")
    dtype = configuration.dtype or ("float32" if configuration.preset == "xlabench" else None)  # others may have amp
    if configuration.amp_dtype and dtype not in (None, "amp"):
        raise UsageError(f"--amp-dtype requires --dtype amp, but the dtype is {dtype}.")
    if configuration.dynamic_batch_only and not configuration.dynamic_shapes:
        raise UsageError("--dynamic-batch-only requires --dynamic-shapes; pass both.")
    mode = configuration.compile_mode
    if configuration.cudagraphs is False and mode in WITHOUT_CUDAGRAPHS:
        raise UsageError(
            f"--disable-cudagraphs: compile mode {mode} enables CUDA graphs; "
            f"pass --compile-mode {WITHOUT_CUDAGRAPHS[mode]}."
        )


def _check_device_index(request: LocalRequest) -> None:
    index = request.protocol.device_index
    if index is None:
        return
    devices = detect().devices
    for accelerator in request.selection.accelerator or devices:
        try:
            refuse_index(accelerator, index, len(devices[accelerator]) if accelerator in devices else None)
        except NoSuchDevice as error:
            raise UsageError(str(error)) from None


def agreeing(settings: Settings) -> Settings:
    """Return the settings if they do not contradict each other, as those of flags and of a plan file may.

    Raises:
        UsageError: a setting would have no effect, or end in a timeout, or no result could be steady.
    """
    _check_warm_up(settings)
    if settings.until_stable is not None and settings.until_verdict:
        raise UsageError("--until-stable and --until-verdict use --time-budget differently; use one of them.")
    if settings.until_stable is not None:
        _check_until_stable(settings)
    elif settings.until_verdict:
        _check_until_verdict(settings)
    elif settings.time_budget_s is not None:
        raise UsageError("--time-budget requires --until-stable or --until-verdict; pass one of them as well.")
    return settings


def _check_warm_up(settings: Settings) -> None:
    """Refuse a warm-up that ends before its blocks can be steady; under `peer` and `only` there is none."""
    most, judged = settings.warmup_max, settings.steady_blocks + 1  # the first block is none of those that agree
    least = max(settings.warmup_min, judged)
    if most >= least or settings.preset == "peer" or settings.verify == "only":
        return
    lower = " or lower --warmup-min" if least > judged else ""
    raise UsageError(
        f"--warmup-max {most}: every result would be `never_steady`, because a warm-up takes at least {least} blocks; "
        f"raise --warmup-max to {least}{lower}."
    )


def _check_until_stable(settings: Settings) -> None:
    if settings.preset == "peer":
        raise UsageError("--until-stable: the preset peer always takes exactly --repeat blocks; use another preset.")
    if settings.stable_budget_s >= settings.timeout_s:
        raise UsageError(
            f"--until-stable may measure for {settings.stable_budget_s:g} s, but processes are killed after "
            f"{settings.timeout_s:g} s; decrease --time-budget or increase --subprocess-timeout."
        )


def _check_until_verdict(settings: Settings) -> None:
    if settings.purpose == "calibration":
        raise UsageError("--until-verdict: a calibration has no verdicts; remove the flag.")
    if settings.verify == "only":
        raise UsageError("--until-verdict and --verify-only exclude each other: the second measures no time; use one.")
    if settings.preset == "peer":
        raise UsageError("--until-verdict: the preset peer fixes the number of measurements; use another preset.")


# One planned experiment: its identity, its group, and what keeps this machine from measuring it.


def make_entry(
    config: ExperimentConfig,
    environment: str,
    skip_reason: str | None,
    notes: tuple[str, ...] = (),
    in_spite_of: str | None = None,
) -> PlanEntry:
    """Give a configuration its identity, variant and group."""
    workload_of = (config.suite_name, config.model_name, config.test, config.dtype, config.batch_size)
    group = [*workload_of, config.accelerator]
    if timed := workload(config):
        group.append(timed)
    return PlanEntry(
        experiment_id=experiment_id(config),
        config=config,
        variant=variant(config),
        backend=backend_name(config.xla, config.dynamo, config.torch_xla2),
        environment=environment,
        group="/".join(str(part) for part in group),
        skip_reason=skip_reason,
        notes=notes,
        in_spite_of=in_spite_of,
    )


def cannot_run(config: ExperimentConfig, machine: Machine) -> str | None:
    """Say why this machine, or any, cannot measure the configuration."""
    return (
        not_measurable(config)
        or backend_of(config.xla, config.dynamo, config.torch_xla2).unavailable(config.accelerator, machine)
        or cannot_replace(config.without_fallback, machine)
    )


KEEP_MODEL_DATA = (
    "keep-model-data-on-cuda was removed from PyTorch/XLA: its dynamo bridge no longer moves tensors, "
    "and runs those of another device eagerly"
)
ONLY_XLA_FALLS_BACK = "without-fallback: only PyTorch/XLA has fallback ops, not this backend"
XLA_CPU_CACHE = (
    "cache=warm: PyTorch/XLA writes its programs for the CPU to its cache and cannot read them back "
    "(`Deserializing serialized executable not supported`), so every start is cold"
)


def not_measurable(config: ExperimentConfig) -> str | None:
    """Say why the configuration can be measured nowhere, or None. Imports no torch."""
    if reason := _not_by_this_backend(config) or _not_on_this_device(config):
        return reason
    if config.dynamic_batch_only and config.include_transfers:
        return (
            "dynamic-batch-only and include-transfers exclude each other: the first marks "
            "inputs that already are on the device"
        )
    if config.cache == "warm" and (reason := _never_warm(config)):
        return reason
    return backend_of(config.xla, config.dynamo, config.torch_xla2).refuses(config)


def _not_by_this_backend(config: ExperimentConfig) -> str | None:
    """Say which setting belongs to another backend, or None."""
    if config.xla is None and xla_of(config.dynamo):
        return f"{config.dynamo} requires PyTorch/XLA; pass --xla {xla_of(config.dynamo)}"
    if config.without_fallback and (config.xla is None or config.torch_xla2):
        return ONLY_XLA_FALLS_BACK
    return KEEP_MODEL_DATA if config.keep_model_data_on_cuda and config.xla else None


def _not_on_this_device(config: ExperimentConfig) -> str | None:
    """Say what the device lacks that the timing needs, or None."""
    if config.pure_wall_time and (config.xla or not ACCELERATORS[config.accelerator].has_events):
        where = "PyTorch/XLA" if config.xla else f"the {config.accelerator}"
        return f"pure-wall-time uses device events, which {where} does not have"
    if config.operator is not None and config.operator.clear_cache and config.accelerator != "cuda":
        return f"cuda-l2-cache off requires a CUDA device, not {config.accelerator}"
    return None


def _never_warm(config: ExperimentConfig) -> str | None:
    """Say why an earlier process leaves nothing that this one could start from, or None."""
    if config.xla is None:
        return None if config.dynamo == "inductor" else f"cache=warm: {config.dynamo or 'eager'} keeps no cache on disk"
    return XLA_CPU_CACHE if config.accelerator == "cpu" else None


def cannot_replace(ops: Iterable[str], machine: Machine) -> str | None:
    """Say of the first op that has neither a decomposition nor an opt-in lowering why it cannot be replaced."""
    return next((reason for op in ops if (reason := _cannot_replace(op, machine))), None)


def _cannot_replace(op: str, machine: Machine) -> str | None:
    if openxla.is_host_read(op):
        return (
            f"without-fallback: {op} reads a value on the host, so there is nothing to "
            "lower; change the code that reads it"
        )
    if openxla.is_opt_in(op):
        return None
    aten = machine.aten_ops()
    if not aten:
        return f"without-fallback: torch could not list its decompositions, so {op} cannot be checked"
    if op not in aten:
        near = [name for name in sorted(aten) if name.startswith(f"{op}.")] or get_close_matches(op, aten, n=1)
        hint = f"; did you mean {' or '.join(near[:3])}?" if near else ""
        return f"without-fallback: torch has no op {op}{hint}"
    if not aten[op]:
        return (
            f"without-fallback: torch has no decomposition of {op}, and PyTorch/XLA no opt-in lowering: "
            "the gain cannot be measured before the op is lowered"
        )
    return None
