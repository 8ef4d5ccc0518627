"""The facts in words: one line for each, its name first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runner.doctor.facts import Disk, DoctorFacts, Offer
from runner.doctor.trial import Trial
from runner.environments.machine import PACKAGES
from runner.schedule.outcome import of_cores, of_machine
from runner.schedule.quiet import BUSY_CPUS

_UNKNOWN = "not reported by this machine"


def lines(facts: DoctorFacts) -> Iterator[tuple[str, str]]:
    """Give every fact with its name."""
    state, trial = facts.state, facts.trial
    quota = "no quota" if facts.quota_cpus is None else f"quota of {facts.quota_cpus:g} CPUs"
    yield "CPU", facts.offers[0].environment.cpu or _UNKNOWN
    yield "cores", f"{facts.usable_cpus} of {facts.cpus} CPUs are available, {quota}"
    yield "threads", str(facts.threads)
    yield "others", _others(facts)
    yield "quiet turns", _turns(trial)
    yield "speed", _speed(trial)
    yield "governor", state.governor or _UNKNOWN
    yield "steal", _UNKNOWN if state.steal_share is None else f"{state.steal_share:.1%}"
    yield "waits", "reported for each thread" if trial.begun.waits_reported else _UNKNOWN
    yield "priority", trial.begun.policy.removeprefix("libraries, ") if trial.raised else "not raised"
    for disk in facts.disks:
        yield "disk", f"{disk.free_bytes / 2**30:,.1f} GiB free for {disk.folder}"
    for offer in facts.offers:
        yield from _offer(offer, named=len(facts.offers) > 1)
    for accelerator, looked_for in facts.absent.items():
        yield accelerator, f"no device: {looked_for}"


def _others(facts: DoctorFacts) -> str:
    if facts.others_cpus is None:
        return _UNKNOWN
    by = f": {', '.join(facts.programs)}" if facts.programs else ""
    load = "" if facts.state.load_start is None else f" (load {facts.state.load_start:.1f})"
    return f"{facts.others_cpus:.1f} of {facts.usable_cpus} CPUs{by}{load}"


def _turns(trial: Trial) -> str:
    waited = "" if trial.wait_share is None else f"; a thread waited for a core {trial.wait_share:.1%} of a turn"
    return f"{trial.quiet_n} of {trial.turns_n} in a trial{waited}"


def _speed(trial: Trial) -> str:
    probes = [seconds * 1e3 for seconds in trial.turns.probe_s if seconds]
    if not probes:
        return _UNKNOWN
    return f"a fixed piece of work took {min(probes):.2f} to {max(probes):.2f} ms in {len(probes)} turns"


def _offer(offer: Offer, *, named: bool) -> Iterator[tuple[str, str]]:
    """Give versions and backends of an interpreter, with its name where there are several."""
    environment = offer.environment
    versions = {"Python": environment.python} | {name: getattr(environment, name) for name in PACKAGES}
    versions |= {"driver": environment.driver}
    prefix = f"{environment.name}: " if named else ""
    yield "versions", prefix + ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    for accelerator, reasons in offer.backends.items():
        able = [name for name, reason in reasons.items() if reason is None]
        yield "backends", f"{prefix}on {accelerator} {', '.join(able) or 'none'}"
        for shared in dict.fromkeys(reason for reason in reasons.values() if reason is not None):
            names = [name for name, reason in reasons.items() if reason == shared]
            yield "", f"{prefix}not {', '.join(names)} on {accelerator}: {shared}"
    yield "proofs", prefix + (_proofs(offer) or "none yet; a run checks the timing of each backend once")


def _proofs(offer: Offer) -> str:
    """Return the verdicts of timing proofs, each with its backends, accelerators and tests."""
    proved: dict[str, list[str]] = {}
    for stored in offer.proofs:
        proved.setdefault(stored.proof.verdict, []).append(f"{stored.backend} {stored.accelerator} {stored.test}")
    return "; ".join(f"{verdict}: {', '.join(sorted(what))}" for verdict, what in sorted(proved.items()))


LEAST_FREE_BYTES = 1 << 28
"""A compilation writes its programs and headers, some hundred MiB, before it can be timed."""
LITTLE_FREE_BYTES = 1 << 31
"""Dumps of one experiment alone may take a GiB, weights of a model as much."""
_NAMED_OTHERWISE = "busy_machine"


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A reason to doubt what would be measured now."""

    text: str
    next_step: str
    refuses: bool = False
    """Nothing can be measured, or the results would be refused."""

    @property
    def sentence(self) -> str:
        return f"{self.text}: {self.next_step}."


