"""Show the progress of a run: a live line on a terminal, and one line for each process that has finished."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from rich.live import Live
from rich.text import Text

from runner.plan.plan_view import PlainConsole
from runner.schedule.groups import Member
from store.advice import mark_of
from store.errors import shortened
from store.record import FAILED, PlanEntry, Record

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


def group_title(entry: PlanEntry) -> str:
    """Name the group of an experiment: what its members have in common."""
    config = entry.config
    return f"{config.suite_name}/{config.model_name} {config.test} on {config.accelerator}"


def duration(seconds: float) -> str:
    """Return seconds as people say them: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


@dataclass(kw_only=True)
class ProgressView:
    """Shows the process, its phase, k of n, and the time left as estimated from what this run has measured."""

    stream: TextIO
    members: Sequence[Member]
    replicas: int = 1
    """Processes of each member."""
    _done: int = 0
    _total: int = 0
    _durations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _began: float = 0.0
    _current: str = ""
    _live: Live | None = None
    _remaining: list[Member] = field(default_factory=list)
    _times: dict[str, dict[str, float]] = field(default_factory=dict)
    """Group → variant → the smallest median of a process, in seconds."""

    def __post_init__(self) -> None:
        self._console = PlainConsole(file=self.stream, highlight=False, soft_wrap=True)
        self._expect(self.members, self.replicas)

    def _expect(self, members: Sequence[Member], processes: int) -> None:
        self._remaining += list(members) * processes
        self._total += len(members) * processes

    def note(self, text: str) -> None:
        """Print one line."""
        self._console.print(Text(text))

    def expect_retry(self, members: Sequence[Member]) -> None:
        """Announce that the members of a group are measured again."""
        self._expect(members, self.replicas)
        self.note(f"New failure: the experiment ran when last measured. Its group of {len(members)} is measured again.")

    def expect_further(self, members: Sequence[Member], replicas: range) -> None:
        """Expect further processes of members that have been measured."""
        self._expect(members, len(replicas))
        self.replicas = replicas.stop

    def interleave(self, members: Sequence[Member]) -> None:
        """Say off a terminal what takes turns: its first line comes when all have finished, minutes later."""
        if not self._console.is_terminal:
            named = group_title(members[0].entry)
            self.note(f"{named}: {len(members)} processes take turns; their results follow together.")

    def begin(self, member: Member, replica: int = 0) -> None:
        self._began = time.monotonic()
        self._current = self._title(member, replica)
        if self._console.is_terminal and self._live is None:
            # Drawn only when something changes: a refreshing thread would take time from what is measured.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._show(PHASES["start"])

    def phase(self, name: str) -> None:
        self._show(PHASES.get(name, name))

    def turn(self, member: Member, replica: int, number: int, *, further: bool = False) -> None:
        """Say whose turn it is."""
        self._current = self._title(member, replica)
        self._show(f"interleaved, round {number + 1} of its group{', until stable' if further else ''}")

    def end(self, member: Member, replica: int, record: Record, seconds: float | None = None) -> None:
        """Print how a process ended; `seconds` is its running time, if not the time since its begin."""
        self.stop()
        self._durations[member.entry.backend].append(time.monotonic() - self._began if seconds is None else seconds)
        self._done += 1
        self._take(member)
        sentence = f"{verdict(record)}{self._fastest(member, record)}"
        self.note(f"[{self._done}/{self._total}] {self._title(member, replica)}: {sentence}")

    def _fastest(self, member: Member, record: Record) -> str:
        """Return the fastest variant of a group once two have a number, and whenever it changes; else nothing."""
        seconds = median_s(record)
        if seconds is None or record.verification_code == "FAIL" or member.twin:
            return ""
        times = self._times.setdefault(f"{member.entry.group} {member.entry.environment}", {})
        before = min(times, key=lambda variant: times[variant]) if len(times) > 1 else None
        variant = member.entry.variant
        times[variant] = min(seconds, times.get(variant, seconds))
        first = min(times, key=lambda variant: times[variant])
        changed = len(times) > 1 and first != before
        return f"; fastest so far: {first}, {times[first] * 1e3:.3g} ms" if changed else ""

    def leave_out(self, member: Member, count: int) -> None:
        """Expect fewer processes: a member that failed in its first one gets no others."""
        self._total -= count
        for _ in range(count):
            self._take(member)

    def stop(self) -> None:
        """Remove the live line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _take(self, member: Member) -> None:
        index = next((index for index, expected in enumerate(self._remaining) if expected.key == member.key), None)
        if index is not None:
            del self._remaining[index]

    def _title(self, member: Member, replica: int) -> str:
        twin = ", A/A control" if member.twin else ""
        process = f", process {replica + 1} of {self.replicas}" if self.replicas > 1 else ""
        return f"{title(member.entry)}{twin}{process}"

    def _show(self, text: str) -> None:
        """Show the current phase on a terminal only; a log would fill with it."""
        if self._live is not None:
            self._live.update(Text(self._line(text)), refresh=True)

    def _line(self, text: str) -> str:
        left = self.time_left()
        about = f", about {duration(left)} left" if left is not None else ""
        return f"[{self._done + 1}/{self._total}] {self._current}: {text}{about}"

    def time_left(self) -> float | None:
        """Estimate the seconds left: per backend the mean so far, else the mean of all; None before the first."""
        known = [seconds for durations in self._durations.values() for seconds in durations]
        if not known:
            return None
        overall = sum(known) / len(known)

        def mean(backend: str) -> float:
            own = self._durations.get(backend)
            return sum(own) / len(own) if own else overall

        return sum(mean(member.entry.backend) for member in self._remaining)


def median_s(record: Record) -> float | None:
    """Return the median of a record's steady blocks; None where it is no result."""
    if record.status != "ok":
        return None
    steady = record.steady_s()
    return statistics.median(steady) if steady else None


def verdict(record: Record) -> str:
    """Say in a few words how an experiment ended."""
    if record.status in FAILED and record.error is not None:
        message = shortened(record.error.message.strip().partition("\n")[0], 160)
        return f"{record.status} in {record.error.phase}: {message}"
    refused = next((finding.text for finding in record.findings if finding.code == record.status), None)
    if refused is not None:
        return f"{record.status}: {refused.removeprefix('refused: ')}"
    times = record.metrics.get("per_iter_time", [])
    steady = record.steady_s()
    if record.status == "verify_only":
        return f"verified only: {_answer(record)}"
    if not steady:
        return f"{record.status} after {len(times)} blocks"
    median = statistics.median(steady)
    first = times[0]
    verified = f"; {_answer(record)}" if record.verification else ""
    doubts = "".join(f"; {mark}" for finding in record.findings if (mark := mark_of(finding.code)))
    until = record.measurement.until
    known = f" ± {until.half_width:.1%}" if until and until.half_width is not None else ""
    return (
        f"{median * 1e3:.3g} ms{known} per iteration (median of {len(steady)} blocks), first block {first:.3g} s"
        f"{verified}{doubts}"
    )


def _answer(record: Record) -> str:
    """Say the verdict about the answer, and the tensor that failed."""
    verification = record.verification
    where = f" at {verification.first_failed}" if verification and verification.first_failed else ""
    return f"{record.verification_code}{where}"
