"""Measure processes in turns: each compiles alone while the others are stopped, then all take their rounds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.schedule.arrange import turn_order
from runner.schedule.job import Lease
from runner.schedule.watch_memory import LEAST_AVAILABLE, machine_memory, readable_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runner.schedule.benchmark_process import BenchmarkProcess
    from runner.schedule.caches import Caches
    from runner.schedule.job import Job
    from runner.schedule.outcome import Outcome
    from runner.schedule.progress import ProgressView
    from runner.schedule.resume import Member

HEADROOM = 1.25
"""Factor over the largest process so far: the next one may be larger, and all grow while they work."""


@dataclass(kw_only=True)
class Slot:
    """A process at the table; `seat` is missing where not even its caches could be filled."""

    job: Job
    lease: Lease
    seat: BenchmarkProcess | None = None
    failed: Outcome | None = None
    crowded: bool = False
    """It ran out of memory while others held some: that is no result."""

    @property
    def outcome(self) -> Outcome | None:
        return self.seat.outcome if self.seat else self.failed

    @property
    def alive(self) -> bool:
        return self.seat is not None and self.seat.outcome is None

    def leave(self) -> None:
        """End its process, whatever it was doing, and give its caches back."""
        if self.seat is not None:
            self.seat.drop()
        self.lease.close()


@dataclass(kw_only=True)
class Part:
    """Processes that stood open at the same time."""

    places: list[Slot]
    of: int
    """How many of the group were to be measured together."""
    available: int = 0
    """Memory that was left when it had to be closed, bytes; 0 where it held all."""

    def warning(self) -> str | None:
        """Say what keeps its processes from being compared turn by turn with the rest of the group."""
        if len(self.places) == self.of:
            return None
        left = f"with {readable_bytes(self.available)} of memory left " if self.available else ""
        return (
            f"{left}there was no room for all {self.of} processes of its group at once: "
            f"this one took turns with {len(self.places) - 1} others"
        )


@dataclass(kw_only=True)
class Table:
    """Where the processes of one group take turns; it remembers how many fit."""

    caches: Caches
    progress: ProgressView
    make_job: Callable[[Member, int], Job]
    loaded: Callable[[BenchmarkProcess], None]
    """Called once a process has loaded its model: the first one resolves the batch size."""
    _largest: int = 0
    _room: int | None = field(default=None)
    """How many processes fit, once some did not."""

    def measure(self, members: Iterable[Member], replica: int) -> Iterable[Part]:
        """Measure one process of each member, in as many parts as memory asks for; yield each part when it is over."""
        queue = deque(members)
        total = len(queue)
        while queue:
            places: list[Slot] = []
            try:
                available = self._open(queue, replica, places)
                self._wait_for_quiet(places)
                self._take_turns(places, replica)
            finally:
                for place in places:
                    place.leave()
            again = [place for place in places if place.crowded]
            queue.extend(place.job.member for place in again)
            yield Part(places=[each for each in places if not each.crowded], of=total, available=available)

    def _open(self, queue: deque[Member], replica: int, places: list[Slot]) -> int:
        """Have as many processes compile and warm up as fit; return the memory that was left where not all do."""
        while queue:
            alive = [place for place in places if place.alive]
            available = self._lacking(alive)
            if available:
                return available
            job = self.make_job(queue.popleft(), replica)
            place = Slot(job=job, lease=Lease(job, self.caches))
            places.append(place)
            self.progress.begin(job.member, replica)
            self._begin(place)
            self._judge(place, alive)
        return 0

    def _wait_for_quiet(self, places: Sequence[Slot]) -> None:
        """Wait for other programs, all processes being stopped, so that none of their time passes."""
        alive = next((place for place in places if place.alive), None)
        if alive is not None and alive.job.settings.quiet and alive.job.settings.wait_quiet:
            alive.job.pool.quiet.wait()

    def _lacking(self, alive: Sequence[Slot]) -> int:
        """Return the available memory where one process more would be too many; 0 where it fits, or is the first."""
        available, total = machine_memory()
        full = self._room is not None and len(alive) >= self._room
        fits = available - LEAST_AVAILABLE * total >= HEADROOM * self._largest
        return available if alive and (full or not fits) else 0

    def _begin(self, place: Slot) -> None:
        """Compile and warm up."""
        place.failed = place.lease.prime()
        if place.failed is not None:
            return
        settings = place.job.settings
        place.seat = place.job.timed(place.lease.ready, settings.turns(), settings.rewarm)
        place.seat.advance()
        self.loaded(place.seat)
        if place.alive:
            place.lease.fill()
            self._largest = max(self._largest, place.seat.held_bytes())

    def _take_turns(self, places: Sequence[Slot], replica: int) -> None:
        """Round after round, until each has reported; who fails leaves, the others go on."""
        number = 0
        while any(place.alive for place in places):
            for index in turn_order(len(places), number, places[0].job.settings.seed, replica):
                place = places[index]
                if place.seat is not None and place.alive:
                    others = [each for each in places if each.alive and each is not place]
                    if place.seat.wants_turn:
                        settings = place.job.settings
                        further = settings.until_stable is not None and number >= len(settings.turns())
                        self.progress.turn(place.job.member, replica, number, further=further)
                    place.seat.advance(number)
                    self._judge(place, others)
            number += 1

    def _judge(self, place: Slot, others: Sequence[Slot]) -> None:
        """Mark a process that ran out of memory beside others: it is measured again beside fewer."""
        outcome = place.outcome
        own_limit = outcome is not None and outcome.error is not None and outcome.error.type == "MemoryLimit"
        if outcome is not None and outcome.status == "oom" and others and not own_limit:
            place.crowded = True
            self._room = len(others)
