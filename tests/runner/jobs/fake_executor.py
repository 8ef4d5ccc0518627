"""A world of attempts without processes: it ends when told, and notices what must never happen."""

from dataclasses import dataclass, field

from runner.jobs.executor import Alive, Ended, Gone, JobWork, Seen, Ticket, Waiting
from runner.jobs.folder import End
from runner.jobs.request import Needs


class Crash(BaseException):
    """The worker dies here."""


@dataclass
class World:
    """What goes on outside of the worker, and outlives it."""

    running: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)
    """Devices of each attempt that goes on."""
    ends: dict[tuple[int, int], End] = field(default_factory=dict)
    asked: set[tuple[int, int]] = field(default_factory=set)
    begun: list[tuple[int, int]] = field(default_factory=list)
    crash: str = ""
    """Where the worker dies at its next start: `before` or `after` the attempt has begun."""

    def begin(self, key: tuple[int, int], devices: frozenset[str]) -> None:
        assert key not in self.begun, "an attempt began twice"
        assert key[0] not in {job for job, _ in self.running}, "a job ran twice at once"
        assert not devices & self.held(), "two attempts share a device"
        well = [each for each, end in self.ends.items() if each[0] == key[0] and end.code in (0, 3)]
        assert not well, "a job that had ended well began again"
        self.running[key] = devices
        self.begun.append(key)

    def held(self) -> frozenset[str]:
        return frozenset().union(*self.running.values())

    def end(self, key: tuple[int, int], end: End | None) -> None:
        del self.running[key]
        if end is not None:
            self.ends[key] = end


@dataclass
class Reserved:
    devices: frozenset[str]

    def release(self) -> None:
        pass


@dataclass
class Fake:
    """An executor over a world; a new one over the same world is the one after a crash."""

    world: World
    name: str = "fake"

    def reserve(self, ticket: Ticket, needs: Needs, taken: frozenset[str]) -> Reserved | Waiting:
        wanted = frozenset(needs.accelerators or ("cpu", "cuda"))
        if wanted & (taken | self.world.held()):
            return Waiting(reason="waits", devices=wanted)
        return Reserved(wanted)

    def start(self, ticket: Ticket, work: JobWork, reservation: Reserved) -> Alive:
        crash, self.world.crash = self.world.crash, ""
        if crash == "before":
            raise Crash
        self.world.begin(key(ticket), reservation.devices)
        if crash == "after":
            raise Crash
        return Alive(pid=ticket.job_id, pid_started_at=1.0)

    def poll(self, ticket: Ticket) -> Seen:
        if key(ticket) in self.world.running:
            return Alive()
        end = self.world.ends.get(key(ticket))
        return Gone() if end is None else Ended(end)

    def stop(self, ticket: Ticket) -> None:
        self.world.asked.add(key(ticket))

    def kill(self, ticket: Ticket) -> None:
        self.world.running.pop(key(ticket), None)

    def run_of(self, ticket: Ticket) -> tuple[str, str] | None:
        return (f"run-{ticket.job_id}", "folder") if key(ticket) in self.world.begun else None

    def descriptors(self) -> tuple[int, ...]:
        return ()


def key(ticket: Ticket) -> tuple[int, int]:
    return ticket.job_id, ticket.attempt
