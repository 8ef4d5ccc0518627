"""What Ray starts on a node: takes its devices, leads the attempt as a worker there would, sends back what it writes.

It measures nothing itself and ends with Ray's own process of the job; what it leads ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil

from runner import processes
from runner.jobs.cluster.ray_api import ORDER, STOP, WAITS, Measured, Order, node_home, run_name
from runner.jobs.executor import Alive, Ended, Local, Reservation, Seen, Ticket, Waiting
from runner.jobs.folder import END, LOG, MEASURES, End
from runner.jobs.request import RunRequest
from store.errors import RemoteFailed
from store.remote import SharedFolder
from store.run_file import RESULTS, RUN_FILE

_BYTES_PER_S = 1e6
"""Maximum rate at which a growing file is sent again, because objects can only be written as a whole."""
_FIRST = (RUN_FILE, RESULTS)


@dataclass
class Mirror:
    """A folder and its copy."""

    folder: Path
    place: SharedFolder
    _sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Size and time of each file when it was sent last."""
    _not_before: dict[str, float] = field(default_factory=dict)

    def send(self, *, all_of_it: bool = False) -> None:
        """Send the files that were written to; with `all_of_it` also those that were sent a moment ago.

        Raises:
            RemoteFailed: the place cannot be reached; the next call goes on.
        """
        for name, path in self._files():
            stat = path.stat()
            stamp = (stat.st_size, stat.st_mtime_ns)
            if self._sent.get(name) == stamp or (time.monotonic() < self._not_before.get(name, 0.0) and not all_of_it):
                continue
            self.place.put(name, path)
            self._sent[name] = stamp
            self._not_before[name] = time.monotonic() + stat.st_size / _BYTES_PER_S

    def _files(self) -> Iterator[tuple[str, Path]]:
        """Yield the files with their names; what a run is, then its records, then the rest."""
        every = (path for path in self.folder.rglob("*") if not path.name.startswith("."))
        files = [path for path in every if path.is_file() and not path.is_symlink()]
        for path in sorted(files, key=lambda file: (file.name not in _FIRST, file.name != RUN_FILE, file)):
            if path.is_file():  # a file that was replaced meanwhile may have had a temporary name
                yield path.relative_to(self.folder).as_posix(), path


