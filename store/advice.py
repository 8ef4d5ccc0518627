"""The words of findings: the text and the next step of each reason to doubt a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from store.record import Finding


class Advice(NamedTuple):
    """The words of a kind of finding; `text` is a template for its values, `summary` is for several findings of it."""

    summary: str
    text: str
    next_step: str


TABLE: Mapping[str, Advice] = {
    "few_blocks": Advice(
        "too few steady blocks",
        "only {n} steady blocks, too few for an interval of the median",
        "raise --repeat so that at least {wanted} blocks are steady",
    ),
    "not_stable": Advice(
        "medians less precise than requested",
        "after {spent_s:.0f} s and {n} steady blocks the interval of the median is {reached}, not ±{target:.2%}",
        "raise --time-budget or --iterations-per-run, or let nothing else run on the machine",
    ),
    "wide_spread": Advice(
        "widely spread steady blocks",
        "the middle half of the steady blocks spreads over {spread:.0%} of the median",
        "let nothing else run on the machine, or raise --repeat",
    ),
    "far_off": Advice(
        "outlier blocks",
        "{far} of {n} steady blocks are {off:.0%} or more off the median",
        "inspect the samples, and measure again while nothing else runs",
    ),
    "short_block": Advice(
        "blocks too short for the clock",
        "a steady block takes {ms:.3g} ms",
        "raise --iterations-per-run",
    ),
    "near_floor": Advice(
        "times that are mostly synchronisation",
        "an iteration takes {us:.3g} µs, below {times:g} times the {floor_us:.3g} µs of an empty sync",
        "compare larger inputs of the operator: this one gets no verdict",
    ),
    "changed_settings": Advice(
        "settings that an iteration of the model changed",
        "an iteration of the model {what}, so it was not measured with {wanted}",
        "remove that, so that {aim}",
    ),
    "still_falls_back": Advice(
        "ops that still fall back after their replacement",
        "{ops} still ran on the host after their replacement",
        "do not claim a payoff: the model calls other overloads of the op; pass the names that the counters show",
    ),
    "busy_machine": Advice(
        "other programs were busy",
        "other processes used {share:.0%} of the CPUs' time",
        "stop the other programs on the machine and measure again",
    ),
    "disturbed": Advice(
        "results that other programs disturbed",
        "refused: {why}",
        "do not use its numbers; `xlabench doctor` names the programs that keep the machine busy",
    ),
    "disturbed_turns": Advice(
        "some turns that other programs disturbed",
        "{disturbed} of {n} turns were disturbed by other programs",
        "stop the other programs, so that no turn is lost; no statistic includes disturbed turns",
    ),
    "delays_removed": Advice(
        "times from which delays by other programs were subtracted",
        "other programs delayed a thread for {share:.1%} of the time, which was subtracted",
        "stop the other programs and measure again for times as they were measured",
    ),
    "steal": Advice(
        "the hypervisor took CPU time away",
        "other virtual machines took {share:.1%} of the CPUs' time",
        "measure on a dedicated host, or at a quieter hour",
    ),
    "uneven_cores": Advice(
        "cores that changed their speed",
        "the same fixed work took {low_ms:.2f} to {high_ms:.2f} ms between turns, so the cores' speed changed by "
        "a factor of {times:.1f}",
        "measure on a dedicated host or at a quieter hour, and raise --processes (other virtual machines, hyperthreads "
        "or a changing clock cause this)",
    ),
    "throttled": Advice(
        "CPU throttling",
        "the CPU slowed down {events} times because of heat",
        "improve the cooling, cap the clock, or turn turbo off",
    ),
    "swap": Advice(
        "memory was swapped",
        "{mib:.0f} MiB went to and from swap",
        "free memory: fewer processes, or a smaller --batch-size",
    ),
    "governor": Advice(
        "clocks follow the load",
        "the CPU frequency governor is {governor}",
        "set it to `performance` during the run",
    ),
    "shared_accelerator": Advice(
        "other processes used the accelerator",
        "{n} other processes were on the accelerator",
        "stop them, or choose a free device with --device-index",
    ),
    "vacuous_check": Advice(
        "a PASS that proves nothing",
        "the PASS is vacuous, because the check does not notice disturbed weights",
        "set a smaller --tolerance, or treat the result as not verified",
    ),
    "not_finite": Advice(
        "numbers that are not finite",
        "not finite, written as null: {places}",
        "read the log of the experiment's process",
    ),
}
"""Code → advice. A code is never renamed: records contain it, and it marks the row of its result."""
OF_NO_ROW = frozenset({"governor", "disturbed_turns"})
"""Findings that concern no single result: they are about the machine, or about turns that no statistic includes."""


def finding(code: str, **values: float | str) -> Finding:
    """Return the finding of a code with its words."""
    advice = TABLE[code]
    return Finding(
        code=code, text=advice.text.format(**values), next_step=advice.next_step.format(**values), values=dict(values)
    )


def sentence(entry: Finding) -> str:
    """Return a finding as one line."""
    return f"{entry.text}: {entry.next_step}"


def summary(code: str) -> str:
    """Return the summary of a code; an unknown code of a later version becomes words."""
    return TABLE[code].summary if code in TABLE else code.replace("_", " ")


def mark_of(code: str) -> str | None:
    """Return the mark of a result with this finding; None if the finding concerns no single result."""
    return None if code in OF_NO_ROW else code.replace("_", " ")
