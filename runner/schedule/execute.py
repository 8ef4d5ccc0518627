"""Run a plan in a folder: write down skips, resume what is unfinished, measure, keep no orphan."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runner import processes
from runner.backends import backend_of
from runner.environments.machine import Machine
from runner.errors import Interrupted
from runner.plan.interpreters import DEFAULT, Interpreter, variables
from runner.proof import judge
from runner.schedule import devices, groups, records
from runner.schedule.examine import Proofs
from runner.schedule.groups import Further, Group, Remaining, continued, extended, remaining
from runner.schedule.outcome import RunFacts
from runner.schedule.own_waits import OWN_WAITS_FOLDER, OwnWaits
from runner.schedule.pool import Pool
from runner.schedule.progress import ProgressView, duration, group_title, title
from runner.schedule.quiet import QuietRun
from runner.schedule.run_folder import RunFolder
from runner.schedule.scheduler import History, Scheduler
from runner.settings import OwnModel
from runner.suites import get_suite
from runner.suites.own.suite import no_source
from store.errors import UsageError, counted
from store.record import FAILED, PlanEntry, Record
from store.run_file import read_records
from store.verification import VERDICTS
from store.writer import ResultsWriter


@dataclass(frozen=True, kw_only=True)
class ExecutionResult:
    """What a call of `execute` did."""

    measured: int
    counts: Counts
    """Counts of what this call measured."""
    before: Counts
    """Counts of what earlier calls of the run had measured."""
    skipped: int
    already_finished: int
    seconds: float
    timed: bool = True
    """Whether experiments were measured; else they were verified only."""

    @property
    def failed(self) -> bool:
        """Say whether the run holds an experiment that failed, or that could not be verified as was asked."""
        return bool(self.counts.failed or self.before.failed)

    @property
    def wrong(self) -> bool:
        """Say whether the run holds an experiment with a wrong answer."""
        return bool(self.counts.wrong or self.before.wrong)

    def sentence(self) -> str:
        """Say it in one line."""
        before = f", {self.already_finished} were already finished" if self.already_finished else ""
        if self.before.failed or self.before.wrong:
            before += f" ({self.before.sentence()})"
        done = f"{'Measured' if self.timed else 'Verified'} {counted(self.measured, 'experiment')}"
        return f"{done} in {duration(self.seconds)} ({self.counts.sentence()}), skipped {self.skipped}{before}."


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Experiments that did not end as they should, by their newest attempt."""

    failed: int
    """Experiments of which a process failed, or whose requested verification gave no verdict."""
    unverified: Mapping[str, int]
    """Experiments whose verification gave no verdict, by its code; those that failed before it do not count."""
    wrong: int
    """Experiments whose verification found a wrong answer."""
    unjudged: int = 0
    """Experiments whose check was skipped by the suite's tables, or could judge nothing in the results."""

    def sentence(self) -> str:
        """Say it in a few words."""
        codes = ", ".join(f"{code} {count}" for code, count in sorted(self.unverified.items()))
        unverified = f", {sum(self.unverified.values())} of them in verification: {codes}" if codes else ""
        wrong = f", {self.wrong} with a wrong answer" if self.wrong else ""
        unjudged = f", {self.unjudged} not judged by the verification: VERIFIER_SKIPPED" if self.unjudged else ""
        return f"{self.failed} failed{unverified}{wrong}{unjudged}"


@dataclass(kw_only=True)
class ExperimentTally:
    """Counts experiments by the records of their newest attempts."""

    _attempts: dict[tuple[str, str], int] = field(default_factory=dict)
    _statuses: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _codes: dict[tuple[str, str], str] = field(default_factory=dict)

    def counts(self, *, verified: bool) -> Counts:
        """Return what there is; `verified`: the run was to verify, so that a code that is no verdict is a failure."""
        failed = {key for key, statuses in self._statuses.items() if statuses & FAILED}
        unverified = {
            key: code for key, code in self._codes.items() if verified and code not in VERDICTS and key not in failed
        }
        return Counts(
            failed=len(failed) + len(unverified),
            unverified=Counter(unverified.values()),
            wrong=sum(code == "FAIL" for code in self._codes.values()),
            unjudged=sum(
                verified and code == "VERIFIER_SKIPPED" and key not in failed for key, code in self._codes.items()
            ),
        )

    def add(self, record: Record) -> None:
        """Count a record; a twin is no experiment of its own."""
        if record.twin_of is not None:
            return
        key = record.key
        if self._attempts.get(key) != record.attempt:
            self._attempts[key] = record.attempt
            self._statuses[key] = set()
        self._statuses[key].add(record.status)
        if record.replica == 0:  # the answer is verified there, for all
            self._codes[key] = record.verification_code


