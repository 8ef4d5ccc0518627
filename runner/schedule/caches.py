"""Compiler caches of a group: each process has its own, and a warm one those that its cold sibling has filled."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from runner import processes
from runner.backends import backend_of
from runner.schedule.groups import Key, Member, sibling_key
from store.record import ExperimentConfig, PlanEntry

_PREFIX = "xlabench-cache-"
_NAME = re.compile(rf"{_PREFIX}(?P<pid>[0-9]{{1,9}})-(?P<start>[0-9]{{1,12}})-.+")


def _folder() -> Path:
    """Make a folder with its owner in its name, after deleting those of runs that were killed."""
    sweep()
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{_start(os.getpid())}-"))


def _start(pid: int) -> int | None:
    """Return the start of a process in hundredths of a second; None where it is gone."""
    started_s = processes.start_time(pid)
    return None if started_s is None else round(started_s * 100)


def sweep() -> None:
    """Delete the folders of processes that have ended: nothing else deletes them, and they are large.

    Each start and the end of each group sweep: a run that was killed a moment ago may still be there at the first.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        of = _NAME.fullmatch(folder.name)
        if of and _start(int(of["pid"])) != int(of["start"]):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(eq=False)
class Scratch:
    """A folder for the caches of one process, or of a cold one and its warm sibling."""

    path: Path = field(default_factory=_folder)
    filled: bool = False
    """Whether an earlier process of the same configuration filled them on purpose."""
    users: int = 0

    def ready(self) -> None:
        """Empty it, unless it was filled on purpose: an interrupted start must not warm the next one."""
        if not self.filled:
            self.remove()
        self.path.mkdir(exist_ok=True)

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)


class Caches:
    """The cache folders of a group while it is measured; replicas share none."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._wanted = {sibling_key(member.entry) for member in members if member.entry.config.cache == "warm"}
        self._kept: dict[tuple[Key, int], Scratch] = {}

    def open(self, entry: PlanEntry, replica: int) -> Scratch:
        """Return the folder to measure with; for a warm experiment the filled one, where there is one."""
        filled = self._kept.pop((sibling_key(entry), replica), None) if entry.config.cache == "warm" else None
        scratch = filled or Scratch()
        scratch.users += 1
        return scratch

    def fill(self, entry: PlanEntry, replica: int, scratch: Scratch) -> None:
        """Keep the folder of a cold process that has compiled for its warm sibling, where there is one."""
        config, key = entry.config, (sibling_key(entry), replica)
        if config.cache == "cold" and key[0] in self._wanted and key not in self._kept and _cold_fills(config):
            scratch.filled = True
            self._kept[key] = scratch

    def close(self, scratch: Scratch) -> None:
        """Delete the folder once no process uses it and it is kept for no warm sibling."""
        scratch.users -= 1
        if not scratch.users and scratch not in self._kept.values():
            scratch.remove()

    def discard(self) -> None:
        """Delete the folders that no warm sibling has used, and those of runs that were killed."""
        for scratch in self._kept.values():
            scratch.remove()
        sweep()


def _cold_fills(config: ExperimentConfig) -> bool:
    """Say whether a cold process leaves what a warm one reads: not where the cache is off while measuring cold."""
    backend, anywhere = backend_of(config.xla, config.dynamo, config.torch_xla2), Path("anywhere")
    cold, warm = (msgspec.structs.replace(config, cache=cache) for cache in ("cold", "warm"))
    return dict(backend.variables(cold, anywhere)) == dict(backend.variables(warm, anywhere))
