"""The command that measures one experiment again: what a record says to whoever doubts it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from runner.flags import types
from runner.messages import Settings
from runner.plan import presets
from runner.suites.operators import configuration
from store.record import ExperimentConfig

if TYPE_CHECKING:
    from pathlib import Path

    from store.record import PlanEntry

_ENVIRONMENT = "default"
_SETTINGS = {
    "threads": "--threads",
    "seed": "--seed",
    "warmup_max": "--warmup-max",
    "interleave": "--interleave",
    "rounds": "--rounds",
    "rewarm": "--rewarm",
    "timeout_s": "--subprocess-timeout",
    "start": "--start",
    "wait_quiet": "--no-wait-quiet",
    "raise_priority": "--own-priority",
    "device_index": "--device-index",
    "memory_limit_bytes": "--memory-limit",
    "verify_iterations": "--verify-iterations",
    "tolerance": "--tolerance",
    "cosine": "--cosine",
    "save_ir_format": "--save-ir-format",
    "profile_xla_duration_ms": "--profile-xla-duration-ms",
    "artifact_limit_bytes": "--artifact-limit",
    "collect_dynamo_counters": "--collect-dynamo-counters",
}
"""Flags of the settings that are named where they are not the usual ones."""
_VERIFY = {"with": ["--verify"], "only": ["--verify-only"]}
_OFF = {"cudagraphs": "--disable-cudagraphs", "keep_model_data_on_cuda": "--trace-on-xla"}
"""Flags of what a preset has on."""


def reproduce(
    entry: PlanEntry, settings: Settings, python: str = sys.executable, torchbench_dir: Path | None = None
) -> str:
    """Return the command as one types it.

    Args:
        entry: the experiment.
        settings: how it was measured.
        python: the interpreter of its environment.
        torchbench_dir: the checkout of torchbench, where one was named.
    """
    config = entry.config
    words = ["--suite-name", config.suite_name, "--only", f"{config.suite_name}/{config.model_name}"]
    if config.source is not None:
        words = [config.model_name, *(f"--input={text}" for text in config.source.inputs)]
    words += ["--accelerator", config.accelerator, "--xla", str(config.xla), "--dynamo", str(config.dynamo)]
    words += ["--test", config.test]
    if config.batch_size is not None:
        words += ["--batch-size", str(config.batch_size)]
    if (entry.environment, python) != (_ENVIRONMENT, sys.executable):
        words += ["--env", f"{entry.environment}={python}"]
    if torchbench_dir is not None and config.suite_name == "torchbench":
        words += ["--torchbench-dir", str(torchbench_dir.absolute())]
    if config.operator is not None:
        words += ["--config", configuration.text_of(config.operator, config.model_name)]
        words += ["--exec-mode", "discrete"] if config.operator.discrete else []
        words += ["--cuda-l2-cache", "off"] if config.operator.clear_cache else []
    if entry.in_spite_of:
        words.append("--no-skip")
    words += _configuration_words(config, settings.preset) + _setting_words(settings)
    words += ["--no-verify"] if config.source and settings.verify == "off" else []
    return shlex.join(["xlabench", "run", *words])


def _configuration_words(config: ExperimentConfig, preset: str) -> list[str]:
    """Return the flags for what differs from the preset."""
    fixed = presets.requested(preset, config.suite_name, config.model_name, config.test, config.accelerator)
    plain = ExperimentConfig(
        suite_name=config.suite_name, model_name=config.model_name, test=config.test, accelerator=config.accelerator
    )
    words = []
    for name in presets.CONFIGURABLE:
        if name == "dtype" and config.operator is not None:
            continue  # that of the call, and no flag changes it
        if getattr(config, name) != fixed.get(name, getattr(plain, name)):
            words += _flag("--" + name.replace("_", "-"), getattr(config, name), _OFF.get(name))
    if config.optimizer != fixed.get("optimizer"):
        words += ["--with-optimizer", config.optimizer] if config.optimizer else ["--no-optimizer"]
    for key, value in config.overrides.items():
        library, _, name = key.partition(".")
        words += [f"--{library}-config", f"{name}={value}"]
    if config.torch_xla2:
        words += ["--torch-xla2", config.torch_xla2]
    if config.xla_flags:
        words.append(f"--xla-flags={shlex.join(config.xla_flags)}")
    if config.without_fallback:
        words.append(f"--without-fallback={','.join(config.without_fallback)}")
    if config.cache != plain.cache:
        words += ["--cache", config.cache]
    return words


def _setting_words(settings: Settings) -> list[str]:
    usual = Settings()
    words = ["--preset", settings.preset, "--repeat", str(settings.repeat)]
    words += ["--processes", str(settings.processes), "--iterations-per-run", str(settings.iterations_per_run)]
    if settings.until_stable is not None:
        words.append(f"--until-stable={types.percent_text(settings.until_stable)}")
        # Alone it belongs to the whole run.
        words += _flag("--time-budget", settings.time_budget_s) if settings.time_budget_s is not None else []
    for name, flag in _SETTINGS.items():
        if getattr(settings, name) != getattr(usual, name):
            words += _flag(flag, getattr(settings, name), off=flag)
    # The IR is saved wherever its form is named.
    words += ["--" + name.replace("_", "-") for name in settings.instruments if name != "save_ir"]
    return words + _VERIFY.get(settings.verify, [])


def _flag(flag: str, value: object, off: str | None = None) -> list[str]:
    if value is True:
        return [flag]
    if value is False:
        return [off] if off else []
    return [f"{flag}={value:g}" if isinstance(value, float) and value.is_integer() else f"{flag}={value}"]
