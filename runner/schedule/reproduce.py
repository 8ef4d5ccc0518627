"""The command that measures one experiment again: what a record says to whoever doubts it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from runner.flags import command_line, request_words, spaced
from runner.plan import presets
from runner.plan.protocol import protocol_of
from runner.plan.request import Configuration, RunRequest, Selection
from runner.suites.operators import configuration
from store.record import ExperimentConfig

if TYPE_CHECKING:
    from pathlib import Path

    from runner.settings import Settings
    from store.record import PlanEntry

_ENVIRONMENT = "default"


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
    request = RunRequest(
        selection=_selection(entry),
        configuration=_configuration(config, settings.preset),
        protocol=protocol_of(settings),
    )
    words = []
    if config.source is not None:
        words = [config.model_name, *(f"--input={text}" for text in config.source.inputs)]
    words += spaced(request_words(request))
    if (entry.environment, python) != (_ENVIRONMENT, sys.executable):
        words += ["--env", f"{entry.environment}={python}"]
    if torchbench_dir is not None and config.suite_name == "torchbench":
        words += ["--torchbench-dir", str(torchbench_dir.absolute())]
    words += ["--no-verify"] if config.source and settings.verify == "off" else []
    return command_line(["run", *words])


def _selection(entry: PlanEntry) -> Selection:
    config = entry.config
    own = config.source is not None
    axes: dict[str, Any] = {
        "xla": (config.xla,),
        "dynamo": (config.dynamo,),
        "torch_xla2": (config.torch_xla2,) if config.torch_xla2 else (),
    }
    return Selection(
        suite_name=() if own else (config.suite_name,),
        only=() if own else (f"{config.suite_name}/{config.model_name}",),
        config=() if config.operator is None else (configuration.text_of(config.operator, config.model_name),),
        accelerator=(config.accelerator,),
        test=(config.test,),
        no_skip=bool(entry.in_spite_of),
        **axes,
    )


def _configuration(config: ExperimentConfig, preset: str) -> Configuration:
    """Return what differs from the preset."""
    fixed = presets.requested(preset, config.suite_name, config.model_name, config.test, config.accelerator)
    plain = ExperimentConfig(
        suite_name=config.suite_name, model_name=config.model_name, test=config.test, accelerator=config.accelerator
    )
    fields: dict[str, Any] = {"preset": preset} | {
        name: getattr(config, name)
        for name in presets.CONFIGURABLE
        # The dtype of an operator is that of the call, and no flag changes it.
        if not (name == "dtype" and config.operator is not None)
        and getattr(config, name) != fixed.get(name, getattr(plain, name))
    }
    overrides = [(*key.partition("."), value) for key, value in config.overrides.items()]
    for library in ("dynamo", "inductor"):
        fields[f"{library}_config"] = tuple((name, value) for of, _, name, value in overrides if of == library)
    if config.operator is not None:
        fields["exec_mode"] = "discrete" if config.operator.discrete else "continuous"
        fields["cuda_l2_cache"] = "off" if config.operator.clear_cache else "on"
    return Configuration(
        batch_size=config.batch_size,
        with_optimizer=config.optimizer if config.optimizer != fixed.get("optimizer") else None,
        no_optimizer=config.optimizer is None and fixed.get("optimizer") is not None,
        xla_flags=(config.xla_flags,) if config.xla_flags else (),
        without_fallback=(config.without_fallback,) if config.without_fallback else (),
        cache=config.cache,
        **fields,
    )