def of_facts(facts: DoctorFacts) -> list[Doubt]:
    """Return every doubt, those that have measuring refused first."""
    doubts = [*_of_interpreters(facts), *_of_turns(facts), *_of_threads(facts), *_of_kernel(facts)]
    # What a record of now would find; the other programs have a sentence of their own.
    findings = [finding for finding in of_machine(facts.state) if finding.code != _NAMED_OTHERWISE]
    findings += of_cores(facts.trial.turns)
    doubts += [Doubt(text=finding.text, next_step=finding.next_step) for finding in findings]
    doubts += [doubt for disk in facts.disks for doubt in _of_disk(disk)]
    doubts += [
        Doubt(text=sentence, next_step="a run on that device waits until the other one is finished")
        for sentence in facts.measured_on
    ]
    return sorted(doubts, key=lambda doubt: not doubt.refuses)


def _of_interpreters(facts: DoctorFacts) -> Iterator[Doubt]:
    if not any(offer.measurable for offer in facts.offers):
        yield Doubt(
            text="no backend can run in any environment", next_step="see the reasons at `backends`", refuses=True
        )
    failed = (stored for offer in facts.offers for stored in offer.proofs if stored.proof.verdict == "failed")
    for stored in failed:
        yield Doubt(
            text=f"results of {stored.backend} on {stored.accelerator} in {stored.test} are refused, as its timing "
            f"proof failed: {stored.proof.reason}",
            next_step="`xlabench run --prove` repeats the proof",
            refuses=True,
        )
    for name, why in facts.failed_environments.items():
        yield Doubt(text=why.rstrip("."), next_step=f"correct `{name}` in section [environments] of xlabench.toml")


def _of_turns(facts: DoctorFacts) -> Iterator[Doubt]:
    """Doubt the trial, else what others take of the CPUs: it may be more in a minute."""
    trial, others = facts.trial, facts.others_cpus or 0.0
    if trial.refusal is not None:
        why, _, help_text = trial.refusal.partition("; ")
        yield Doubt(text=f"results would be refused now, because {why}", next_step=help_text, refuses=True)
    elif others > BUSY_CPUS:
        by = f" ({', '.join(facts.programs)})" if facts.programs else ""
        yield Doubt(
            text=f"other programs use {others:.1f} of {facts.usable_cpus} CPUs{by}",
            next_step="stop them, because disturbed turns are discarded, and results with too few quiet turns refused",
        )


def _of_threads(facts: DoctorFacts) -> Iterator[Doubt]:
    threads, quota = facts.threads, facts.quota_cpus
    if quota is not None and threads > quota:
        yield Doubt(
            text=f"benchmarks use {threads} threads, but the container's CPU quota is {quota:g}",
            next_step=f"raise the quota, or pass --threads {max(1, int(quota))}",
        )
    elif threads > facts.usable_cpus:
        yield Doubt(
            text=f"benchmarks use {threads} threads, but only {facts.usable_cpus} CPUs are available",
            next_step=f"pass --threads {facts.usable_cpus}, or unset OMP_NUM_THREADS",
        )


def _of_kernel(facts: DoctorFacts) -> Iterator[Doubt]:
    begun = facts.trial.begun
    if not begun.waits_reported:
        yield Doubt(
            text="the kernel does not report how long a thread waits for a core",
            next_step="stop other programs, because every turn during their activity counts as disturbed; "
            "a Linux kernel with CONFIG_SCHED_INFO reports it",
        )
    if not facts.trial.raised:
        yield Doubt(
            text="benchmark processes cannot get a higher priority than other programs",
            next_step="allow the user a higher priority (`USER - nice -20` in /etc/security/limits.conf), "
            "or run as root",
        )


def _of_disk(disk: Disk) -> Iterator[Doubt]:
    if not disk.writable:
        yield Doubt(
            text=f"{disk.folder} cannot be written to",
            next_step="pass another --home, or set TMPDIR where it is the folder of temporary files",
            refuses=True,
        )
    elif disk.free_bytes < LITTLE_FREE_BYTES:
        yield Doubt(
            text=f"the disk of {disk.folder} has {disk.free_bytes / 2**20:,.0f} MiB free",
            next_step="free some space: compiled programs, dumps and weights need it",
            refuses=disk.free_bytes < LEAST_FREE_BYTES,
        )
