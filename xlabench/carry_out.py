"""`xlabench carry-out`: what a worker starts for a job. Its file is data; where it is done, the host's words say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xlabench.command import add_database, home_of, store_of, verb

if TYPE_CHECKING:
    import argparse

    from runner.jobs.executor import Work
    from xlabench.command import Verbs
    from xlabench.measuring import Place


def add(verbs: Verbs) -> None:
    """Add the verb, which `--help` does not list, and its flags."""
    parser = verb(verbs, "carry-out", _carry_out, "", "Carry out the work of a job; the worker calls it.")
    parser.add_argument("work", type=Path, metavar="FILE", help="the work, as the worker wrote it")
    parser.add_argument("--output-dirname", type=Path, metavar="DIR", help="folder of the run")
    parser.add_argument("--no-ingest", action="store_true", help="do not add the records to the store")
    add_database(parser)


def _carry_out(parsed: argparse.Namespace) -> int:
    import msgspec

    from runner.jobs.executor import Work
    from runner.jobs.request import ConfirmRequest
    from xlabench import compare, run

    work = msgspec.json.decode(parsed.work.read_bytes(), type=Work)
    place = _place(parsed, work)
    if isinstance(work.request, ConfirmRequest):
        return compare.carry_out(work.request, place)
    return run.carry_out(work.request, place)


def _place(parsed: argparse.Namespace, work: Work) -> Place:
    from runner.flags import command_line, spaced
    from runner.jobs.command import words
    from xlabench.measuring import Place

    typed = [*spaced(words(work.request)), *(["--label", work.label] if work.run else [])]
    exact = getattr(work.request, "plan", None) is not None
    return Place(
        home=home_of(parsed),
        store=store_of(parsed),
        # No flags give exactly these experiments, so the file stands there.
        command=command_line(parsed.words if exact else typed),
        ingest=not parsed.no_ingest,
        output=parsed.output_dirname,
        label=work.label or None,
        retry_failed=work.retry_failed,
    )
