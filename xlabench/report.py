"""`xlabench report`: speedups over a baseline, and the weekly review."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, EXIT_PARTIAL, EXIT_USAGE, say, state_of, store_of, verb
from xlabench.report_flags import (
    OF_OPS,
    OWN_KINDS,
    PICTURES,
    POINTS,
    add_flags,
    files_after_backends,
    tests_of,
    words_of,
    wrong,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from store.query import Connection
    from store.report import PeerOptions, Report
    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "report",
        _report,
        "Print speedups over a baseline, their geometric means, or another report.",
        "Without --run, the newest run is reported. If FILEs are named, they are reported instead of the store. "
        "--rule peer computes the numbers of PyTorch/XLA's aggregate.py. `payoffs` shows how much faster models "
        "become without their fallback ops, as measured by `run --without-fallback`. `fallbacks` ranks the ops that "
        "XLA does not lower; the op to lower first is at the top. `weekly` reviews a week: what passes, what fails, "
        "what became slower or faster, and why.",
    )
    add_flags(parser)


def _report(parsed: argparse.Namespace) -> int:
    files_after_backends(parsed)
    kind, files = words_of(parsed.what)
    parsed.kind = kind.replace("-", "_")
    parsed.peer = parsed.rule == "peer" or (parsed.rule is None and parsed.kind not in OWN_KINDS)
    parsed.format = parsed.format or ("markdown" if kind == "weekly" else "text")
    if sentence := wrong(parsed, files):
        return say(sentence, EXIT_USAGE)
    with _opened(parsed, files) as (con, code):
        made = _made(parsed, con, files)
    _write(made, parsed.output)
    return code


@contextlib.contextmanager
def _opened(parsed: argparse.Namespace, files: Sequence[Path]) -> Iterator[tuple[Connection, int]]:
    """Open the store, or a temporary index of the files; with the exit code so far."""
    from store.choose import newest_snapshot
    from store.errors import UsageError
    from store.ingest import ingest
    from store.query import connect

    if not files:
        with connect(newest_snapshot(store_of(parsed))) as con:
            yield con, EXIT_DONE
        return
    with tempfile.TemporaryDirectory(prefix="xlabench-report-") as folder:
        found = ingest(files, folder)
        for line in found.rejected:
            say(f"{line.path}, line {line.line_number} (byte {line.byte_offset}): {line.reason}", EXIT_PARTIAL)
        if not found.records_n or found.snapshot is None:
            raise UsageError("The files hold no record. Name results.jsonl files, or folders of runs.")
        with connect(found.snapshot) as con:
            yield con, found.exit_code


def _made(parsed: argparse.Namespace, con: Connection, files: Sequence[Path]) -> bytes:
    """Return the report in its format."""
    if parsed.kind == "weekly":
        return _weekly(parsed, con)
    if not parsed.peer:
        return _drawn(parsed, _own_report(parsed, con))
    return _peer(parsed, con, _peer_options(parsed, files))


def _write(made: bytes, output: Path | None) -> None:
    if output is not None:
        output.write_bytes(made)
        return
    sys.stdout.buffer.write(made)
    sys.stdout.flush()


def _own_report(parsed: argparse.Namespace, con: Connection) -> Report:
    """Return the report under the paired rule, or under the HUD's."""
    from store.choose import matching_models, measured_names, on_accelerator
    from store.compare import resolve
    from store.filters import Filters
    from store.paired import paired_report
    from store.query import DEFAULT_BASELINE
    from store.report import fallbacks_report, hud_report, payoffs_report

    filters = Filters(
        suite=measured_names(con, "suite", parsed.suite_name),
        model=matching_models(con, parsed.filter, parsed.exclude) if parsed.filter or parsed.exclude else (),
        backend=measured_names(con, "backend", parsed.backends),
        test=tests_of(parsed),
        run=tuple(parsed.run),
    )
    if parsed.accelerator:
        filters = on_accelerator(con, filters, parsed.accelerator)
    if parsed.kind in OF_OPS:
        return {"payoffs": payoffs_report, "fallbacks": fallbacks_report}[parsed.kind](con, filters)
    backend = parsed.backends[0] if parsed.backends else DEFAULT_BASELINE
    named = parsed.baseline not in (*POINTS, "same")
    at = resolve(con, parsed.baseline).run_id if named else parsed.baseline
    report = hud_report if parsed.rule == "hud" else paired_report
    return report(con, filters, baseline_backend=backend, baseline_run=at)


def _drawn(parsed: argparse.Namespace, made: Report) -> bytes:
    """Return one of our own reports in its format."""
    from store.report import render
    from store.report.peer_plot import Size
    from store.report.ratio_plot import plot_ratios

    if parsed.format not in PICTURES or made.picture is None:
        return render(made, parsed.format).encode()
    size = Size(parsed.fig_width, parsed.fig_height)
    title = f"{made.title}\n{parsed.title}" if parsed.title else made.title
    return plot_ratios(made.picture, title, parsed.format, size)


def _peer_options(parsed: argparse.Namespace, files: Sequence[Path]) -> PeerOptions:
    from store.report import PeerOptions

    return PeerOptions(
        kind=parsed.kind,
        metric=parsed.metric,
        baseline=parsed.baseline or "oldest",
        test=(tests_of(parsed) or ("eval",))[0],
        accelerator=parsed.accelerator,
        backends=tuple(parsed.backends) or PeerOptions().backends,
        suite=tuple(parsed.suite_name),
        include=tuple(parsed.filter),
        exclude=tuple(parsed.exclude),
        files=tuple(str(path.resolve()) for path in files),
    )


def _peer(parsed: argparse.Namespace, con: Connection, options: PeerOptions) -> bytes:
    from store.report import peer_report, render
    from store.report.peer import titles
    from store.report.peer_plot import Size, plot

    made = peer_report(con, options, grid=parsed.format == "tab")
    if parsed.format not in PICTURES:
        return render(made, parsed.format).encode()
    size = Size(parsed.fig_width, parsed.fig_height)
    return plot(made, options, titles(options), parsed.format, size, parsed.title)


def _weekly(parsed: argparse.Namespace, con: Connection) -> bytes:
    from store.query import DEFAULT_BASELINE
    from store.state import reviews
    from store.weekly import weekly_report

    baseline = parsed.backends[0] if parsed.backends else DEFAULT_BASELINE
    said = reviews.listed(state_of(parsed))
    made = weekly_report(con, parsed.run, parsed.since, baseline, parsed.dashboard, said)
    return made.render(parsed.format).encode()
