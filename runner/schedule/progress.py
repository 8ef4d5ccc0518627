"""Tell how a run goes: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from store.record import FAILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.record import PlanEntry, Record

PHASES = {
    "start": "starting",
    "load": "loading",
    "compile": "compiling",
    "warmup": "warming up",
    "measure": "measuring",
    "verify": "verifying",
}


def title(entry: PlanEntry) -> str:
    """Name an experiment in one short string."""
    config = entry.config
    where = "" if entry.environment == "default" else f" in {entry.environment}"
    return f"{config.suite_name}/{config.model_name} {config.test} {entry.variant} on {config.accelerator}{where}"


def duration(seconds: float) -> str:
    """Return seconds as people say them: `8 s`, `3 min 20 s`."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"  # noqa: PLR2004 - seconds of a minute


@dataclass(kw_only=True)
class ProgressView:
    """Shows the experiment, its phase, k of n, and the time left as estimated from what this run has measured."""

    stream: TextIO
    entries: Sequence[PlanEntry]
    _done: int = 0
    _durations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _began: float = 0.0
    _current: PlanEntry | None = None
    _live: Live | None = None

    def __post_init__(self) -> None:
        self._console = Console(file=self.stream, highlight=False, soft_wrap=True)
        self._left = list(self.entries)

    def note(self, text: str) -> None:
        """Print one line."""
        self._console.print(Text(text))

    def again(self, entries: Sequence[PlanEntry]) -> None:
        """Say that experiments of a group are measured once more."""
        self.entries = [*self.entries, *entries]
        self._left += entries
        self.note(f"passed last time and fails now: {len(entries)} experiments of its group are measured again")

    def begin(self, entry: PlanEntry) -> None:
        self._began = time.monotonic()
        self._current = entry
        if self._console.is_terminal:
            # Drawn only when something changes: a refreshing thread would take time from what is measured.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self.phase("start")

    def phase(self, name: str) -> None:
        if self._live is not None:
            self._live.update(Text(self._line(name)), refresh=True)
        else:
            self.note(self._line(name))

    def end(self, entry: PlanEntry, record: Record) -> None:
        self.stop()
        self._durations[entry.backend].append(time.monotonic() - self._began)
        self._done += 1
        self._left = [each for each in self._left if each is not entry]
        self.note(f"[{self._done}/{len(self.entries)}] {title(entry)}: {verdict(record)}")

    def stop(self) -> None:
        """Take the live line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _line(self, phase: str) -> str:
        assert self._current is not None  # noqa: S101 - begin comes first
        left = self.time_left()
        about = f", about {duration(left)} left" if left is not None else ""
        return f"[{self._done + 1}/{len(self.entries)}] {title(self._current)}: {PHASES.get(phase, phase)}{about}"

    def time_left(self) -> float | None:
        """Estimate the seconds left: per backend the mean so far, else the mean of all; None before the first."""
        known = [seconds for each in self._durations.values() for seconds in each]
        if not known:
            return None
        overall = sum(known) / len(known)

        def mean(backend: str) -> float:
            own = self._durations.get(backend)
            return sum(own) / len(own) if own else overall

        return sum(mean(entry.backend) for entry in self._left)


def verdict(record: Record) -> str:
    """Say in a few words how an experiment ended."""
    if record.status in FAILED and record.error is not None:
        first_line = record.error.message.strip().partition("\n")[0][:160]
        return f"{record.status} in {record.error.phase}: {first_line}"
    times = record.metrics.get("per_iter_time", [])
    steady = sorted(time for time, kind in zip(times, record.measurement.blocks.kind, strict=False) if kind == "steady")
    if record.status == "verify_only":
        return f"verified only: {_answer(record)}"
    if not steady:
        return f"{record.status} after {len(times)} blocks"
    middle = len(steady) // 2
    median = steady[middle] if len(steady) % 2 else (steady[middle - 1] + steady[middle]) / 2
    first = times[0]
    verified = f"; {_answer(record)}" if record.verification else ""
    return f"{median * 1e3:.3g} ms per iteration (median of {len(steady)}), first {first:.3g} s{verified}"


def _answer(record: Record) -> str:
    """Say the verdict about the answer, and the tensor that failed."""
    found = record.verification
    where = f" at {found.first_failed}" if found and found.first_failed else ""
    return f"{record.verification_code}{where}"
