"""The executor of a Ray cluster: each attempt is a job of Ray's on the node that has what it needs."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runner.jobs import folder
from runner.jobs.cluster.ray_api import (
    ORDER,
    RUN_NAME,
    STOP,
    WAITS,
    Measured,
    Order,
    RayCluster,
    RayJob,
    Spot,
    Unreachable,
    attempt_name,
    choose,
    run_name,
)
from runner.jobs.executor import Alive, Ended, Gone, JobWork, Reservation, Seen, Ticket, Waiting
from runner.jobs.queue import owner
from runner.jobs.request import Needs
from store.errors import RemoteFailed
from store.identity import digest
from store.remote import SharedFolder, arrive_all

NEEDS_THE_STORE = (
    "waits for a worker on the home's own machine, where the store compares both sides and measurements take place: "
    "start `xlabench worker` there, in addition to the one for the cluster"
)
_END_S = 15.0
"""Seconds for Ray to end a job that was killed."""


@dataclass
class Ray:
    """Runs attempts on the nodes of a cluster. Their files come back through a folder that all hosts can access."""

    home: Path
    cluster: RayCluster
    shared: SharedFolder
    python: str = "python3"
    """The Python interpreter on the nodes that has xlabench installed."""
    arrived: Callable[..., None] = lambda *_, **__: None
    """Called with the folder of a run in the home when records have arrived, and whether the run is over."""
    say: Callable[[str], None] = print
    name: str = "ray"
    _last_message: str = ""

    def reserve(self, ticket: Ticket, needs: Needs, taken: frozenset[str]) -> Spot | Waiting:
        if needs.store:
            return Waiting(reason="" if owner(self.home) else NEEDS_THE_STORE)
        try:
            nodes, used = self.cluster.nodes(), self._used()
        except Unreachable as error:
            return Waiting(reason=f"waits: {error}")
        spot = choose(needs, nodes, used, taken)
        if isinstance(spot, Spot):
            try:  # before the attempt counts
                self._place(ticket).write(WAITS, b"its node prepares it")
            except RemoteFailed as error:
                return Waiting(reason=f"waits: {error}")
        return spot

    def start(self, ticket: Ticket, work: JobWork, reservation: Reservation) -> Alive:
        if not isinstance(reservation, Spot):
            raise TypeError(reservation)
        needs = reservation.needs
        order = Order(
            origin=self._origin,
            job_id=ticket.job_id,
            attempt=ticket.attempt,
            label=ticket.label,
            needs=needs,
            work=work,
        )
        place, key = self._place(ticket), self._key(ticket)
        command = f"exec {shlex.quote(self.python)} -m runner.jobs.cluster.lead {shlex.quote(place.url)}"
        try:
            place.write(ORDER, msgspec.json.encode(order))
            self.cluster.submit(key, command, reservation)
        except (RemoteFailed, Unreachable) as error:
            if self._was_refused(key):
                raise OSError(str(error)) from error
            self._report(str(error))  # the next look finds out whether it has started
        return Alive(waits=f"waits for Ray to start it on {reservation.node.name}")

    def poll(self, ticket: Ticket) -> Seen:
        try:
            job = self.cluster.jobs().get(self._key(ticket))
            names = {node.node_id: node.name for node in self.cluster.nodes()}
            self._bring(ticket)
        except (Unreachable, RemoteFailed) as error:
            self._report(str(error))
            return Alive(waits=str(error))
        self._last_message = ""
        place = ticket.folder
        if job is None or job.is_over or job.node_id not in names:
            self._tell_arrived(ticket, is_over=True)
            end = place.end()
            return Gone(_loss_reason(job)) if end is None else Ended(end)
        if job.state == "PENDING":
            return Alive(waits=f"waits for Ray to start it on {names[job.node_id]}", host=names[job.node_id])
        return Alive(waits=_text(place.path / WAITS) or None, host=names[job.node_id])

    def stop(self, ticket: Ticket) -> None:
        try:
            self._place(ticket).write(STOP, b"")
            job = self.cluster.jobs().get(self._key(ticket))
        except (Unreachable, RemoteFailed) as error:
            self._report(str(error))
            return
        if job is not None and job.state == "PENDING":
            self.cluster.stop(self._key(ticket))

    def kill(self, ticket: Ticket) -> None:
        key, until = self._key(ticket), time.monotonic() + _END_S
        self.cluster.stop(key)
        while time.monotonic() < until:
            try:
                job = self.cluster.jobs().get(key)
                if job is None or job.is_over or job.node_id not in {node.node_id for node in self.cluster.nodes()}:
                    return
            except Unreachable:
                return
            time.sleep(0.5)

    def run_of(self, ticket: Ticket) -> tuple[str, str] | None:
        measured = self._measured(ticket)
        return (measured.run_id, str(self._run_folder(measured))) if measured else None

    def descriptors(self) -> Sequence[int]:
        return ()

    def _bring(self, ticket: Ticket) -> None:
        """Bring what is new of an attempt, and of the run that it measures into, into the home.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        arrive_all(self._place(ticket), ticket.folder.path)
        measured = self._measured(ticket)
        if measured and arrive_all(
            self.shared.under(run_name(self._origin, measured.name)), self._run_folder(measured)
        ):
            self._tell_arrived(ticket, is_over=False)

    def _tell_arrived(self, ticket: Ticket, *, is_over: bool) -> None:
        measured = self._measured(ticket)
        if measured is not None:
            self.arrived(self._run_folder(measured), is_over=is_over)

    def _measured(self, ticket: Ticket) -> Measured | None:
        """Return what the node said of the run; a name that could leave the home's runs is none."""
        path = ticket.folder.path / folder.MEASURES
        try:
            measured = msgspec.json.decode(path.read_bytes(), type=Measured)
        except (OSError, msgspec.DecodeError):
            return None
        return measured if RUN_NAME.fullmatch(measured.name) else None

    def _run_folder(self, measured: Measured) -> Path:
        return self.home.resolve() / "runs" / measured.name

    def _was_refused(self, key: str) -> bool:
        """Say whether the cluster answers and has no such job: it did not take it."""
        try:
            return key not in self.cluster.jobs()
        except Unreachable:
            return False

    def _report(self, text: str) -> None:
        """Report a problem once."""
        if text != self._last_message:
            self.say(text)
            self._last_message = text

    @property
    def _origin(self) -> str:
        return digest([socket.gethostname(), str(self.home.resolve())])

    def _key(self, ticket: Ticket) -> str:
        return f"xlabench-{self._origin}-{ticket.job_id}-{ticket.attempt}"

    def _place(self, ticket: Ticket) -> SharedFolder:
        return self.shared.under(attempt_name(self._origin, ticket.job_id, ticket.attempt))

    def _used(self) -> dict[str, dict[str, float]]:
        """Return by node the resources that jobs of xlabench, of all homes, use or are about to use."""
        used: dict[str, dict[str, float]] = {}
        for job in self.cluster.jobs().values():
            if not job.is_over:
                there = used.setdefault(job.node_id, {})
                for name, number in job.takes.items():
                    there[name] = there.get(name, 0.0) + number
        return used


def _loss_reason(job: RayJob | None) -> str:
    if job is None:
        return "the cluster does not know the job: it never accepted it, or its head node was restarted"
    if not job.is_over:
        return "its node is gone"
    last = [line.strip() for line in job.message.splitlines() if line.strip()][-1:]
    return f"Ray says {job.state}{': ' + last[0][:300] if last else ''}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:500]
    except OSError:
        return ""
