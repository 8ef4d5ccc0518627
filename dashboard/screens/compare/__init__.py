"""Compare: the answer, the findings, one of them in full or one after the other, and the report to take along."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, empty, frame, login, settings, snapshot, verdicts
from dashboard.rows import each
from dashboard.screens.compare import board, other_findings, panel, sides, triage
from dashboard.words import ago, count, escape, when
from store.compare import comparison_report
from store.errors import UsageError
from store.report import render
from store.review import GOOD
from store.state import reviews
from store.state.reviews import OPEN
from store.weekly import weekly_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from dashboard.view import View
    from store.compare import Side
    from store.query import Connection
    from store.review import Review, ReviewFinding
    from store.state.reviews import ReviewStanding, State, Subject


_BAD = (
    *("newly failing", "fails in B only", "slower", "new fallback op", "fallback op in more models"),
    *("fallback op in other models", "flaky"),
)
_REST = (*GOOD, "no longer tried", "not tried in B")


def show(view: View) -> None:
    """Draw the page."""
    top = st.container()
    chosen = sides.chosen(view)
    found = chosen if isinstance(chosen, str) else _compared(view, *chosen)
    if isinstance(found, str):
        with top:
            frame.head("Compare", view, [], 0, baseline=False)
        st.info(found, icon=":material/info:")
        return
    with top:
        frame.name("Compare", view, found.new.run_id)
    findings = board.filtered(view, found.findings)
    _head(view, found, findings)
    other_findings.versions(found)
    said = reviews.standings(triage.entries())
    if findings:
        _findings(view, found, findings, said)
    elif view.selection.active() and other_findings.nothing(view, found):
        empty.no_rows(view.selection, "experiments")
    panel.confirm_bar(view, found, findings)
    other_findings.show(view, found)
    _show_export(view, found)


def _compared(view: View, old: Side, new: Side) -> Review | str:
    try:
        return sides.compared(view.snapshot, sides.key(old), sides.key(new))
    except UsageError as error:
        return escape(error)


def _head(view: View, found: Review, findings: Sequence[ReviewFinding]) -> None:
    numbers = Counter(finding.word for finding in findings)
    sure = Counter(finding.word for finding in findings if finding.certainty == "confirmed")
    bad, good = ([_said(word, numbers[word], sure[word]) for word in words if numbers[word]] for words in (_BAD, _REST))
    st.markdown(f"#### {', '.join(bad) or '; '.join([_nothing_worse(view, found, findings), *good])}")
    rest = other_findings.counted(view, found)
    lines = [*([", ".join(good)] if bad and good else []), *([f"Without a finding: {rest}"] if rest else [])]
    if lines:
        with st.container(key="answers"):
            st.markdown("\n".join(f"- {line}" for line in lines))
    with frame.origin():
        st.caption(" · ".join(_origin(view, found)))


def _nothing_worse(view: View, found: Review, findings: Sequence[ReviewFinding]) -> str:
    """Say that nothing got worse; where cells are ambiguous, that nothing is shown to have."""
    unsure, same = (len(other_findings.kept(view, found, word)) for word in ("ambiguous", "same"))
    total = unsure + same + sum(finding.group == "speed" for finding in findings)
    if not unsure:
        return "Nothing got worse"
    return f"Nothing is shown to be worse, but {unsure:,} of {count(total, 'experiment')} are ambiguous"


def _said(word: str, number: int, sure: int) -> str:
    """Return `▼ 3 slower (2 confirmed)` in its colour; where doubt is possible, how many are sure."""
    certainty = f" ({sure:,} confirmed)" if word in ("slower", "faster", "newly failing") else ""
    look = verdicts.look(word)
    plural = word.replace("fallback op", "fallback ops") if number > 1 else word
    return f":{look.markdown}[{look.sign} {number:,} {plural}]{certainty}"


def _origin(view: View, found: Review) -> list[str]:
    """Say what is compared, and where the numbers come from."""
    runs = {row.run_id: row for row in each(data.runs(view.snapshot))}
    known = [runs[found.new.run_id]] if found.new.run_id in runs else []
    newest = " (newest)" if data.choices(view.snapshot).newest == found.new.run_id else ""
    name = escape((known[0].run_label if known else None) or found.new.run_id[:8])
    name = f"**{name}**{newest}" + "".join(f" of {when(row.run_started)}" for row in known)
    old = runs.get(found.old.run_id)
    against = f"against {escape(old.run_label or old.run_id[:8])} of {when(old.run_started)}" if old else ""
    against = against or f"against {escape(found.old.text)}"
    if not found.across_runs:
        against = f"with A {escape(found.old.text)} and B {escape(found.new.text)}"
    parts = [f"{count(len(found.comparison.cells), 'experiment')} of run {name} {against}"]
    for row in known:
        parts += [f"torch {escape(row.torch or 'unknown')}", f"ingested {ago(row.ingested_at)}"]
    return parts


def _findings(
    view: View, found: Review, findings: Sequence[ReviewFinding], said: dict[reviews.Subject, reviews.ReviewStanding]
) -> None:
    groups, order, unsettled = board.controls()
    listed = board.arranged(findings, groups, order)
    is_open = {finding.subject: said.get(finding.subject, reviews.OPEN).state == "open" for finding in findings}
    if _is_stepwise(sum(is_open[finding.subject] for finding in listed)):
        _show_step(view, found, listed, said)
        return
    board.draw_changes(listed)
    shown = [finding for finding in listed if is_open[finding.subject] or not unsettled]
    if not shown:
        st.info("No finding of these groups is open." if unsettled else "There is no finding in these groups.")
        return
    picked = board.draw(view, found, shown, said, board.position(shown, found.findings))
    board.remember(None if picked is None else shown[picked])
    if picked is None:
        st.caption("Select a row to see why, and to say what it is.")
    else:
        panel.show(view, found, shown[picked], said)


_AT = "_review_at"
"""Which finding a session looks at; it stays there when its state changes."""


def _is_stepwise(open_n: int) -> bool:
    """Draw the switch; tell whether it is on."""
    return bool(
        st.toggle(
            f"Review mode: {count(open_n, 'open finding')} one by one",
            key="review",
            bind="query-params",
            help="J next, K back; 1 known, 2 expected, 3 won't fix. Filed needs a reference: use the form.",
        )
    )


def _show_step(
    view: View, found: Review, findings: Sequence[ReviewFinding], said: Mapping[Subject, ReviewStanding]
) -> None:
    """Draw the finding that it is about, and the ways on."""
    opened = [each for each in findings if said.get(each.subject, OPEN).state == "open"]
    at = next((index for index, each in enumerate(findings) if each.subject == st.session_state.get(_AT)), None)
    if at is None and _AT not in st.session_state:
        at = board.position(findings, found.findings)
    if at is None:
        if not opened:
            board.remember(None)
            _done(findings)
            return
        at = findings.index(opened[0])
        st.session_state[_AT] = findings[at].subject
    current = findings[at]
    board.remember(current)
    st.progress(1 - len(opened) / len(findings), f"{len(findings) - len(opened)} of {len(findings)} settled")
    _keys(findings, opened, at)
    panel.show(view, found, current, said)


def _keys(findings: Sequence[ReviewFinding], opened: Sequence[ReviewFinding], at: int) -> None:
    current = findings[at]
    after = [each for each in findings[at + 1 :] if each in opened] or [each for each in opened if each != current]
    with st.container(horizontal=True, key="review-keys"):
        st.button("Back", shortcut="K", on_click=_look, args=(findings[at - 1],), disabled=at == 0, key="review-back")
        st.button(
            "Next open",
            shortcut="J",
            on_click=_look,
            args=(after[0] if after else None,),
            type="primary",
            key="review-next",
        )
        states: tuple[tuple[State, str], ...] = (("known", "1"), ("expected", "2"), ("wontfix", "3"))
        for state, shortcut in states:
            pressed = st.button(
                triage.STATE_WORDS[state].removeprefix("● ").capitalize(),
                shortcut=shortcut,
                key=f"review-{state}-{current.token}",  # the second half of a double click means no other finding
            )
            if pressed and triage.say([current], login.known(), state=state):
                _look(after[0] if after else None)
                st.rerun()


def _look(finding: ReviewFinding | None) -> None:
    """Go to a finding; None: to the end."""
    st.session_state[_AT] = finding.subject if finding else None


def _done(findings: Sequence[ReviewFinding]) -> None:
    st.success(
        f"All {count(len(findings), 'finding')} are settled. Export the report below.", icon=":material/task_alt:"
    )


_FORMS = {"Markdown": ("markdown", "md", "text/markdown"), "HTML": ("html", "html", "text/html")}


def _show_export(view: View, found: Review) -> None:
    """Draw the buttons; a report is made when it is asked for."""
    st.subheader("Report", anchor=False)
    command = f"xlabench report weekly --run {found.new.run_id} --since {found.old.run_id}"
    if view.selection.baseline != "inductor":
        command += f" --backends '{view.selection.baseline}'"
    if not found.across_runs:
        command = f"xlabench compare '{found.old.text}' '{found.new.text}' --run {found.new.run_id}"
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, (form, suffix, kind) in _FORMS.items():
            if not found.across_runs and form == "html":
                continue
            st.download_button(
                label,
                data=_maker(view, found, form),
                file_name=f"{view.file_name('review')}.{suffix}",
                mime=kind,
                key=f"report-{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )
        st.caption("The same on a terminal:", width="content")
        st.code(command, language="bash", width="content")


def weekly_report_of(con: Connection, state: Path, runs: tuple[str, str], baseline: str, form: str) -> bytes:
    """Return the weekly report of two runs (new, old) with what was said, as `xlabench report weekly` prints it."""
    new, old = runs
    return weekly_report(con, [new], old, baseline, None, reviews.listed(state)).render(form).encode()


def _maker(view: View, found: Review, form: str) -> Callable[[], bytes]:
    con, state = snapshot.connection(view.snapshot), settings.state_path()
    if not found.across_runs:
        return lambda: render(comparison_report(found.comparison), form).encode()
    return lambda: weekly_report_of(con, state, (found.new.run_id, found.old.run_id), view.selection.baseline, form)
