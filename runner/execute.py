"""Run a plan in a folder: write down skips, resume what is unfinished, measure, keep no orphan."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from runner import outcome, processes
from runner.backends import backend_of
from runner.errors import Interrupted
from runner.messages import Settings
from runner.outcome import RunFacts
from runner.pool import Pool
from runner.progress import ProgressView, duration, title
from runner.resume import remaining
from runner.scheduler import Scheduler
from runner.suites import get_suite
from store.record import FAILED
from store.run_file import read_records
from store.writer import ResultsWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.machine import Machine
    from runner.resume import Remaining
    from runner.run_folder import RunFolder
    from store.record import Record


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a call of `execute` did."""

    measured: int
    failed: int
    skipped: int
    already_finished: int
    seconds: float

    def sentence(self) -> str:
        """Say it in one line."""
        before = f", {self.already_finished} were finished before" if self.already_finished else ""
        return (
            f"Measured {self.measured} experiments in {duration(self.seconds)} "
            f"({self.failed} failed), skipped {self.skipped}{before}."
        )


@dataclass(kw_only=True)
class Tally:
    """Counts records on their way to the file."""

    write_record: Callable[[Record], None]
    on_record: Callable[[], None] | None = None
    failed: int = 0

    def write(self, record: Record) -> None:
        self.write_record(record)
        self.failed += record.status in FAILED
        if self.on_record is not None:
            self.on_record()


def execute(
    folder: RunFolder,
    machine: Machine,
    *,
    torchbench_dir: Path | None = None,
    retry_failed: bool = False,
    on_record: Callable[[], None] | None = None,
) -> Result:
    """Measure what the run still lacks; every outcome is a record in the folder's `results.jsonl`.

    Raises:
        WriterBusy: another process measures into the folder.
        Interrupted: SIGINT or SIGTERM; finished experiments are kept, the current one is measured again later.
    """
    began = time.monotonic()
    with ResultsWriter(folder.results) as writer, _interruptible():
        run_id = folder.file.run.run_id
        processes.become_subreaper()
        swept = processes.kill_tagged(run_id)
        todo = remaining(folder.file.plan, read_records(folder.results), retry_failed=retry_failed)
        facts = _facts(folder, machine)
        view = ProgressView(stream=sys.stderr, entries=[entry for group in todo.groups for entry in group.entries])
        if swept:
            number = "1 process" if len(swept) == 1 else f"{len(swept)} processes"
            view.note(f"ended {number} that an earlier call of this run had left behind")
        _name_finished(view, todo)
        tally = Tally(write_record=writer.append, on_record=on_record)
        for entry in todo.skips:
            tally.write(outcome.skipped(entry, facts))
        if todo.groups:
            _measure(folder, facts, todo, torchbench_dir, tally, view)
    measured = sum(len(group.entries) for group in todo.groups)
    return Result(
        measured=measured,
        failed=tally.failed,
        skipped=len(todo.skips),
        already_finished=len(todo.finished),
        seconds=time.monotonic() - began,
    )


def _measure(
    folder: RunFolder, facts: RunFacts, todo: Remaining, torchbench_dir: Path | None, tally: Tally, view: ProgressView
) -> None:
    """Measure the remaining groups; whatever happens, no process stays."""
    pool = _pool(folder, facts, todo)
    scheduler = Scheduler(
        facts=facts,
        pool=pool,
        folder=folder.path,
        torchbench_dir=torchbench_dir,
        write=tally.write,
        progress=view,
    )
    try:
        for group in todo.groups:
            scheduler.measure(group)
    finally:
        view.stop()
        pool.stop()


def _pool(folder: RunFolder, facts: RunFacts, todo: Remaining) -> Pool:
    entries = [entry for group in todo.groups for entry in group.entries]
    suites = sorted({entry.config.suite_name for entry in entries})
    backends = {entry.backend: backend_of(entry.config.xla, entry.config.dynamo) for entry in entries}
    preload = [module for backend in backends.values() for module in backend.preload]
    preload += [module for suite in suites for module in get_suite(suite).preload]
    return Pool(
        run_id=folder.file.run.run_id,
        python=sys.executable,
        preload=tuple(dict.fromkeys(preload)),
        probe=any(entry.backend == "inductor" and entry.config.accelerator == "cpu" for entry in entries),
        start=facts.settings.start,
        log=folder.path / "server.log",
    )


def _facts(folder: RunFolder, machine: Machine) -> RunFacts:
    file = folder.file
    return RunFacts(
        run=file.run,
        timestamp=file.timestamp,
        environment=file.environments[0],
        settings=msgspec.convert(file.settings, Settings),
        accelerators=machine.accelerators,
    )


def _name_finished(view: ProgressView, todo: Remaining) -> None:
    for entry in todo.finished:
        view.note(f"finished before: {title(entry)}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Interrupted`."""

    def stop(number: int, _frame: Any) -> None:
        raise Interrupted(
            f"Interrupted by {signal.Signals(number).name}. Finished experiments are kept; "
            "the same command goes on where this one stopped."
        )

    old = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
