"""Checks that the parts of a request do not contradict each other."""

from __future__ import annotations

from runner.accelerators import refuse_index
from runner.accelerators.base import NoSuchDevice
from runner.environments.machine import detect
from runner.plan.local_request import LocalRequest
from runner.plan.request import Configuration, Protocol, Selection
from runner.settings import Settings
from store.errors import UsageError

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
    _check_selection(request.selection)
    if request.selection.ops_of:
        _check_beside_ops_of(request)
    _check_backends(request.selection, request.configuration)
    _check_configuration(request.configuration)
    names = [name for name, _ in request.environments]
    if len(set(names)) < len(names):
        raise UsageError(f"--env: names of environments must be unique, not {', '.join(names)}.")
    _check_device_index(request)
    _check_protocol(request.protocol)


def _check_selection(selection: Selection) -> None:
    if not 0 <= selection.partition_id < selection.total_partitions:
        raise UsageError(
            f"--partition-id {selection.partition_id}: there are {selection.total_partitions} parts, counted from 0. "
            "Choose a smaller part, or pass a larger --total-partitions."
        )
    if selection.suite_name and bool(selection.config) != ("operators" in selection.suite_name):
        raise UsageError("--config FILE and --suite-name operators require each other; pass both.")


def _check_beside_ops_of(request: LocalRequest) -> None:
    selection = request.selection
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
    if configuration.amp_dtype and configuration.dtype not in (None, "amp"):
        raise UsageError(f"--amp-dtype requires --dtype amp, but --dtype is {configuration.dtype}.")
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


def _check_protocol(protocol: Protocol) -> None:
    if protocol.verify and protocol.verify_only:
        raise UsageError("--verify and --verify-only exclude each other: the first also measures time; use one.")


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
