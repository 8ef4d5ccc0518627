"""`xlabench worker`: run the jobs of a home, here or on a cluster."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.environments import machine
from runner.home import settings_file
from runner.jobs.check import plain
from runner.jobs.queue import EXECUTORS, only_one
from store.errors import StateError, UsageError, XlabenchError
from store.places import with_places
from store.state.database import back_up_daily
from xlabench.command import (
    EXIT_DONE,
    EXIT_USAGE,
    Parser,
    Verbs,
    add_database,
    home_of,
    say,
    state_of,
    store_of,
    verb,
)
from xlabench.notices import look_command

if TYPE_CHECKING:
    from runner.jobs.executor import Executor
    from store.ingest.run import Follower


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "worker",
        _worker,
        "Run the queued jobs of a home, one per device at a time, until Ctrl-C or SIGTERM.",
        "Running jobs continue without the worker, and the next worker takes them over. A home has at most one worker "
        "per machine and executor.",
    )
    parser.add_argument("--drain", action="store_true", help="after the signal, wait until running jobs have finished")
    # `xlabench serve` passes this flag: the worker ends with the process that started it.
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    add_database(parser)
    _add_cluster(parser)


def _add_cluster(parser: Parser) -> None:
    group = parser.add_argument_group("more than one machine (docs/cluster.md)")
    group.add_argument(
        "--executor", choices=EXECUTORS, default="local", help="run jobs on this machine or on a Ray cluster"
    )
    group.add_argument(
        "--address", metavar="URL", help="for ray: address of the Ray dashboard, for example http://head:8265"
    )
    group.add_argument(
        "--shared",
        metavar="PATH",
        help="for ray: folder or URL (s3://bucket/folder) that this host and all nodes can access",
    )
    group.add_argument(
        "--node-python",
        metavar="PYTHON",
        default="python3",
        help="for ray: Python interpreter on the nodes (default: python3)",
    )
    group.add_argument(
        "--node-flags", action="store_true", help="print the flags that `ray start` needs on this host, and exit"
    )


def _worker(parsed: argparse.Namespace) -> int:
    from runner.jobs.worker import Loop, Worker
    from runner.notices.watch import NoticeWatch

    if parsed.node_flags:
        return _print_node_flags(parsed)
    if parsed.parent is not None:
        from runner.processes import die_with_parent

        die_with_parent(parsed.parent, signal.SIGTERM)
    home = home_of(parsed)
    say_here = partial(_print_placed, home.absolute(), store_of(parsed).absolute())
    executor = _executor(parsed, home, say_here)
    home.mkdir(parents=True, exist_ok=True)
    with only_one(home, parsed.executor) as other:
        if other is not None:
            return say(f"{home} already has a worker: {other}. Only one can run at a time.", EXIT_USAGE)
        worker = Worker(home=home, executor=executor, say=say_here)
        worker.is_idle()  # an unusable queue ends the command here
        watch = NoticeWatch(home, store_of(parsed), look_command(home, parsed.database))
        backups = _Backups(state_of(parsed))

        def after_step() -> None:
            watch.step()
            backups.step()

        Loop(worker, after_step=after_step, drain=parsed.drain).run(
            lambda: _print_line(f"Worker of {home.resolve()}: waiting for jobs.")
        )
    return EXIT_DONE


@dataclass
class _Backups:
    """Backs up `state.sqlite` once a day, and reports once a day if that fails."""

    state: Path
    _tried: date | None = None

    def step(self) -> None:
        """Back up if that has not been tried today."""
        now = datetime.now(UTC)
        if self._tried == now.date() or not self.state.is_file():
            return
        self._tried = now.date()
        try:
            back_up_daily(self.state, now)
        except (StateError, OSError) as error:
            _print_line(f"The daily backup of state.sqlite failed: {error}")


def _executor(parsed: argparse.Namespace, home: Path, say: Callable[[str], None]) -> Executor:
    """Return the executor of the jobs.

    Raises:
        UsageError: flags that do not go together, or a package that is not installed.
    """
    if parsed.executor == "local":
        from runner.jobs.executor import Local

        if parsed.address or parsed.shared:
            raise UsageError("--address and --shared require --executor ray.")
        return Local(home, ends=(f"--database={parsed.database.resolve()}",) if parsed.database else ())
    if not (parsed.address and parsed.shared):
        raise UsageError(
            "--executor ray requires --address (http://head:8265) and "
            "--shared (a folder or URL that all nodes can access)."
        )
    from runner.jobs.cluster.executor import Ray
    from runner.jobs.cluster.ray_api import RayCluster
    from store.remote import SharedFolder

    cluster = RayCluster(parsed.address)
    cluster.connect()
    arrivals = Arrivals(store_of(parsed), state_of(parsed), say)
    return Ray(
        home=home,
        cluster=cluster,
        shared=SharedFolder.of(parsed.shared),
        python=parsed.node_python,
        arrived=arrivals.ingest,
        say=say,
    )


def _print_node_flags(parsed: argparse.Namespace) -> int:
    from runner.jobs.cluster.ray_api import node_home, start_flags

    home = home_of(parsed) if parsed.home else node_home()
    print(" ".join(start_flags(machine.detect().devices, settings_file.read(home).environments)))
    return EXIT_DONE


def _print_placed(home: Path, store: Path, text: str) -> None:
    """Print a line whose commands name the home and the store, because it may be read in another folder."""
    _print_line(with_places(text, home, store))


def _print_line(text: str) -> None:
    """Print a line without control characters, as anybody who can write to the queue may have written it."""
    print(plain(text), file=sys.stdout, flush=True)


@dataclass
class Arrivals:
    """Ingests the records of runs that are measured elsewhere as they arrive."""

    store: Path
    state: Path
    say: Callable[[str], None]
    _followers: dict[Path, Follower] = field(default_factory=dict)

    def ingest(self, run: Path, *, is_over: bool) -> None:
        """Ingest the new records of a run: at intervals while it runs, and all of them at its end.

        If that fails, the records stay in the run's folder, where the next ingest finds them.
        """
        from store.ingest.run import Follower

        follower = self._followers.setdefault(run, Follower(run, self.store))
        try:
            if is_over:
                del self._followers[run]
                self._finish(follower)
            else:
                follower.ingest_if_due()
        except XlabenchError as error:
            again = shlex.join(["xlabench", "ingest", str(run.absolute())])
            self.say(f"Records of {run.name} are not in the store: {error} Then run `{again}`.")

    def _finish(self, follower: Follower) -> None:
        from store import changepoints

        if follower.finish().published:
            changepoints.update(self.store, self.state)
