"""Turn parsed flags into the plan's request and the protocol's settings."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from runner.accelerators import refuse_index
from runner.accelerators.base import NoSuchDevice
from runner.environments.machine import detect
from runner.errors import UsageError
from runner.flags.artifacts import INSTRUMENTS
from runner.flags.selection import SMOKE
from runner.messages import Settings
from runner.plan import PlanRequest, presets
from runner.suites.base import SuiteContext

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from runner.messages import ProveMode


QUIET = "XLABENCH_QUIET"
"""Environment variable; `off`: turns are not judged, priorities are left alone, and proofs are taken on request only.

Tests want it so on any machine.
"""


def plan_request(arguments: argparse.Namespace) -> PlanRequest:
    """Turn parsed flags into a request.

    Raises:
        UsageError: values that contradict each other, or a folder that is not there.
    """
    directory: Path | None = arguments.torchbench_dir
    _refuse_contradictions(arguments)
    _refuse_device_index(arguments)
    suites = tuple(dict.fromkeys(arguments.suite_name)) or (("operators",) if arguments.config else ())
    accelerators = tuple(dict.fromkeys(arguments.accelerator))
    if arguments.smoke:
        suites = suites or tuple(dict.fromkeys(name.partition("/")[0] for name in SMOKE))
        accelerators = accelerators or ("cpu",)
    return PlanRequest(
        suites=suites,
        accelerators=accelerators,
        backends=tuple(dict.fromkeys(arguments.backend)),
        xla=tuple(dict.fromkeys(arguments.xla)),
        dynamo=tuple(dict.fromkeys(arguments.dynamo)),
        torch_xla2=tuple(dict.fromkeys(arguments.torch_xla2)),
        xla_flags=tuple(dict.fromkeys(arguments.xla_flags)),
        without_fallback=tuple(dict.fromkeys(arguments.without_fallback)),
        caches=("cold", "warm") if arguments.cache == "both" else (arguments.cache,),
        xla_baseline=arguments.use_xla_baseline,
        tests=tuple(dict.fromkeys(arguments.test)) or (("eval",) if arguments.smoke else ()),
        filters=tuple(arguments.filter),
        excludes=tuple(arguments.exclude),
        only=tuple(dict.fromkeys(arguments.only)),
        models_file=arguments.models_file,
        tiers=tuple(dict.fromkeys(arguments.filter_by_tier)),
        excluded_tiers=tuple(dict.fromkeys(arguments.exclude_by_tier)),
        fast=arguments.fast,
        no_skip=arguments.no_skip,
        models=SMOKE if arguments.smoke else (),
        batch_size=arguments.batch_size,
        preset=arguments.preset,
        requested=_requested(arguments),
        total_partitions=arguments.total_partitions,
        partition_id=arguments.partition_id,
        plan_file=arguments.plan,
        environments=tuple(arguments.env),
        context=SuiteContext(
            torchbench_dir=directory,
            operator_configs=tuple(dict.fromkeys(arguments.config)),
            discrete=arguments.exec_mode == "discrete",
            clear_cache=arguments.cuda_l2_cache == "off",
        ),
    )


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    _refuse_contradicting_backends(arguments)
    directory = arguments.torchbench_dir
    if directory is not None and not directory.is_dir():
        raise UsageError(
            f"--torchbench-dir {directory}: no such folder; pass a checkout of github.com/pytorch/benchmark"
        )
    if not 0 <= arguments.partition_id < arguments.total_partitions:
        raise UsageError(
            f"--partition-id {arguments.partition_id}: with --total-partitions {arguments.total_partitions} it must be "
            f"at least 0 and less than {arguments.total_partitions}"
        )
    if arguments.with_optimizer and arguments.no_optimizer:
        raise UsageError("--with-optimizer and --no-optimizer exclude each other; use one")
    if arguments.amp_dtype and arguments.dtype not in (None, "amp"):
        raise UsageError(f"--amp-dtype requires --dtype amp, but --dtype is {arguments.dtype}")
    if arguments.dynamic_batch_only and not arguments.dynamic_shapes:
        raise UsageError("--dynamic-batch-only requires --dynamic-shapes; pass both")
    mode = arguments.compile_mode
    if arguments.cudagraphs is False and mode in presets.WITHOUT_CUDAGRAPHS:
        raise UsageError(
            f"--disable-cudagraphs: compile mode {mode} enables CUDA graphs; "
            f"pass --compile-mode {presets.WITHOUT_CUDAGRAPHS[mode]}"
        )
    if arguments.suite_name and bool(arguments.config) != ("operators" in arguments.suite_name):
        raise UsageError("--config FILE and --suite-name operators require each other; pass both")
    names = [name for name, _ in arguments.env]
    if len(set(names)) < len(names):
        raise UsageError(f"--env: names of environments must be unique, not {', '.join(names)}")


def _refuse_contradicting_backends(arguments: argparse.Namespace) -> None:
    if arguments.backend and (arguments.xla or arguments.dynamo or arguments.torch_xla2):
        raise UsageError("--backend replaces --xla, --dynamo and --torch-xla2; use one or the other")
    if arguments.without_fallback and arguments.xla and "PJRT" not in arguments.xla:
        raise UsageError("--without-fallback: only PyTorch/XLA has fallback ops; remove --xla None")


def _refuse_device_index(arguments: argparse.Namespace) -> None:
    index = getattr(arguments, "device_index", None)
    if index is None:
        return
    devices = detect().devices
    for accelerator in arguments.accelerator or devices:
        try:
            refuse_index(accelerator, index, len(devices[accelerator]) if accelerator in devices else None)
        except NoSuchDevice as error:
            raise UsageError(str(error)) from None


def _requested(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of `ExperimentConfig` that the flags fix; what is not given is left to the preset."""
    fixed = {name: value for name in presets.CONFIGURABLE if (value := getattr(arguments, name, None)) is not None}
    if arguments.no_optimizer:
        fixed["optimizer"] = None
    elif arguments.with_optimizer:
        fixed["optimizer"] = arguments.with_optimizer
    if arguments.exec_mode == "continuous_events":
        fixed["pure_wall_time"] = True
    overrides = {f"dynamo.{key}": value for key, value in arguments.dynamo_config}
    overrides |= {f"inductor.{key}": value for key, value in arguments.inductor_config}
    return fixed | ({"overrides": overrides} if overrides else {})


