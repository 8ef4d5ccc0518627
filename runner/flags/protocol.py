"""Flags of the protocol: how often, how long and under which limits a run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.flags import types

if TYPE_CHECKING:
    import argparse


STABLE_TARGET = 0.01
"""Of `--until-stable`: a third of the default noise floor, so that a process's own noise hides no verdict."""


def add_protocol_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how a run measures; none is part of an experiment's identity."""
    group = parser.add_argument_group("measurement")
    add = group.add_argument
    add("--repeat", type=types.positive, metavar="N", help="number of timed blocks in the steady state (default: 20)")
    add(
        "--until-stable",
        type=types.percent,
        nargs="?",
        const=STABLE_TARGET,
        metavar="TARGET%",
        help="continue after --repeat blocks until the 95 %% confidence interval of a process's median is within "
        "± TARGET (default: 1%%) or the time budget is spent",
    )
    add(
        "--iterations-per-run",
        type=types.positive,
        default=1,
        metavar="N",
        help="iterations per timed block (default: 1)",
    )
    add(
        "--processes",
        type=types.positive,
        metavar="K",
        help="number of benchmark processes per experiment (default: 3)",
    )
    add(
        "--until-verdict",
        action="store_true",
        help="measure ambiguous experiments with more processes: twice, then four times as many",
    )
    add(
        "--time-budget",
        type=types.above_zero,
        metavar="S",
        help="with --until-stable: measuring seconds of one process after its warm-up (default: 60); with "
        "--until-verdict: seconds for all additional processes together (default: 600)",
    )
    add(
        "--interleave",
        choices=["processes", "rounds", "off"],
        default="processes",
        help="order of a group's processes: in turns, with the others stopped (processes); each as a whole, in a "
        "balanced order (rounds); or experiment by experiment (off) (default: processes)",
    )
    add(
        "--rounds",
        type=types.positive,
        default=10,
        metavar="R",
        help="number of turns of an interleaved process (default: 10)",
    )
    add(
        "--rewarm",
        type=types.not_negative,
        default=1,
        metavar="N",
        help="blocks at the start of each turn that do not count as steady state (default: 1)",
    )
    add(
        "--twins",
        type=types.not_negative,
        metavar="N",
        help="number of A/A controls: experiments that are also measured against themselves, to estimate the run's "
        "false-alarm rate (default: one per ten groups, at least one for three)",
    )
    add(
        "--warmup-max",
        type=types.positive,
        default=50,
        metavar="N",
        help="give up after this many warm-up blocks and record `never_steady` (default: 50)",
    )
    add(
        "--threads",
        type=types.positive,
        metavar="N",
        help="number of CPU threads of every backend (default: torch's default)",
    )
    add(
        "--no-wait-quiet",
        action="store_true",
        help="do not wait for a quiet machine before a group's turns (default: wait up to 10 s, and up to a tenth of "
        "the run in total)",
    )
    add(
        "--own-priority",
        action="store_true",
        help="do not raise the priority of benchmark processes (default: raise it where permitted)",
    )
    add(
        "--seed",
        type=int,
        default=1337,
        metavar="N",
        help="random seed of weights, inputs and random operations (default: 1337)",
    )
    add("--device-index", "--card", type=types.not_negative, metavar="N", help="index of the device to use")
    add(
        "--subprocess-timeout",
        type=types.positive,
        metavar="S",
        help="time limit of one process in seconds (default: 1800)",
    )
    add(
        "--memory-limit",
        type=types.size,
        metavar="SIZE",
        help="kill a benchmark process that exceeds this memory, for example 8G",
    )
    add(
        "--retry-new-failures",
        type=types.not_negative,
        default=1,
        metavar="N",
        help="retries for experiments that passed in the previous run, each in a new interpreter (default: 1)",
    )
    add(
        "--start",
        choices=["fork", "interpreter"],
        default="fork",
        help="fork processes from a warm server, or start a new interpreter each time (default: fork)",
    )
    add("--print-subprocess", action="store_true", help="print the output of benchmark processes")
