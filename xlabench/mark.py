"""`xlabench mark`: mark a break in the history, and why."""

from __future__ import annotations

import argparse
import contextlib
import getpass
from collections.abc import Mapping
from datetime import datetime

from runner import flag
from store.errors import NoSnapshot
from store.state import marks
from xlabench import command
from xlabench.command import Verbs

_NAMES = {
    "--suite-name": "suite",
    "--model": "model",
    "--test": "test",
    "--backend": "backend",
    "--variant": "variant",
    "--environment": "environment",
    "--accelerator": "accelerator",
    "--accelerator-model": "accelerator_model",
    "--machine": "machine_id",
}
"""Flags that narrow a mark, and the column that each names."""


def add(verbs: Verbs) -> None:
    """Add the verb, its actions and their flags."""
    parser = command.verb(
        verbs,
        "mark",
        _list,
        "Mark a break in the history, such as a new driver.",
        "Latencies from before and after a mark are not compared. Marks are stored in state.sqlite in the home.",
    )
    actions = command.add_actions(parser, "add|list|remove")
    adding = command.action(actions, "add", _add, "mark a break in the history")
    adding.add_argument(
        "text", type=command.filled, metavar="TEXT", help='reason for the break, such as "new driver 550.54"'
    )
    when = adding.add_mutually_exclusive_group()
    when.add_argument("--run", metavar="RUN", help="first run after the break")
    when.add_argument(
        "--at",
        metavar="TIME",
        help="time of the break in UTC, for example 2026-11-21 or 2026-11-21T14:00 (default: now)",
    )
    for option, name in _NAMES.items():
        what = option.removeprefix("--").replace("-", " ")
        adding.add_argument(
            option, dest=f"of_{name}", metavar="NAME", help=f"mark only series with this {what} (default: all series)"
        )
    command.add_who(adding)
    listing = command.action(actions, "list", _list, "print all marks")
    removing = command.action(actions, "remove", _remove, "remove a mark")
    removing.add_argument(
        "mark_id", type=flag.positive, metavar="NUMBER", help="number of the mark, as printed by `mark list`"
    )
    for parser in (adding, listing, removing):
        command.add_database(parser)


def _add(parsed: argparse.Namespace) -> int:
    names = {name: value for name in _NAMES.values() if (value := getattr(parsed, f"of_{name}")) is not None}
    _require_series(parsed, names)
    created = marks.now()
    run_id, moment = _moment(parsed)
    written = marks.add(
        command.state_of(parsed),
        marks.Mark(
            marked_at=moment or created,
            run_id=run_id,
            text=parsed.text,
            who=parsed.who or getpass.getuser(),
            created_at=created,
            **names,
        ),
    )
    print(_sentence(written))
    return _bring_up(parsed)


def _require_series(parsed: argparse.Namespace, names: Mapping[str, str]) -> None:
    """Refuse names that match no series of the index; before there is an index, all names are possible."""
    from store.choose import require_series

    with contextlib.suppress(NoSnapshot), command.index_of(command.store_of(parsed)) as con:
        require_series(con, names)


def _list(parsed: argparse.Namespace) -> int:
    command.existing_home_of(parsed)
    all_marks = marks.listed(command.state_of(parsed))
    print("\n".join(map(_sentence, all_marks)) or "There are no marks.")
    return command.EXIT_DONE


def _remove(parsed: argparse.Namespace) -> int:
    print(f"Removed: {_sentence(marks.remove(command.state_of(parsed), parsed.mark_id))}")
    return _bring_up(parsed)


def _moment(parsed: argparse.Namespace) -> tuple[str | None, datetime | None]:
    """Return the run at which the mark begins and its start, or a time that was typed."""
    from store.choose import run_named, start_of_run

    if parsed.run is None:
        return None, marks.moment(parsed.at) if parsed.at is not None else None
    with command.index_of(command.store_of(parsed)) as con:
        run_id = run_named(con, parsed.run)
        return run_id, start_of_run(con, run_id)


def _bring_up(parsed: argparse.Namespace) -> int:
    from store.changepoints import update

    update(command.store_of(parsed), command.state_of(parsed))
    return command.EXIT_DONE


def _sentence(mark: marks.Mark) -> str:
    narrowed = [f"{name} {value}" for name in marks.NAMES if (value := getattr(mark, name))]
    of = ", ".join(narrowed) or "all series"
    run = f" (run {mark.run_id})" if mark.run_id else ""
    return f"{mark.mark_id}  {mark.marked_at:%Y-%m-%d %H:%M} UTC{run}  {mark.text}  [{of}]  {mark.who}"
