"""`xlabench doctor`: say whether this machine is fit to measure now."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runner import flag
from runner.home import settings_file
from store.places import with_places
from xlabench.command import EXIT_DONE, EXIT_FINDINGS, Verbs, home_of, places_of, verb

if TYPE_CHECKING:
    from rich.text import Text

    from runner.doctor.facts import DoctorFacts
    from runner.doctor.screen import Doubt


def add(verbs: Verbs) -> None:
    """Add the verb and its flag."""
    parser = verb(
        verbs,
        "doctor",
        _doctor,
        "Check this machine: what can be measured, what may disturb it, and how to fix that.",
        "The check takes a few seconds. It judges by the same rule as a run whether other programs disturb a "
        "measurement. Exit code 1 means that a run would be refused now.",
    )
    parser.add_argument(
        "--threads",
        type=flag.positive,
        metavar="N",
        help="number of CPU threads, as for `run` (default: torch's default)",
    )


def _doctor(parsed: argparse.Namespace) -> int:
    from rich.console import Console

    from runner.doctor import facts, screen

    home = home_of(parsed)
    named = settings_file.interpreters(home, settings_file.read(home))
    with Console(stderr=True).status("Checking the machine for a few seconds …"):
        seen = facts.collect(home, named, parsed.threads)
    doubts = screen.of_facts(seen)
    _print(seen, doubts, lambda sentence: with_places(sentence, *places_of(parsed)))
    return EXIT_FINDINGS if any(doubt.refuses for doubt in doubts) else EXIT_DONE


def _print(facts: DoctorFacts, doubts: list[Doubt], placed: Callable[[str], str]) -> None:
    """Print the facts as a table and the warnings below it, in lines that fit the terminal; commands are `placed`."""
    from rich.table import Table
    from rich.text import Text

    from runner.doctor import screen
    from runner.plan.plan_view import PlainConsole

    console = PlainConsole(file=sys.stdout, highlight=False)
    grid, below = (Table.grid(padding=(0, 2, 0, 0)) for _ in range(2))
    for table in (grid, below):
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
    for name, sentence in screen.lines(facts):
        grid.add_row(Text(name, style="bold"), Text(_printable(sentence)))
    console.print(grid)
    console.print()
    for doubt in doubts:
        mark = Text("refused", style="bold red") if doubt.refuses else Text("warning", style="yellow")
        below.add_row(mark, Text(_printable(placed(doubt.sentence))))
    if doubts:
        console.print(below)
        console.print()
    console.print(_answer(doubts))


def _answer(doubts: Sequence[Doubt]) -> Text:
    """Return whether the machine can measure now, in one sentence."""
    from rich.text import Text

    if any(doubt.refuses for doubt in doubts):
        return Text("The machine is not ready: a measurement would be refused now.", style="bold red")
    if doubts:
        return Text("The machine can measure now, but results may have measurement warnings.", style="yellow")
    return Text("The machine is ready: nothing was found that would disturb a measurement.", style="green")


def _printable(sentence: str) -> str:
    """Return a sentence without control characters, which names of programs may contain."""
    return "".join(character if character.isprintable() else "?" for character in sentence)