def execute(
    folder: RunFolder,
    interpreters: Sequence[Interpreter],
    *,
    torchbench_dir: Path | None = None,
    own: Mapping[str, OwnModel] | None = None,
    retry_failed: bool = False,
    history: History | None = None,
    on_record: Callable[[], None] | None = None,
    further: Callable[[], Further | None] | None = None,
    wait: bool = True,
    home: Path | None = None,
) -> ExecutionResult:
    """Measure what the run still lacks; every outcome is a record in the folder's `results.jsonl`.

    Args:
        folder: of the run.
        interpreters: those of the run's environments.
        torchbench_dir: the checkout of torchbench.
        own: sources of the user's own models by their names; one that the plan holds and this lacks is refused.
        retry_failed: measure groups with failures again.
        history: what passed last time.
        on_record: called after each record.
        further: asked, once everything is measured, for what is to be measured by more processes, until it names
            nothing; processes stay warm meanwhile.
        wait: for devices that others measure on, instead of refusing.
        home: keeps timing proofs and what threads wait on an idle machine; None: they last as long as this call.

    Raises:
        DeviceBusy: another process measures on a device that the run needs, and `wait` is off.
        WriterBusy: another process measures into the folder.
        Interrupted: SIGINT or SIGTERM; finished experiments are kept, the current one is measured again later.
    """
    began = time.monotonic()
    with ResultsWriter(folder.results) as writer, _interruptible():
        run_id = folder.file.run.run_id
        processes.become_subreaper()
        swept = processes.kill_tagged(run_id)
        replicas = folder.settings.replicas
        done = read_records(folder.results)
        left = remaining(folder.file.plan, done, replicas=folder.settings.records, retry_failed=retry_failed)
        rest = replace(left, groups=_groups(folder, left))
        # No plan holds the path of a source, so the command has to name it.
        planned = [entry for group in rest.groups for entry in group.entries]
        if lacking := [
            entry for entry in planned if entry.config.source and entry.config.model_name not in (own or {})
        ]:
            raise UsageError(no_source(lacking[0].config.model_name))
        machines = {interpreter.name: interpreter.machine for interpreter in interpreters}
        facts = _facts(folder, machines, torchbench_dir, own or {})
        members = [member for group in rest.groups for member in group.members]
        view = ProgressView(stream=sys.stderr, members=members, replicas=replicas)
        if swept:
            number = "1 process" if len(swept) == 1 else f"{len(swept)} processes"
            view.note(f"Stopped {number} that an earlier call of this run had left running.")
        _note_earlier_work(view, rest)
        before, tally = _tallies(folder, rest)

        def write(record: Record) -> None:
            writer.append(record)
            tally.add(record)
            if on_record is not None:
                on_record()

        for entry in rest.skips:
            write(records.skipped(entry, facts[entry.environment]))
        if rest.groups or further is not None:
            entries = folder.file.plan if further else planned
            runnable = [entry for entry in entries if entry.runnable]
            needed = devices.names({entry.config.accelerator for entry in runnable}, folder.settings.device_index)
            own_waits = OwnWaits(folder=home / OWN_WAITS_FOLDER if home else None)
            with devices.held(needed, str(folder.path), wait=wait, say=view.note):
                scheduler = Scheduler(
                    facts=facts,
                    pools=_pools(facts, runnable, folder, QuietRun(say=view.note, own_waits=own_waits)),
                    folder=folder.path,
                    write=write,
                    progress=view,
                    history=history or History(),
                    proofs=Proofs(folder=home / judge.PROOFS_FOLDER if home else None),
                )
                _measure(scheduler, rest, folder, further)
    verified = folder.settings.verify != "off"
    return ExecutionResult(
        measured=len(planned),
        counts=tally.counts(verified=verified),
        before=before.counts(verified=verified),
        skipped=len(rest.skips),
        already_finished=len(rest.finished),
        seconds=time.monotonic() - began,
        timed=folder.settings.verify != "only",
    )


def _measure(
    scheduler: Scheduler, rest: Remaining, folder: RunFolder, further: Callable[[], Further | None] | None
) -> None:
    """Measure the remaining groups, then what is asked for further; whatever happens, no process stays."""
    try:
        for group in rest.groups:
            scheduler.measure(group)
        while further is not None and (request := further()) is not None:
            scheduler.extend(extended(request, folder.file.plan, read_records(folder.results)))
    finally:
        scheduler.progress.stop()
        for pool in scheduler.pools.values():
            pool.stop()