_STARTED_BY = "raylet"
"""Name of the process that starts Ray's own process of a job, and with it ours."""
LOOK_EVERY_S = 2.0
"""Seconds between two checks of the written files and of the shared folder."""
PATIENT_S = 900.0
"""Seconds to retry a place that cannot be reached after the attempt has ended; then the attempt counts as lost."""
_CHOSEN = ("CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "TPU_VISIBLE_CHIPS", "LD_PRELOAD")
"""Variables that Ray sets for this job. Ray's others are for its own workers: OMP_NUM_THREADS=1 would be measured."""


def main(url: str) -> None:
    """Lead the attempt whose order lies at a place."""
    restore_environment()
    shared, _, name = url.partition("/attempts/")
    attempt = SharedFolder.of(shared).under(f"attempts/{name}")
    order = msgspec.json.decode(attempt.read(ORDER) or b"", type=Order)
    Lead(order, SharedFolder.of(shared), attempt).lead()


def restore_environment() -> None:
    """Give this process the environment in which Ray was started on the node: that of a measurement typed there."""
    try:
        raylet = psutil.Process(os.getppid()).parent()
        own = raylet.environ() if raylet is not None and raylet.name() == _STARTED_BY else {}
    except psutil.Error:
        own = {}
    if not own:  # not ours to read
        os.environ.pop("OMP_NUM_THREADS", None)
        return
    theirs = {name: value for name, value in own.items() if name not in _CHOSEN and not name.startswith("RAY_")}
    chosen = {name: os.environ[name] for name in _CHOSEN if name in os.environ}
    os.environ.clear()
    os.environ.update({**theirs, **chosen})


@dataclass
class Lead:
    """An attempt on this node."""

    order: Order
    shared: SharedFolder
    attempt: SharedFolder
    _mirrors: list[Mirror] = field(default_factory=list)
    _measured: Measured | None = None
    _ends: bool = False

    def __post_init__(self) -> None:
        home = node_home()
        self.own = home / "cluster" / self.order.origin
        request = self.order.work.request
        verdicts = isinstance(request, RunRequest) and request.protocol.until_verdict
        ends = () if verdicts else ("--no-ingest",)
        self.executor = Local(home, ends=ends, runs=self.own / "runs", bound=True)
        self.ticket = Ticket(
            job_id=self.order.job_id, attempt=self.order.attempt, home=self.own, label=self.order.label
        )

    def lead(self) -> None:
        """Lead it to its end, and say at the place how it ended."""
        signal.signal(signal.SIGTERM, self._hear)
        for number in range(1, self.order.attempt):  # processes that a crash of this node left behind
            self.executor.kill(Ticket(**{**vars(self.ticket), "attempt": number}))
        reserved = self._reserved()
        if reserved is None:
            return
        try:
            self.executor.start(self.ticket, self.order.work, reserved)
        except OSError as error:
            self._say_end(End(code=None, reason="ended"), f"xlabench: the job could not be started: {error}\n")
            return
        finally:
            reserved.release()
        seen = self._follow()
        self.executor.kill(self.ticket)
        self._finish(seen)

    def _hear(self, *_: object) -> None:
        self._ends = True

    def _reserved(self) -> Reservation | None:
        """Wait for the node's devices, which users may occupy, too; None if the attempt must not start any more."""
        sent = None
        while True:
            reserved = self.executor.reserve(self.ticket, self.order.needs, frozenset())
            reason = reserved.reason if isinstance(reserved, Waiting) else ""
            if isinstance(reserved, Waiting) and not reserved.devices:  # no wait will change that
                self._say_end(End(code=2), f"xlabench: {socket.gethostname()} cannot run the job; it {reason}\n")
                return None
            if reason != sent:
                self.attempt.write(WAITS, reason.encode())
                sent = reason
            if not isinstance(reserved, Waiting):
                return reserved
            if self._is_to_end():
                self._say_end(End(code=None, reason="stopped"), "")
                return None
            time.sleep(1.0)

    def _follow(self) -> Seen:
        """Send new data until the attempt is over, or until a file in its folder requests its end."""
        stopping = False
        while isinstance(seen := self.executor.poll(self.ticket), Alive):
            with contextlib.suppress(RemoteFailed):  # tried again at the next check
                self._send()
                if not stopping and self._is_to_end():
                    self.executor.stop(self.ticket)
                    stopping = True
            if self._ends and not stopping:
                self.executor.stop(self.ticket)
                stopping = True
            processes.wait_readable(self.executor.descriptors(), LOOK_EVERY_S)
        return seen

    def _is_to_end(self) -> bool:
        return self._ends or self.attempt.exists(STOP)

    def _send(self, *, all_of_it: bool = False) -> None:
        place = self.ticket.folder
        measures = place.measures()
        if measures and self._measured is None:
            run = Path(measures["folder"])
            # Attempts on several nodes are runs of their own: each belongs to one machine.
            measured = Measured(run_id=measures["run_id"], name=f"{run.name}-{measures['run_id'][:8]}")
            self._mirrors.append(Mirror(run, self.shared.under(run_name(self.order.origin, measured.name))))
            self.attempt.write(MEASURES, msgspec.json.encode(measured))
            self._measured = measured
        for mirror in self._mirrors:
            mirror.send(all_of_it=all_of_it)
        if place.log.is_file():
            self.attempt.put(LOG, place.log)

    def _finish(self, seen: Seen) -> None:
        """Send the rest and how it ended, in this order; an attempt that left no word about its end is lost."""
        patient_until = time.monotonic() + PATIENT_S
        while True:
            try:
                self._send(all_of_it=True)
                if isinstance(seen, Ended):
                    self.attempt.write(END, msgspec.json.encode(seen.end))
            except RemoteFailed:
                if time.monotonic() > patient_until:
                    raise
                time.sleep(LOOK_EVERY_S)
            else:
                return

    def _say_end(self, end: End, log: str) -> None:
        self.attempt.write(LOG, log.encode())
        self.attempt.write(END, msgspec.json.encode(end))


if __name__ == "__main__":
    main(sys.argv[1])
