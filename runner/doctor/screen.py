"""The facts in words: one line for each, its name first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.environments.machine import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.doctor.facts import Facts, Offer
    from runner.doctor.trial import Trial

_UNKNOWN = "not reported by this machine"


def lines(facts: Facts) -> Iterator[tuple[str, str]]:
    """Give every fact with its name."""
    state, trial = facts.state, facts.trial
    quota = "no quota" if facts.quota_cpus is None else f"quota of {facts.quota_cpus:g} CPUs"
    yield "CPU", facts.offers[0].environment.cpu or _UNKNOWN
    yield "cores", f"{facts.usable_cpus} of {facts.cpus} CPUs are available, {quota}"
    yield "threads", str(facts.threads)
    yield "others", _others(facts)
    yield "quiet turns", _turns(trial)
    yield "governor", state.governor or _UNKNOWN
    yield "steal", _UNKNOWN if state.steal_share is None else f"{state.steal_share:.1%}"
    yield "waits", "reported for each thread" if trial.begun.waits_told else _UNKNOWN
    yield "priority", trial.begun.policy.removeprefix("libraries, ") if trial.raised else "not raised"
    for disk in facts.disks:
        yield "disk", f"{disk.free_bytes / 2**30:,.1f} GiB free for {disk.folder}"
    for offer in facts.offers:
        yield from _offer(offer, named=len(facts.offers) > 1)
    for accelerator, looked_for in facts.absent.items():
        yield accelerator, f"no device: {looked_for}"


def _others(facts: Facts) -> str:
    if facts.others_cpus is None:
        return _UNKNOWN
    by = f": {', '.join(facts.programs)}" if facts.programs else ""
    load = "" if facts.state.load_start is None else f" (load {facts.state.load_start:.1f})"
    return f"{facts.others_cpus:.1f} of {facts.usable_cpus} CPUs{by}{load}"


def _turns(trial: Trial) -> str:
    waited = "" if trial.wait_share is None else f"; a thread waited for a core {trial.wait_share:.1%} of a turn"
    return f"{trial.quiet_n} of {trial.turns_n} in a trial{waited}"


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
        for reason, names in _by_reason(reasons).items():
            yield "", f"{prefix}not {', '.join(names)} on {accelerator}: {reason}"
    yield "proofs", prefix + (_proofs(offer) or "none yet; a run checks the timing of each backend once")


def _proofs(offer: Offer) -> str:
    """Return the verdicts of timing proofs, each with its backends, accelerators and tests."""
    proved: dict[str, list[str]] = {}
    for kept in offer.proofs:
        proved.setdefault(kept.proof.verdict, []).append(f"{kept.backend} {kept.accelerator} {kept.test}")
    return "; ".join(f"{verdict}: {', '.join(sorted(what))}" for verdict, what in sorted(proved.items()))


def _by_reason(reasons: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return the backends that cannot run by the reason that they share."""
    unable: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            unable.setdefault(reason, []).append(name)
    return unable
