"""Which experiments PyTorch/XLA's runner would list, key by key as it spells them. Imports no torch."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

from runner.backends import xla_of
from runner.errors import UsageError
from runner.plan import values

if TYPE_CHECKING:
    import argparse

    from runner.environments.machine import Machine

KEYS = ("accelerator", "xla", "xla_flags", "dynamo", "torch_xla2", "test", "enable_functionalization")
"""Keys of an experiment configuration in their order; `batch_size` is optional."""

Choices = dict[str, list[Any]]


def choices(parsed: argparse.Namespace, here: Machine) -> Choices:
    """Return the values of each key: those given, in the order given, else their defaults."""
    accelerators = ["cpu", "tpu"] if "tpu" in here.accelerators else ["cpu"]
    given: Choices = {
        "accelerator": _unique(parsed.accelerator) or accelerators,
        "xla": _unique(parsed.xla) or [None, "PJRT"],
        "xla_flags": _unique(parsed.xla_flags) or [None],
        "dynamo": _unique(parsed.dynamo) or [None, "inductor", "openxla"],
        "torch_xla2": _unique(parsed.torch_xla2) or [None],
        "test": _unique(parsed.test) or ["eval", "train"],
        "enable_functionalization": [parsed.enable_functionalization],
    }
    if "XRT" in given["xla"]:
        raise UsageError("--xla XRT is not supported: XRT was removed from PyTorch/XLA; use PJRT")
    return given


def listed(given: Choices, here: Machine) -> list[dict[str, Any]]:
    """Return the configurations in their order, invalid and unavailable ones left out as there."""
    every = (dict(zip(KEYS, values, strict=True)) for values in product(*(given[key] for key in KEYS)))
    return [config for config in every if available(config, here)]


def available(config: dict[str, Any], here: Machine) -> bool:
    """Say whether their runner would run it: eager and inductor anywhere but on a TPU, XLA on what it knows here."""
    accelerator, xla, dynamo = config["accelerator"], config["xla"], config["dynamo"]
    if dynamo is not None and (config["torch_xla2"] or xla_of(dynamo) != xla):
        return False
    if xla is None:
        return bool(accelerator != "tpu")
    if accelerator in ("cuda", "xpu"):
        return False
    return bool(config["torch_xla2"]) or ("torch_xla" in here.packages and accelerator in here.accelerators)


def exactly(parsed: argparse.Namespace) -> tuple[Choices, str, int | None]:
    """Return the one configuration, model and batch size of --experiment-config and --model-config.

    Raises:
        UsageError: one of the two is missing, is no JSON object, or lacks a key.
    """
    if parsed.experiment_config is None or parsed.model_config is None:
        raise UsageError("--experiment-config and --model-config require each other; pass both")
    config = _object("--experiment-config", parsed.experiment_config, KEYS)
    model = _object("--model-config", parsed.model_config, ("model_name",))
    if config["xla"] == "XRT":
        raise UsageError("--experiment-config: XRT was removed from PyTorch/XLA; use PJRT")
    config["accelerator"] = str(config["accelerator"]).lower()
    return {key: [config[key]] for key in KEYS}, str(model["model_name"]), config.get("batch_size")


def words(given: Choices) -> list[str]:
    """Return the flags of `xlabench run` for these values."""
    found = []
    for key in ("accelerator", "xla", "dynamo", "test"):
        found += [f"--{key}={value}" for value in given[key]]
    if given["xla_flags"] != [None]:
        found += [f"--xla-flags={value}" for value in given["xla_flags"]]
    found += [f"--torch-xla2={value}" for value in given["torch_xla2"] if value is not None]
    return found + (["--enable-functionalization"] if given["enable_functionalization"] == [True] else [])


def _unique(texts: list[str] | None) -> list[str | None]:
    return [values.none_or(value) for value in dict.fromkeys(texts or ())]


def _object(flag: str, text: str, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{flag} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{flag} is not a JSON object")
    missing = [key for key in keys if key not in found]
    if missing:
        raise UsageError(f"{flag} lacks {', '.join(missing)}")
    return found
