"""Page Compare: the boxes of both sides, a summary, the findings as a table or one by one, and the report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from dashboard import data, settings
from dashboard.data import snapshot
from dashboard.data.frames import iter_rows
from dashboard.formatting import ago, count, escape, when
from dashboard.review import board, one_finding, triage
from dashboard.screens.compare import other_findings
from dashboard.ui import downloads, empty, frame, verdicts
from dashboard.ui.frame import PageSpec
from dashboard.view import View, choosing, filters
from store.compare import Side, comparison_report, resolve
from store.errors import UsageError
from store.query import Connection
from store.report import render
from store.review import GOOD, Review, ReviewFinding
from store.state import reviews
from store.weekly import weekly_report
from store.weekly.lanes import base_of

_BAD = (
    *("newly failing", "fails in B only", "slower", "new fallback op", "fallback op in more models"),
    *("fallback op in other models", "flaky"),
)
_REST = (*GOOD, "no longer tried", "not tried in B")
_BEFORE = "Previous run"
_SHOWN = "Shown run"


def show(view: View) -> None:
    """Draw the page."""
    top = st.container(key="top")
    chosen = _chosen_sides(view)
    review = chosen if isinstance(chosen, str) else _compared(view, *chosen)
    if isinstance(review, str):
        with top:
            frame.head(PAGE.title, view, [], 0, baseline=False)
        st.info(review, icon=":material/info:")
        return
    findings = board.filtered(view, review.findings)
    with top:
        frame.name(PAGE.title, view, review.new.run_id)
        _head(view, review, findings)
    other_findings.versions(review)
    standings = reviews.standings(triage.entries())
    if findings:
        _findings(view, review, findings, standings)
    elif view.selection.active() and other_findings.has_no_cell(view, review):
        empty.no_rows(view.selection, "experiments")
    triage.confirm_bar(view, review, findings, other_findings.filtered_cells(view, review, "ambiguous"))
    other_findings.show(view, review)
    _show_export(view, review)


def _chosen_sides(view: View) -> tuple[Side, Side] | str:
    """Draw the boxes; return both sides, or a sentence of markdown that says why they cannot be compared."""
    axes = data.rows(view.snapshot, "axes", view.selection)
    names = list(axes["name"]) if len(axes) else []
    runs = [text for _, text in data.choices(view.snapshot).runs[: filters.RUNS_LISTED]]
    with st.container(horizontal=True, vertical_alignment="bottom", key="sides"):
        first = _box(view, "A: before", "a", [_BEFORE, *runs, *names])
        second = _box(view, "B: after", "b", [_SHOWN, *runs, *names])
    try:
        new = _side(view, second)
        old = _base(view, new) if first == _BEFORE else _side(view, first)
    except UsageError as error:
        return escape(error)
    if old is None:
        name = escape(_name_of(view, new.run_id))
        to_do = "Choose a run as A" if len(runs) > 1 else "Choose two of its backends, or measure another run"
        return f"Nothing to compare with: nothing was measured on this machine before run {name}. {to_do}."
    return _same_kind(old, new)


def _name_of(view: View, run_id: str) -> str:
    """Return the name that lists of runs show for a run."""
    return dict(data.choices(view.snapshot).runs).get(run_id, run_id)


def _box(view: View, label: str, name: str, options: list[str]) -> str:
    """Draw the box of a side; the id of a run is replaced by its name in the list."""
    choosing.take_value(name)
    text = str(
        st.selectbox(
            label,
            options,
            key=name,
            bind="query-params",
            accept_new_options=True,
            width="stretch",
            help="A run (of the list, its id or its label), or an environment or backend of the shown run.",
        )
        or options[0]
    )
    run = None if text in options else filters.resolve_run(text, data.choices(view.snapshot))
    if run is not None and _name_of(view, run) != text:
        choosing.leave_value(name, _name_of(view, run))
        st.rerun()
    return text


def _side(view: View, text: str) -> Side:
    choices = data.choices(view.snapshot)
    run = view.selection.run_id if text == _SHOWN else filters.resolve_run(text, choices)
    if run is not None:
        return Side(text=_name_of(view, run), run_id=run)
    return _resolved(view.snapshot, text, view.selection.run_id)


@st.cache_data(max_entries=100, show_spinner=False)
def _resolved(shown: str, text: str, run: str) -> Side:
    """Return the side that a text names; it is cached per snapshot, because every change on the page needs it."""
    return resolve(snapshot.connection(shown), text, run)


@st.cache_data(max_entries=100, show_spinner=False)
def _run_before(shown: str, run: str) -> str | None:
    return base_of(snapshot.connection(shown), run)


def _base(view: View, new: Side) -> Side | None:
    """Return the run before B, as page Overview chooses it; for an environment or a backend, another one of B's run."""
    if new.environment is None and new.variant is None:
        row = data.base_run(view.snapshot, replace(view.selection, run_id=new.run_id))
        run = str(row["run_id"]) if row else _run_before(view.snapshot, new.run_id)
        return None if run is None else Side(text=_name_of(view, run), run_id=run)
    kind, own = ("environment", new.environment) if new.environment else ("backend", new.variant)
    axes = data.rows(view.snapshot, "axes", view.selection)
    others = [str(name) for name in axes[axes["kind"] == kind]["name"] if name != own]
    other = view.selection.baseline if view.selection.baseline in others else next(iter(others), None)
    return _resolved(view.snapshot, other, new.run_id) if other else None