def _pools(
    facts: Mapping[str, RunFacts], entries: Sequence[PlanEntry], folder: RunFolder, quiet: QuietRun
) -> dict[str, Pool]:
    """Give each environment that is still needed its pool of processes."""
    servers: set[int] = set()
    live: set[int] = set()
    pools = {}
    for name, shared in facts.items():
        measured = [entry for entry in entries if entry.environment == name]
        if measured:
            pools[name] = Pool(
                run_id=shared.run.run_id,
                python=shared.python,
                preload=_preload(measured),
                probe=any(entry.backend == "inductor" and entry.config.accelerator == "cpu" for entry in measured),
                start=shared.settings.start,
                log=folder.path / ("server.log" if name == DEFAULT else f"server-{name}.log"),
                variables=variables(shared.python),
                servers=servers,
                live=live,
                quiet=quiet,
            )
    return pools


def _preload(entries: Sequence[PlanEntry]) -> tuple[str, ...]:
    """Return the modules that the backends and suites of these experiments have imported in advance."""
    configs = {entry.backend: entry.config for entry in entries}
    backends = [backend_of(config.xla, config.dynamo, config.torch_xla2) for config in configs.values()]
    suites = [get_suite(name) for name in sorted({entry.config.suite_name for entry in entries})]
    preload = [module for backend in backends for module in backend.preload]
    preload += [module for suite in suites for module in suite.preload]
    # Not those of users, whose modules may start threads.
    preload += [suite.__module__ for suite in suites if suite.__module__.startswith("runner.")]
    return tuple(dict.fromkeys(preload))


def _facts(
    folder: RunFolder, machines: Mapping[str, Machine], torchbench_dir: Path | None, own: Mapping[str, OwnModel]
) -> dict[str, RunFacts]:
    """Return what the records of each environment share."""
    file = folder.file
    return {
        environment.name: RunFacts(
            run=file.run,
            timestamp=file.timestamp,
            environment=environment,
            settings=folder.settings,
            accelerators=machines[environment.name].models(folder.settings.device_index),
            python=machines[environment.name].python,
            torchbench_dir=torchbench_dir,
            own=own,
        )
        for environment in file.environments
    }


def _tallies(folder: RunFolder, rest: Remaining) -> tuple[ExperimentTally, ExperimentTally]:
    """Count what an earlier call has finished, and, apart, what it has left of the groups that go on.

    A failure stays one until it is measured again.
    """
    finished = {entry.key for entry in rest.finished}
    gone_on = {member.key[:2]: group.attempt for group in rest.groups if group.extension for member in group.members}
    before, begun = ExperimentTally(), ExperimentTally()
    for record in read_records(folder.results):
        if record.key in finished:
            before.add(record)
        elif gone_on.get(record.key) == record.attempt:
            begun.add(record)
    return before, begun


def _groups(folder: RunFolder, left: Remaining) -> tuple[Group, ...]:
    """Return the groups to measure with their twins; one that an earlier call has begun continues where it stopped."""
    paired = groups.with_twins(left.groups, folder.file.plan, folder.settings)
    if folder.settings.purpose == "calibration":  # there a twin is a replica
        return paired
    begun = {member.key: group.name for group in paired if group.attempt > 1 for member in group.members}
    measured: dict[str, list[Record]] = defaultdict(list)
    for record in read_records(folder.results) if begun else ():
        if name := begun.get(groups.record_member(record)):
            measured[name].append(record)
    return tuple(
        continued(group, measured[group.name], folder.settings.replicas) if group.attempt > 1 else group
        for group in paired
    )


def _note_earlier_work(view: ProgressView, rest: Remaining) -> None:
    """Name what is finished, and whether a begun group continues or is measured again."""
    for entry in rest.finished:
        view.note(f"already finished: {title(entry)}")
    for group in rest.groups:
        if group.extension is not None:
            done = group.extension.replicas.start
            for member in group.members:
                view.leave_out(member, view.replicas if member.key in group.extension.given_up else done)
            named = group_title(group.entries[0])
            view.note(f"{named}: {done} of {view.replicas} processes of each experiment are already measured")
        elif group.attempt > 1:
            named = group_title(group.entries[0])
            view.note(f"{named}: it was interrupted; all of it is measured again, so that its results are comparable")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Interrupted`."""

    def stop(number: int, _frame: Any) -> None:
        raise Interrupted(
            f"Interrupted by {signal.Signals(number).name}. Finished experiments are kept; "
            "repeat the command to continue."
        )

    old = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
