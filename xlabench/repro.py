"""`xlabench repro`: write a one-file script that shows a fault of the store, and the draft of an issue."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner import flag
from runner.suites.own.reference import MEASURED
from store.errors import UsageError
from xlabench import command
from xlabench.command import Verbs
from xlabench.own import as_measured

if TYPE_CHECKING:
    from runner.settings import OwnModel
    from store.repro.fault import Fault

_LIMIT_S = 300.0
_OUTCOMES = {
    "shown": (command.EXIT_DONE, "shows the fault"),
    "not shown": (command.EXIT_FINDINGS, "does not show the fault"),
    "could not run": (command.EXIT_PARTIAL, "could not run"),
}
"""Outcome of a script → exit code, and what the command says of the script."""


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "repro",
        _repro,
        "Write a one-file script and a draft issue for a fallback op, graph break, failure or wrong answer.",
        "Each script is run once to confirm that it shows the fault. Faults with the same text share one draft. "
        "Without RECORD, --op, --signature or --all, the faults are listed with their ids. Exit code 1 means that a "
        "script did not show its fault, 3 that one could not run.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("record", nargs="?", metavar="RECORD", help="id of a record: take all faults of its result")
    what.add_argument("--op", metavar="OP", help="take this fallback op, for example aten::nonzero")
    what.add_argument("--signature", metavar="ID", help="take this fault, by its id in the list")
    what.add_argument("--all", action="store_true", help="take all listed faults")
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="a model of your own, named as for `xlabench run`; the script then contains its source",
    )
    parser.add_argument("--run", metavar="RUN", help="take only faults that occurred in this run")
    parser.add_argument(
        "--output",
        "-o",
        type=command.path,
        metavar="DIR",
        help="folder for scripts and drafts (default: `repros` in the home)",
    )
    parser.add_argument(
        "--python",
        default=sys.executable,
        metavar="PATH",
        help="Python interpreter that runs the scripts (default: the one that runs xlabench)",
    )
    parser.add_argument(
        "--time-limit",
        type=flag.above_zero,
        default=_LIMIT_S,
        metavar="SECONDS",
        help="time limit of one script (default: 300)",
    )
    command.add_database(parser)


def _repro(parsed: argparse.Namespace) -> int:
    from store.repro.find import FOLDER_NAME, faults

    listing = parsed.record is None and parsed.op is None and parsed.signature is None and not parsed.all
    if listing and (parsed.output or parsed.model):
        text = "--output and --model are for scripts: pass RECORD, --op, --signature or --all as well."
        return command.say(text, command.EXIT_USAGE)
    python = shutil.which(parsed.python)
    if python is None:
        return command.say(
            f"--python {parsed.python}: no such interpreter. Pass its path, for example VENV/bin/python.", 2
        )
    with command.index_of(command.store_of(parsed)) as con:
        found_faults = faults(con, record=parsed.record, op=parsed.op, fault_id=parsed.signature, run=parsed.run)
    if listing:
        return _list(found_faults)
    if not found_faults:
        return command.say(
            "No fault found: no fallback op, graph break, failure or wrong answer matches.", command.EXIT_USAGE
        )
    folder = parsed.output or command.home_of(parsed) / FOLDER_NAME
    # It ends as Ctrl-C does, so that the script that runs is killed, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return max(_one(fault, folder, python, parsed) for fault in found_faults)


def _list(faults: list[Fault]) -> int:
    from store.answer import as_text
    from store.repro.find import lines

    if not faults:
        print("No fault found: no fallback op, graph break, failure or wrong answer.")
        return command.EXIT_DONE
    columns = ["id", "kind", "results", "models", "first run", "text"]
    sys.stdout.write(as_text(columns, list(lines(faults))))
    return command.EXIT_DONE


def _own(fault: Fault, parsed: argparse.Namespace, python: str) -> OwnModel | None:
    """Return the source of a fault's model, if the command names it.

    Raises:
        UsageError: what it names is not what was measured.
    """
    from runner.repro.subject import of_record

    model = fault.record["model"]
    if parsed.model is None or model["suite_name"] != "own" or model["model_name"].startswith(MEASURED):
        return None
    return as_measured(parsed.model, of_record(fault.record).config, python, parsed.time_limit)


def _one(fault: Fault, folder: Path, python: str, parsed: argparse.Namespace) -> int:
    """Make, run and write the script and the draft of one fault; report a fault that has no script."""
    from runner.repro.candidates import show
    from store.repro.fault import write_draft

    name = f"{fault.fault_id} {fault.kind.replace('_', ' ')} {fault.headline[:80]}"
    print(name, flush=True)
    try:
        own = _own(fault, parsed, python)
        proof = show(fault, python, parsed.time_limit, lambda line: print(f"  {line}", flush=True), own)
    except UsageError as error:
        return command.say(str(error), command.EXIT_PARTIAL)
    place, script = write_draft(folder, fault, proof)
    code, outcome = _OUTCOMES[proof.outcome]
    print(f"  The script, {proof.what}, {outcome} ({proof.seconds:.0f} s).")
    print(f"  Draft of the issue: {place}" + (f"\n  Script: {script}" if script else ""))
    if proof.outcome != "shown":
        print("  " + "\n  ".join(proof.output.strip().splitlines()[-5:]))
    return code
