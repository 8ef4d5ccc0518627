"""Page Compare: a summary, the findings as a table or one by one, the selected finding in full, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import streamlit as st

from dashboard import data, settings
from dashboard.access import login
from dashboard.data import snapshot
from dashboard.data.frames import each
from dashboard.screens.compare import board, other_findings, panel, sides, triage
from dashboard.ui import downloads, empty, frame, verdicts
from dashboard.view import View
from dashboard.words import ago, count, escape, when
from store.compare import Side, comparison_report
from store.errors import UsageError
from store.query import Connection
from store.report import render
from store.review import GOOD, Review, ReviewFinding
from store.state import reviews
from store.state.reviews import OPEN, ReviewStanding, State, Subject
from store.weekly import weekly_report

_BAD = (
    *("newly failing", "fails in B only", "slower", "new fallback op", "fallback op in more models"),
    *("fallback op in other models", "flaky"),
)
_REST = (*GOOD, "no longer tried", "not tried in B")


def show(view: View) -> None:
    """Draw the page."""
    top = st.container()
    chosen = sides.chosen(view)
    review = chosen if isinstance(chosen, str) else _compared(view, *chosen)
    if isinstance(review, str):
        with top:
            frame.head("Compare", view, [], 0, baseline=False)
        st.info(review, icon=":material/info:")
        return
    with top:
        frame.name("Compare", view, review.new.run_id)
    findings = board.filtered(view, review.findings)
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
    without_finding = other_findings.counted(view, review)
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
    """Return that nothing got worse, or, where cells are ambiguous, that nothing is shown to have got worse."""
    unsure, same = (len(other_findings.filtered_cells(view, review, word)) for word in ("ambiguous", "same"))
    total = unsure + same + sum(finding.group == "speed" for finding in findings)
    if not unsure:
        return "Nothing got worse"
    return f"Nothing is shown to be worse, but {unsure:,} of {count(total, 'experiment')} are ambiguous"


def _finding_count(word: str, number: int, sure: int) -> str:
    """Return `▼ 3 slower (2 confirmed)` in its colour; only speed and new failures have a number of confirmed ones."""
    certainty = f" ({sure:,} confirmed)" if word in ("slower", "faster", "newly failing") else ""
    look = verdicts.look(word)
    plural = word.replace("fallback op", "fallback ops") if number > 1 else word
    return f":{look.markdown}[{look.sign} {number:,} {plural}]{certainty}"


def _origin(view: View, review: Review) -> list[str]:
    """Return what is compared and where the numbers come from, in parts."""
    runs = {row.run_id: row for row in each(data.runs(view.snapshot))}
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
    if _is_stepwise(sum(is_open[finding.subject] for finding in listed)):
        _show_step(view, review, listed, standings)
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
        panel.show(view, review, shown[selected], standings)


_CURRENT = "_review_at"
"""Key of the session's state: the subject of the finding in review mode. It stays when the finding's state changes."""


def _is_stepwise(open_n: int) -> bool:
    """Draw the switch of review mode; return whether it is on."""
    return bool(
        st.toggle(
            f"Review mode: {count(open_n, 'open finding')} one by one",
            key="review",
            bind="query-params",
            help="J next, K back; 1 known, 2 expected, 3 won't fix. Filed needs a reference: use the form.",
        )
    )


def _show_step(
    view: View, review: Review, findings: Sequence[ReviewFinding], standings: Mapping[Subject, ReviewStanding]
) -> None:
    """Draw one finding in review mode, with the buttons that lead to the others."""
    open_findings = [finding for finding in findings if standings.get(finding.subject, OPEN).state == "open"]
    position = next(
        (index for index, finding in enumerate(findings) if finding.subject == st.session_state.get(_CURRENT)), None
    )
    if position is None and _CURRENT not in st.session_state:
        position = board.position(findings, review.findings)
    if position is None:
        if not open_findings:
            board.remember(None)
            _show_all_settled(findings)
            return
        position = findings.index(open_findings[0])
        st.session_state[_CURRENT] = findings[position].subject
    current = findings[position]
    board.remember(current)
    st.progress(
        1 - len(open_findings) / len(findings), f"{len(findings) - len(open_findings)} of {len(findings)} settled"
    )
    _show_buttons(findings, open_findings, position)
    panel.show(view, review, current, standings)


def _show_buttons(findings: Sequence[ReviewFinding], open_findings: Sequence[ReviewFinding], position: int) -> None:
    current = findings[position]
    next_open = [finding for finding in findings[position + 1 :] if finding in open_findings] or [
        finding for finding in open_findings if finding != current
    ]
    with st.container(horizontal=True, key="review-keys"):
        st.button(
            "Back",
            shortcut="K",
            on_click=_make_current,
            args=(findings[position - 1],),
            disabled=position == 0,
            key="review-back",
        )
        st.button(
            "Next open",
            shortcut="J",
            on_click=_make_current,
            args=(next_open[0] if next_open else None,),
            type="primary",
            key="review-next",
        )
        states: tuple[tuple[State, str], ...] = (("known", "1"), ("expected", "2"), ("wontfix", "3"))
        for state, shortcut in states:
            pressed = st.button(
                triage.STATE_WORDS[state].removeprefix("● ").capitalize(),
                shortcut=shortcut,
                key=f"review-{state}-{current.token}",  # so that a double click does not answer the next finding, too
            )
            if pressed and triage.say([current], login.known(), state=state):
                _make_current(next_open[0] if next_open else None)
                st.rerun()


def _make_current(finding: ReviewFinding | None) -> None:
    """Make a finding the current one of review mode; None means that no open one is left."""
    st.session_state[_CURRENT] = finding.subject if finding else None


def _show_all_settled(findings: Sequence[ReviewFinding]) -> None:
    st.success(
        f"All {count(len(findings), 'finding')} are settled. Export the report below.", icon=":material/task_alt:"
    )


_FORMS = {"Markdown": ("markdown", "md", "text/markdown"), "HTML": ("html", "html", "text/html")}


def _show_export(view: View, review: Review) -> None:
    """Draw the buttons that export the report; a report is made when its button is clicked."""
    st.subheader("Report", anchor=False)
    command = f"xlabench report weekly --run {review.new.run_id} --since {review.old.run_id}"
    if view.selection.baseline != "inductor":
        command += f" --backends '{view.selection.baseline}'"
    if not review.across_runs:
        command = f"xlabench compare '{review.old.text}' '{review.new.text}' --run {review.new.run_id}"
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, (form, suffix, kind) in _FORMS.items():
            if not review.across_runs and form == "html":
                continue
            st.download_button(
                label,
                data=_maker(view, review, form),
                file_name=f"{view.file_name('review')}.{suffix}",
                mime=kind,
                key=f"report-{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )
        st.caption("The same on a terminal:", width="content")
        downloads.copyable(command, width="content")


def weekly_report_of(con: Connection, state: Path, runs: tuple[str, str], baseline: str, form: str) -> bytes:
    """Return the weekly report of two runs (new, old) with its reviews, as `xlabench report weekly` prints it."""
    new, old = runs
    return weekly_report(con, [new], old, baseline, None, reviews.listed(state)).render(form).encode()


def _maker(view: View, review: Review, form: str) -> Callable[[], bytes]:
    con, state = snapshot.connection(view.snapshot), settings.state_path()
    if not review.across_runs:
        return lambda: render(comparison_report(review.comparison), form).encode()
    return lambda: weekly_report_of(con, state, (review.new.run_id, review.old.run_id), view.selection.baseline, form)
