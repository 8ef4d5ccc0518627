"""How a process ended and was arranged in its group, what records of a run share, and reasons to doubt a record."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.messages import Hello, Loaded, ProcessReport
from runner.schedule.groups import Order
from runner.schedule.own_waits import WAIT_SHARE
from runner.settings import OwnModel, Settings
from store.advice import finding
from store.operators import FLOOR, NEAR_FLOOR
from store.record import Accelerator, Environment, Error, Finding, MachineState, Quiet, Run, Status, Turns, Until
from store.stats.median import MIN_INTERVAL_N


@dataclass(kw_only=True)
class Outcome:
    """How one benchmark process ended, and what it had reported."""

    status: Status
    error: Error | None = None
    loaded: Loaded | None = None
    report: ProcessReport | None = None
    answer: Any = None
    """Last answer of a process that is not timed."""
    machine: MachineState | None = None
    """What the machine did while the process lived; of a timed process."""
    quiet: Quiet | None = None
    """Which of its turns were disturbed; of a timed process whose turns were judged."""
    disturbed: str | None = None
    """Why the quiet turns are too few for a result, where they are."""
    broke_off: Outcome | None = None
    """How a timed process ended that had reported its times and hung or died in a further iteration: the times stay."""


@dataclass(frozen=True)
class Arrangement:
    """How a process was arranged with the others of its group."""

    order: Order = "sequence"
    block: int = 1
    """Blocks of its turns, the longest one's."""
    together: int = 1
    """Processes that took turns, itself included."""
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What all records of a run share."""

    run: Run
    timestamp: float
    environment: Environment
    settings: Settings
    accelerators: Mapping[Accelerator, str]
    python: str = sys.executable
    """The interpreter of the environment."""
    torchbench_dir: Path | None = None
    own: Mapping[str, OwnModel] = field(default_factory=dict)
    """Sources of the models of suite `own`, by their names."""
    hello: Hello | None = None


# Reasons to doubt a record's numbers, found in its samples and in what the machine did meanwhile.


SHORT_BLOCK_S = 0.001
"""As pyperf: under a millisecond the clock and the loop around the step are part of the number."""
WIDE_SPREAD = 0.10
"""As pyperf, which takes the standard deviation; the middle half is not moved by single blocks."""
FAR_OFF = 0.5
"""As pyperf: a value half off the rest is an event, not noise."""
OTHERS_SHARE = 0.10
"""A tenth of the machine in other hands: as wide as the spread that is warned of."""
STEAL_SHARE = 0.01
"""One percent of stolen time moves a number by about as much, which is the size of effects that are looked for."""
UNEVEN = 1.25
"""If the speed of a core changes by more than this, a ratio can be off by more than any printed speedup may be."""
LEAST_PROBED = 8
"""Fewest turns that show how the speed of a core changes; the fastest and the slowest of them do not count."""
REMOVED_SHARE = 0.01
"""As for stolen time: less than one percent is no doubt of its own."""
SWAP_BYTES = 1 << 20
"""The kernel moves single pages at any time; a mebibyte is no accident."""
STEADY_GOVERNOR = "performance"
"""With any other governor, the clock and so the time of the same work follow the load (pyperf warns as well)."""


def of_experiment(outcome: Outcome) -> list[Finding]:
    """Return all findings of one benchmark process."""
    report, machine = outcome.report, outcome.machine
    findings = [*(of_report(report) if report else ()), *(of_machine(machine) if machine else ()), *of_turns(outcome)]
    findings += of_cores(outcome.quiet.turns) if outcome.quiet else []
    # Where turns were judged, it is known which of them others disturbed: their mere presence is no doubt any more.
    return [doubt for doubt in findings if doubt.code != "busy_machine" or not _is_own_waiting_known(outcome.quiet)]


def _is_own_waiting_known(quiet: Quiet | None) -> bool:
    """Say whether what threads waited for each other was known apart from what other programs made them wait.

    Where that was learned next to others, times of XLA were up to 1.22 times too high.
    """
    if quiet is None:
        return False
    return quiet.own_wait_idle is not False or quiet.own_wait_share is None or quiet.own_wait_share < WAIT_SHARE


def of_turns(outcome: Outcome) -> list[Finding]:
    """Find that other programs disturbed turns: too many of them for a result, or some, which were left out."""
    if outcome.disturbed is not None:
        return [finding("disturbed", why=outcome.disturbed)]
    reasons = outcome.quiet.turns.reason if outcome.quiet else []
    disturbed = sum(reason is not None for reason in reasons)
    findings = [finding("disturbed_turns", disturbed=disturbed, n=len(reasons))] if disturbed else []
    return findings + (_of_delays(outcome.report) if outcome.report else [])


def _of_delays(report: ProcessReport) -> list[Finding]:
    """Find that the times are without what other programs delayed them."""
    blocks = report.blocks
    parts = list(zip(report.metrics["total_time"], blocks.removed_s, blocks.kind, strict=False))
    shares = [removed / (time + removed) for time, removed, kind in parts if kind == "steady" and time + removed > 0]
    share = statistics.fmean(shares) if shares else 0.0
    return [finding("delays_removed", share=share)] if share >= REMOVED_SHARE else []


def of_cores(turns: Turns) -> list[Finding]:
    """Find that the fixed work of one of the probes took much longer in some quiet turns than in others."""
    found = []
    for probes in (turns.probe_s, turns.threads_probe_s):
        quiet = sorted(seconds for seconds, why in zip(probes, turns.reason, strict=False) if seconds and why is None)
        if len(quiet) >= LEAST_PROBED and quiet[-2] > UNEVEN * quiet[1]:
            found.append((quiet[-2] / quiet[1], quiet[1], quiet[-2]))
    if not found:
        return []
    times, low, high = max(found)
    return [finding("uneven_cores", low_ms=low * 1e3, high_ms=high * 1e3, times=times)]


def of_report(report: ProcessReport) -> list[Finding]:
    """Find what pyperf warns of, ops that fell back all the same, and what the process itself has found."""
    still = sorted({op.op for op in report.replacements} & {op.op for op in report.fallback_ops})
    replaced = [finding("still_falls_back", ops=", ".join(still))] if still else []
    return replaced + _of_blocks(report) + report.findings


def _of_blocks(report: ProcessReport) -> list[Finding]:
    """Find what lies in the times of a report; median and quartiles are those that the result shows."""
    kinds, metrics = report.blocks.kind, report.metrics
    loops = report.blocks.inner_loops or [1] * len(kinds)
    timed = zip(metrics["total_time"], metrics["per_iter_time"], loops, kinds, strict=True)
    steady = [(time, of_one, time * count) for time, of_one, count, kind in timed if kind == "steady"]
    if not steady:
        return []
    times, of_iterations, whole = zip(*steady, strict=True)
    count, middle = len(times), statistics.median(times)
    findings = []
    if count < MIN_INTERVAL_N:
        findings.append(finding("few_blocks", n=count, wanted=MIN_INTERVAL_N))
    findings += of_until(report.until, count)
    low, _, high = statistics.quantiles(times if count > 1 else times * 2, n=4, method="inclusive")
    if high - low >= WIDE_SPREAD * middle:
        findings.append(finding("wide_spread", spread=(high - low) / middle))
    if far := sum(abs(time - middle) >= FAR_OFF * middle for time in times):
        findings.append(finding("far_off", far=far, n=count, off=FAR_OFF))
    spent = statistics.median(whole)
    if spent < SHORT_BLOCK_S:
        findings.append(finding("short_block", ms=spent * 1e3))
    return findings + of_floor(metrics.get(FLOOR), statistics.median(of_iterations))


def of_floor(floor: list[float] | None, middle: float) -> list[Finding]:
    """Find that most of the time of an iteration is what cutting and waiting cost without any work."""
    if not floor or middle >= NEAR_FLOOR * floor[0]:
        return []
    return [finding("near_floor", us=middle * 1e6, floor_us=floor[0] * 1e6, times=NEAR_FLOOR)]


def of_until(until: Until | None, count: int) -> list[Finding]:
    """Find that the time budget ended before the median of `count` blocks was known as well as asked for."""
    if until is None or until.stable or until.spent_s < until.budget_s:
        return []
    reached = "unknown" if until.half_width is None else f"±{until.half_width:.2%}"
    return [finding("not_stable", n=count, spent_s=until.spent_s, target=until.target, reached=reached)]


def of_machine(machine: MachineState) -> list[Finding]:
    """Find what on the machine may have moved the numbers; what it does not tell is no finding."""
    findings = []
    if (machine.others_share or 0) >= OTHERS_SHARE:
        findings.append(finding("busy_machine", share=machine.others_share or 0))
    if (machine.steal_share or 0) >= STEAL_SHARE:
        findings.append(finding("steal", share=machine.steal_share or 0))
    if machine.throttle_events:
        findings.append(finding("throttled", events=machine.throttle_events))
    if (machine.swap_traffic_bytes or 0) >= SWAP_BYTES:
        findings.append(finding("swap", mib=(machine.swap_traffic_bytes or 0) / 2**20))
    if machine.governor not in (None, STEADY_GOVERNOR):
        findings.append(finding("governor", governor=machine.governor or ""))
    if machine.accelerator_processes:
        findings.append(finding("shared_accelerator", n=machine.accelerator_processes))
    return findings