def _same_kind(old: Side, new: Side) -> tuple[Side, Side] | str:
    kinds = [(bool(side.environment), bool(side.variant)) for side in (old, new)]
    if kinds[0] != kinds[1]:
        return "Choose two runs, two environments or two backends: A and B are of different kinds."
    if old.is_same(new):
        return "A and B are the same. Choose another one."
    return old, new


def _compared(view: View, old: Side, new: Side) -> Review | str:
    try:
        return data.review(view.snapshot, old, new)
    except UsageError as error:
        return escape(error)


def _head(view: View, review: Review, findings: Sequence[ReviewFinding]) -> None:
    numbers = Counter(finding.word for finding in findings)
    sure = Counter(finding.word for finding in findings if finding.certainty == "confirmed")
    bad, good = (
        [_finding_count(word, numbers[word], sure[word]) for word in words if numbers[word]] for words in (_BAD, _REST)
    )
    st.markdown(f"#### {', '.join(bad) or '; '.join([_nothing_worse(view, review, findings), *good])}")
    without_finding = other_findings.counted(view, review, mentioned=() if bad else ("ambiguous",))
    lines = [
        *([", ".join(good)] if bad and good else []),
        *([f"Without a finding: {without_finding}"] if without_finding else []),
    ]
    if lines:
        with st.container(key="answers"):
            st.markdown("\n".join(f"- {line}" for line in lines))
    with frame.origin():
        st.caption(" · ".join(_origin(view, review)))


def _nothing_worse(view: View, review: Review, findings: Sequence[ReviewFinding]) -> str:
    """Return that nothing got worse, with its doubt: cells that are ambiguous, or that no cell can be compared."""
    words = ("ambiguous", "same", "not comparable")
    unsure, same, apart = (len(other_findings.filtered_cells(view, review, word)) for word in words)
    total = unsure + same + sum(finding.group == "speed" for finding in findings)
    if not total:
        why = f"none of {count(apart, 'experiment')} can be compared" if apart else "A and B share no experiment"
        return f"Whether anything got slower is unknown: {why}"
    if not unsure:
        return "Nothing got worse"
    return f"Nothing is shown to be worse, but {unsure:,} of {count(total, 'experiment')} are ambiguous"


def _finding_count(word: str, number: int, sure: int) -> str:
    """Return `▼ 3 slower (2 confirmed)` in its colour; only speed and new failures have a number of confirmed ones."""
    certainty = f" ({sure:,} confirmed)" if word in ("slower", "faster", "newly failing") else ""
    look = verdicts.appearance_of(word)
    plural = word.replace("fallback op", "fallback ops") if number > 1 else word
    return f":{look.markdown}[{look.sign} {number:,} {plural}]{certainty}"


