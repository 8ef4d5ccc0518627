"""Instruments: which can share a process, what it needs, the limit of its files, and the protocol. Imports no torch."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runner.messages import Instrument, Instrumented
from runner.settings import Settings
from store.record import Artifact, ExperimentConfig

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

    def variables(self, config: ExperimentConfig, folder: Path) -> dict[str, str]:
        """Return what the process's environment holds over the backend's own variables."""
        added: dict[str, str] = {}
        if "dump_hlo" in self.instruments:
            dump = f"--xla_dump_to={folder / HLO_FOLDER} --xla_dump_hlo_as_text"
            added["XLA_FLAGS"] = " ".join([*config.xla_flags, dump])
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
    """Return a warning for each requested instrument that cannot work here."""
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


# The files of an instrumented run, and their byte limit, kept while they are written: a dump must not fill a disk.


_PERIOD_S = 0.5
_READ_BY_PEOPLE = frozenset({".txt", ".json", ".gz", ".py", ".pt", ".pb", ".log"})
"""Kept before compilers' intermediate files."""


class Limit:
    """Watches a folder; what is written beyond the limit is deleted and remembered."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._before = frozenset(_files(folder))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="artifact limit", daemon=True)
        self.cut: list[Path] = []
        """Files that are gone."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self.enforce()

    def written(self) -> list[Path]:
        """Return the files that this process wrote and that are still there."""
        return [path for path in _files(self.folder) if path not in self._before]

    def warnings(self) -> list[str]:
        if not self.cut:
            return []
        return [f"{len(self.cut)} artifact files were cut at the byte limit (--artifact-limit)"]

    def enforce(self) -> None:
        """Delete what lies beyond the limit: the first written stay, what people read before what compilers read."""
        total = 0
        for path in sorted(self.written(), key=_order):
            size = _size(path)
            if total + size <= self._limit_bytes:
                total += size
                continue
            with contextlib.suppress(OSError):
                # Whoever still writes there writes into a hole.
                os.truncate(path, 0)
                path.unlink()
            if path not in self.cut:
                self.cut.append(path)

    def _watch(self) -> None:
        while not self._over.wait(_PERIOD_S):
            if sum(map(_size, self.written())) > self._limit_bytes:
                self.enforce()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _order(path: Path) -> tuple[bool, float, str]:
    try:
        written_at = path.stat().st_mtime
    except OSError:
        written_at = 0.0
    return path.suffix not in _READ_BY_PEOPLE, written_at, path.name


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


# The files of an instrumented run: of which kind each is, and of which repeat.

CUT = "cut at the byte limit"
_MOST_CUT = 20


def artifacts(folder: Path, written: Iterable[Path], cut: Sequence[Path]) -> list[Artifact]:
    """List files with their size, then those that were cut: the first 20 of them, the warning says how many."""
    listed = [_artifact(folder, path, path.stat().st_size, None) for path in sorted(written)]
    return listed + [_artifact(folder, path, 0, CUT) for path in cut[:_MOST_CUT]]


def salvaged(limit: Limit) -> list[Artifact]:
    """List the files of a process that died or was killed, after enforcing the limit."""
    limit.enforce()
    return artifacts(limit.folder, limit.written(), limit.cut)


def _artifact(folder: Path, path: Path, size: int, note: str | None) -> Artifact:
    relative = path.relative_to(folder)
    first, *rest = relative.parts
    repeat = int(first) if first.isdigit() and rest else None
    name = rest[0] if repeat is not None else first
    stem = name.split(".", maxsplit=1)[0].replace("-", "_")
    return Artifact(
        kind="chrome_trace" if stem == "trace" else stem, path=str(relative), repeat=repeat, bytes=size, note=note
    )


# What an instrument is, and the bench that it works on in the instrumented process.


@dataclass
class Bench:
    """One instrumented run: where its files go and what it found."""

    command: Instrument
    found: Instrumented = field(default_factory=lambda: Instrumented(artifacts=[]))
    output: Any = None
    """What the last iteration returned."""

    @property
    def folder(self) -> Path:
        return Path(self.command.folder)

    @property
    def config(self) -> ExperimentConfig:
        return self.command.load.config

    @property
    def iterations(self) -> int:
        return self.command.load.settings.iterations_per_run

    def of_repeat(self, repeat: int) -> Path:
        """Return the folder of one instrumented block, made if need be; the peer has one per repeat too."""
        folder = self.folder / str(repeat)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class Tool:
    """An instrument; each method does nothing unless it is needed."""

    names: tuple[str, ...] = ()
    """Instruments that this class serves."""
    expects_failure = False
    """Whether the run is made because it fails: then that it fails is no news."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def prepare(self) -> None:
        """Set switches before the model is built."""

    def before_first(self) -> None:
        """Act once the model is on its device, before anything is compiled."""

    def begin(self) -> None:
        """Start looking: inputs and random streams are ready, the block's first iteration comes next."""

    def end(self, repeat: int) -> None:
        """Stop looking: the device has finished the block."""

    def finish(self) -> None:
        """Write what belongs to the whole run; called also where the run failed."""
