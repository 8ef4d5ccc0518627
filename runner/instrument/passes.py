"""Which instruments can share a process, and what that process needs in its environment. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.settings import Settings
from store.record import ExperimentConfig

SAVE_IR = "save_ir"
HLO_FOLDER = "hlo"
IR_NAME = "ir"

_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "dumps": ("dump_hlo", SAVE_IR, "dump_dynamo_counters", "dump_pytorch_xla_metrics", "save_output"),
    "inductor-debug": ("dump_inductor",),
    "pytorch-profile": ("dump_pytorch_profiles", "profile_cuda_cpu", "profile_cuda_cpu_individual_ops"),
    "xla-profile": ("profile_xla",),
    "memory-snapshot": ("memory_snapshot",),
    "minify": ("minify",),
}
"""Instruments of one family do not disturb each other; two families share no process."""

_NEEDS_XLA = frozenset({"dump_hlo", SAVE_IR, "dump_pytorch_xla_metrics", "profile_xla"})
_NEEDS_DYNAMO = frozenset({"dump_dynamo_counters", "minify"})


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One extra process: its name (of its log, too) and its instruments."""

    name: str
    instruments: tuple[str, ...]
    save_ir_format: str | None = None

    def variables(self, config: ExperimentConfig, folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
        """Return what the process's environment holds over the backend's own `variables`."""
        added: dict[str, str] = {}
        if "dump_hlo" in self.instruments:
            dump = f"--xla_dump_to={folder / HLO_FOLDER} --xla_dump_hlo_as_text"
            own = variables.get("XLA_FLAGS", " ".join(config.xla_flags))
            added["XLA_FLAGS"] = f"{own} {dump}".strip()
        if SAVE_IR in self.instruments and self.save_ir_format:
            added["XLA_SAVE_TENSORS_FMT"] = self.save_ir_format
            # PyTorch/XLA appends the ordinal of the device: `.0`.
            added["XLA_SAVE_TENSORS_FILE"] = str(folder / f"{IR_NAME}.{self.save_ir_format}")
        return added


def passes(config: ExperimentConfig, settings: Settings, *, failed: bool = False) -> tuple[Pass, ...]:
    """Return the extra processes that the settings ask for, in their order.

    `failed` says that the timed process got its model but no result: only then is there something to minify.
    """
    wanted = [name for name in _wanted(settings) if unsuitable(name, config) is None]
    if not failed:
        wanted = [name for name in wanted if name != "minify"]
    return tuple(
        Pass(name=name, instruments=chosen, save_ir_format=settings.save_ir_format)
        for name, members in _FAMILIES.items()
        if (chosen := tuple(member for member in members if member in wanted))
    )


def notes(config: ExperimentConfig, settings: Settings) -> list[str]:
    """Return a warning for each instrument that was asked for and makes no sense here."""
    reasons = ((name, unsuitable(name, config)) for name in _wanted(settings))
    return [f"{name}: {reason}" for name, reason in reasons if reason]


def unsuitable(name: str, config: ExperimentConfig) -> str | None:
    """Say why an instrument has nothing to look at under this configuration, or None."""
    if name in _NEEDS_XLA and not config.xla:
        return "only with an XLA backend"
    if name in _NEEDS_DYNAMO and not config.dynamo:
        return "only with a backend of dynamo"
    if name == "dump_inductor" and config.dynamo != "inductor":
        return "only with the backend inductor"
    if name == "memory_snapshot" and config.accelerator != "cuda":
        return "only on cuda"
    return None


def _wanted(settings: Settings) -> tuple[str, ...]:
    # The flag may name it already.
    return tuple(dict.fromkeys((*settings.instruments, *((SAVE_IR,) if settings.save_ir_format else ()))))