def _origin(view: View, review: Review) -> list[str]:
    """Return what is compared and where the numbers come from, in parts."""
    runs = {row.run_id: row for row in iter_rows(data.runs(view.snapshot))}
    shown_rows = [runs[review.new.run_id]] if review.new.run_id in runs else []
    newest = " (newest)" if data.choices(view.snapshot).newest == review.new.run_id else ""
    name = escape((shown_rows[0].run_label if shown_rows else None) or review.new.run_id[:8])
    name = f"**{name}**{newest}" + "".join(f" of {when(row.run_started)}" for row in shown_rows)
    old = runs.get(review.old.run_id)
    against = f"against {escape(old.run_label or old.run_id[:8])} of {when(old.run_started)}" if old else ""
    against = against or f"against {escape(review.old.text)}"
    if not review.across_runs:
        against = f"with A {escape(review.old.text)} and B {escape(review.new.text)}"
    parts = [f"{count(len(review.comparison.cells), 'experiment')} of run {name} {against}"]
    for row in shown_rows:
        parts += [f"torch {escape(row.torch or 'unknown')}", f"ingested {ago(row.ingested_at)}"]
    return parts


def _findings(
    view: View,
    review: Review,
    findings: Sequence[ReviewFinding],
    standings: dict[reviews.Subject, reviews.ReviewStanding],
) -> None:
    groups, order, unsettled = board.controls()
    listed = board.arranged(findings, groups, order)
    is_open = {finding.subject: standings.get(finding.subject, reviews.OPEN).state == "open" for finding in findings}
    if one_finding.is_stepwise(sum(is_open[finding.subject] for finding in listed)):
        one_finding.show_step(view, review, listed, standings)
        return
    board.draw_changes(listed)
    shown = [finding for finding in listed if is_open[finding.subject] or not unsettled]
    if not shown:
        st.info("No finding of these groups is open." if unsettled else "There is no finding in these groups.")
        return
    selected = board.draw(view, review, shown, standings, board.position(shown, review.findings))
    board.remember(None if selected is None else shown[selected])
    if selected is None:
        st.caption("Select a row to see the evidence and to review the finding.")
    else:
        one_finding.show(view, review, shown[selected], standings)


_FORMS = {"Markdown": ("markdown", "md", "text/markdown"), "HTML": ("html", "html", "text/html")}


def _show_export(view: View, review: Review) -> None:
    """Draw the buttons that export the report; a report is made when its button is clicked."""
    st.subheader("Report", anchor=False)
    words = ["report", "weekly", "--run", review.new.run_id, "--since", review.old.run_id]
    if view.selection.baseline != "inductor":
        words += ["--backends", view.selection.baseline]
    if not review.across_runs:
        words = ["compare", review.old.text, review.new.text, "--run", review.new.run_id]
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, (form, suffix, kind) in _FORMS.items():
            if not review.across_runs and form == "html":
                continue
            st.download_button(
                label,
                data=_maker(view, review, form),
                file_name=f"{view.file_name('review', review.new.run_id)}.{suffix}",
                mime=kind,
                key=f"report-{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )
        st.caption("The same from the command line:", width="content")
        downloads.command(shlex.join(["xlabench", *words, *settings.store_flags()]), width="content")


def weekly_report_of(con: Connection, state: Path, runs: tuple[str, str], baseline: str, form: str) -> bytes:
    """Return the weekly report of two runs (new, old) with its reviews, as `xlabench report weekly` prints it."""
    new, old = runs
    return weekly_report(con, [new], old, baseline, None, reviews.listed(state)).render(form).encode()


def _maker(view: View, review: Review, form: str) -> Callable[[], bytes]:
    con, state = snapshot.connection(view.snapshot), settings.state_path()
    if not review.across_runs:
        return lambda: render(comparison_report(review.comparison), form).encode()
    return lambda: weekly_report_of(con, state, (review.new.run_id, review.old.run_id), view.selection.baseline, form)


PAGE = PageSpec(place=70, title="Compare", url_path="compare", icon=":material/compare_arrows:", show=show)
