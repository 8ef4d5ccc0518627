"""`xlabench run`: measure a plan."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from xlabench.command import store_of, verb
from xlabench.measuring import USUAL, add_run_flags, measure, settings_of
from xlabench.own import add_own_flags

if TYPE_CHECKING:
    from runner.messages import Settings
    from xlabench.command import Verbs


_QUICK_REPEAT = 10
"""Steady blocks of a first look: as many as an interval needs."""
_FIRST_LOOK = "First look, not yet verified"


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "run",
        _run,
        "Measure a plan and add its records to the store.",
        "Without filters, everything is planned. To resume an interrupted run, repeat the command or name the run's "
        "folder: finished experiments are listed and skipped. Without an unfinished run, a new one starts. Ctrl-C "
        "loses no finished experiment.",
    )
    add_own_flags(parser)
    add_run_flags(parser)
    parser.show_first(
        USUAL,
        (
            "run --smoke",
            "run mymodel.py --backend eager --backend inductor",
            "run --suite-name timm_models --filter resnet --backend eager --backend inductor",
            "run --only huggingface/DistilBertForMaskedLM --test train --processes 5",
        ),
    )


def _run(parsed: argparse.Namespace) -> int:
    return _quick(parsed) if parsed.quick else measure(parsed, _settings, _tell)


def _quick(parsed: argparse.Namespace) -> int:
    """Print a table as soon as there is one, then compare the results with eager's and say whether they agree."""
    _refuse_beside_quick(parsed)
    parsed.processes = parsed.processes or 1
    parsed.repeat = parsed.repeat or _QUICK_REPEAT
    parsed.twins, parsed.no_wait_quiet = 0, True
    looked: list[str] = []

    def look(parsed: argparse.Namespace, run_id: str) -> None:
        looked.append(run_id)
        _tell(parsed, run_id)
        print(f"\n{_FIRST_LOOK}" + ("" if parsed.no_verify else "; the results are compared now."), flush=True)

    code = measure(parsed, _settings, look)
    if not looked or parsed.no_verify:
        return code
    verify = argparse.Namespace(**{**vars(parsed), "verify_only": True, "retry_failed": False})
    if parsed.output_dirname is not None:
        verify.output_dirname = parsed.output_dirname.with_name(f"{parsed.output_dirname.name}-verify")
    return max(code, measure(verify, _settings, _say_checked))


def _refuse_beside_quick(parsed: argparse.Namespace) -> None:
    from runner.errors import UsageError

    for name in ("verify", "verify_only", "until_verdict", "until_stable", "plan", "no_ingest", "prove"):
        if getattr(parsed, name):
            raise UsageError(f"--quick is a first look, verified after its table; leave out --{name.replace('_', '-')}")


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


def _say_checked(parsed: argparse.Namespace, run_id: str) -> None:
    """Say which results of a first look agree with eager's."""
    from store.choose import newest_snapshot
    from store.filters import Filters
    from store.query import connect, fetch, named
    from store.report.findings import wrong_answers

    with connect(newest_snapshot(store_of(parsed))) as con:
        rows = fetch(con, named("results"), Filters(run=(run_id,)).parameters())
    wrong = wrong_answers(rows)
    codes = {f"{row['model']} {row['test']} {row['variant']}": row["verification_code"] for row in rows}
    others = [f"{name} ({code})" for name, code in codes.items() if code not in ("PASS", "FAIL")]
    passed = sum(code == "PASS" for code in codes.values())
    print("\n".join(["", *wrong, f"Verified: {passed} of {len(codes)} results agree with eager's."]))
    if others:
        print(f"Not verified: {', '.join(others)}.")


def _settings(parsed: argparse.Namespace) -> Settings:
    found = settings_of(parsed)
    if found.until_verdict and parsed.no_ingest:
        from runner.errors import UsageError

        raise UsageError("--until-verdict reads verdicts from the store; remove --no-ingest")
    return found
