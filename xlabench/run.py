"""`xlabench run`: measure a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlabench.command import store_of, verb
from xlabench.measuring import add_run_flags, measure, settings_of
from xlabench.own import add_own_flags

if TYPE_CHECKING:
    import argparse

    from runner.messages import Settings
    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "run",
        _run,
        "Measure a plan and ingest its records. The same command resumes an unfinished run, or the one in the folder "
        "that is named: what it has measured is skipped and named. Where there is none, a new run starts. Ctrl-C loses "
        "nothing that is finished.",
    )
    add_own_flags(parser)
    add_run_flags(parser)


def _run(parsed: argparse.Namespace) -> int:
    return measure(parsed, _settings, _tell)


def _tell(parsed: argparse.Namespace, run_id: str) -> None:
    """Print the answer; tell `xlabench.measure`, where it asked, which run it is."""
    from xlabench.api import RUN

    _print_answer(parsed, run_id)
    if parsed.pickled is not None:
        (parsed.pickled / RUN).write_text(run_id, encoding="utf-8")


def _print_answer(parsed: argparse.Namespace, run_id: str) -> None:
    """Print the speedups of the run, and who is fastest; a run without results, as one for payoffs, has none."""
    from store.choose import newest_snapshot
    from store.filters import Filters
    from store.paired import baseline_of, paired_report
    from store.query import connect
    from store.report import render

    with connect(newest_snapshot(store_of(parsed))) as con:
        baseline = baseline_of(con, run_id)
        if baseline is not None:
            print()
            print(render(paired_report(con, Filters(run=(run_id,)), baseline_backend=baseline), "text"), end="")


def _settings(parsed: argparse.Namespace) -> Settings:
    found = settings_of(parsed)
    if found.until_verdict and parsed.no_ingest:
        from runner.errors import UsageError

        raise UsageError("--until-verdict asks the store for verdicts; leave out --no-ingest")
    return found
