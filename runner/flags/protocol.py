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
    add("--repeat", type=types.positive, metavar="N", help="timed blocks in the steady state (default 20)")
    add(
        "--until-stable",
        type=types.percent,
        nargs="?",
        const=STABLE_TARGET,
        metavar="TARGET%",
        help="take more than --repeat blocks until the 95 %% interval of a process's median is within ± TARGET of it "
        "(default 1%%), or the time budget is spent",
    )
    add("--iterations-per-run", type=types.positive, default=1, metavar="N", help="iterations of one timed block")
    add("--processes", type=types.positive, metavar="K", help="measuring processes of each experiment (default 3)")
    add(
        "--until-verdict",
        action="store_true",
        help="measure what is still ambiguous by more processes: twice, then four times as many",
    )
    add(
        "--time-budget",
        type=types.above_zero,
        metavar="S",
        help="of --until-stable: running seconds of a process after its warm-up (default 60); of --until-verdict: "
        "seconds that all further processes may take (default 600)",
    )
    add(
        "--interleave",
        choices=["processes", "rounds", "off"],
        default="processes",
        help="how a group's processes follow each other: in turns while the others are stopped; whole, in balanced "
        "order; or experiment by experiment (default processes)",
    )
    add("--rounds", type=types.positive, default=10, metavar="R", help="turns of an interleaved process (default 10)")
    add(
        "--rewarm",
        type=types.not_negative,
        default=1,
        metavar="N",
        help="blocks at the begin of a turn that are timed apart (default 1)",
    )
    add(
        "--twins",
        type=types.not_negative,
        metavar="N",
        help="experiments that are measured against themselves, too, which gives the run's rate of false alarms "
        "(default: one for every ten groups, at least one for three)",
    )
    add("--warmup-max", type=types.positive, default=50, metavar="N", help="blocks after which never_steady is said")
    add("--threads", type=types.positive, metavar="N", help="CPU threads of every backend (default: torch's own)")
    add(
        "--no-wait-quiet",
        action="store_true",
        help="do not wait for other programs before a group's turns (default: at most 10 s, and a tenth of the run)",
    )
    add(
        "--own-priority",
        action="store_true",
        help="leave the priority of measuring processes as it is (default: it is raised where you may do that)",
    )
    add("--seed", type=int, default=1337, metavar="N", help="seed of weights, inputs and random streams")
    add("--device-index", "--card", type=types.not_negative, metavar="N", help="which device of the accelerator")
    add("--subprocess-timeout", type=types.positive, metavar="S", help="seconds of one process (default 1800)")
    add("--memory-limit", type=types.size, metavar="SIZE", help="a measuring process above it is killed, as 8G")
    add(
        "--retry-new-failures",
        type=types.not_negative,
        default=1,
        metavar="N",
        help="tries of what passed last time and fails now, each in a new interpreter (default 1)",
    )
    add(
        "--start",
        choices=["fork", "interpreter"],
        default="fork",
        help="fork from a warm server, or start anew each time",
    )
    add("--print-subprocess", action="store_true", help="show what the measuring processes print")