def settings(arguments: argparse.Namespace) -> Settings:
    """Turn parsed flags into protocol settings."""
    usual = Settings()
    if arguments.warmup_max < usual.warmup_min:
        raise UsageError(
            f"--warmup-max {arguments.warmup_max}: the steady state needs at least {usual.warmup_min} blocks"
        )
    if arguments.verify and arguments.verify_only:
        raise UsageError("--verify and --verify-only exclude each other: the first also measures time; use one")
    instruments = [name for name in INSTRUMENTS if getattr(arguments, name)]
    if arguments.save_ir_format:
        instruments.append("save_ir")
    return Settings(
        preset=arguments.preset,
        repeat=arguments.repeat or presets.REPEATS[arguments.preset],
        until_stable=arguments.until_stable,
        time_budget_s=arguments.time_budget,
        processes=arguments.processes or (1 if arguments.smoke else presets.PROCESSES[arguments.preset]),
        until_verdict=arguments.until_verdict,
        twins=arguments.twins,
        interleave=arguments.interleave,
        rounds=arguments.rounds,
        rewarm=arguments.rewarm,
        iterations_per_run=arguments.iterations_per_run,
        warmup_max=arguments.warmup_max,
        timeout_s=float(arguments.subprocess_timeout or usual.timeout_s),
        threads=arguments.threads,
        quiet=os.environ.get(QUIET) != "off" and not getattr(arguments, "quick", False),
        wait_quiet=not arguments.no_wait_quiet,
        raise_priority=not arguments.own_priority and os.environ.get(QUIET) != "off",
        seed=arguments.seed,
        start=arguments.start,
        device_index=arguments.device_index,
        memory_limit_bytes=arguments.memory_limit,
        verify="only" if arguments.verify_only else "with" if arguments.verify or arguments.smoke else "off",
        prove=_prove(arguments),
        verify_iterations=arguments.verify_iterations,
        tolerance=arguments.tolerance,
        cosine=arguments.cosine,
        instruments=tuple(instruments),
        save_ir_format=arguments.save_ir_format,
        profile_xla_duration_ms=arguments.profile_xla_duration_ms,
        artifact_limit_bytes=arguments.artifact_limit or usual.artifact_limit_bytes,
        collect_dynamo_counters=arguments.collect_dynamo_counters,
        print_subprocess=arguments.print_subprocess,
    )


def _prove(arguments: argparse.Namespace) -> ProveMode:
    """Say whether timing proofs are needed: of presets that count as another harness, on request only."""
    if arguments.prove:
        return "again"
    if getattr(arguments, "quick", False):
        return "off"
    return "once" if arguments.preset == "xlabench" and os.environ.get(QUIET) != "off" else "off"


def command_line(arguments: Sequence[str]) -> str:
    """Return the command as one types it."""
    return shlex.join(["xlabench", *arguments])
