"""Compiler caches of a group: each experiment has its own, and a warm one those that its cold sibling has filled."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.backends import backend_of
from store.identity import experiment_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.record import ExperimentConfig, PlanEntry

    Key = tuple[str, str]


@dataclass
class Scratch:
    """A folder for the caches of one configuration."""

    path: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="xlabench-")))
    filled: bool = False
    """By an earlier process of the same configuration, on purpose."""

    def ready(self) -> None:
        """Empty it, unless it was filled on purpose: a try that broke off must not warm the next one."""
        if not self.filled:
            self.remove()
        self.path.mkdir(exist_ok=True)

    def remove(self) -> None:
        """Take the folder away."""
        shutil.rmtree(self.path, ignore_errors=True)


class Caches:
    """The scratch folders of a group while it is measured."""

    def __init__(self, entries: Sequence[PlanEntry]) -> None:
        self._wanted = {_key(entry) for entry in entries if entry.config.cache == "warm"}
        self._kept: dict[Key, Scratch] = {}

    def open(self, entry: PlanEntry) -> Scratch:
        """Return the folder to measure with; for a warm experiment the filled one, where there is one."""
        kept = self._kept.pop(_key(entry), None) if entry.config.cache == "warm" else None
        return kept or Scratch()

    def close(self, entry: PlanEntry, scratch: Scratch, *, complete: bool) -> None:
        """Keep the folder of a complete cold experiment for its warm sibling; take every other one away."""
        config = entry.config
        if config.cache == "cold" and complete and _key(entry) in self._wanted and _cold_fills(config):
            scratch.filled = True
            self._kept[_key(entry)] = scratch
        else:
            scratch.remove()

    def discard(self) -> None:
        """Take away what nobody came for."""
        for scratch in self._kept.values():
            scratch.remove()


def in_order(entries: Sequence[PlanEntry]) -> list[PlanEntry]:
    """Put each warm experiment right behind its cold sibling; keep the order otherwise."""
    first: dict[Key, int] = {}
    for number, entry in enumerate(entries):
        first.setdefault(_key(entry), number)
    return sorted(entries, key=lambda entry: (first[_key(entry)], entry.config.cache == "warm"))


def _key(entry: PlanEntry) -> Key:
    """Identify an experiment and its warm or cold sibling alike."""
    return experiment_id(msgspec.structs.replace(entry.config, cache="cold")), entry.environment


def _cold_fills(config: ExperimentConfig) -> bool:
    """Say whether a cold process leaves what a warm one reads: not where the cache is off while measuring cold."""
    backend, anywhere = backend_of(config.xla, config.dynamo, config.torch_xla2), Path("anywhere")
    cold, warm = (msgspec.structs.replace(config, cache=cache) for cache in ("cold", "warm"))
    return dict(backend.variables(cold, anywhere)) == dict(backend.variables(warm, anywhere))
