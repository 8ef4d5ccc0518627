"""The page: the answer, the findings, one of them in full, and below what was counted and collapsed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, empty, frame, triage, verdicts
from dashboard.rows import each
from dashboard.screens.compare import board, confirm, export, history, named, other_findings, panel, sides, step
from dashboard.words import ago, count, escape, when
from store.errors import UsageError
from store.review import GOOD
from store.state import reviews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.view import View
    from store.compare import Side
    from store.review import Finding, Review

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
    confirm.bar(view, found, findings)
    other_findings.show(view, found)
    export.show(view, found)


def _compared(view: View, old: Side, new: Side) -> Review | str:
    try:
        return sides.compared(view.snapshot, sides.key(old), sides.key(new))
    except UsageError as error:
        return escape(error)


def _head(view: View, found: Review, findings: Sequence[Finding]) -> None:
    numbers = Counter(finding.word for finding in findings)
    sure = Counter(finding.word for finding in findings if finding.certainty == "confirmed")
    bad, good = ([_said(word, numbers[word], sure[word]) for word in words if numbers[word]] for words in (_BAD, _REST))
    st.markdown(f"#### {', '.join(bad) or _nothing_worse(view, found, findings)}")
    rest = other_findings.counted(view, found)
    lines = [*([", ".join(good)] if good else []), *([f"The others: {rest}"] if rest else [])]
    if lines:
        with st.container(key="answers"):
            st.markdown("\n".join(f"- {line}" for line in lines))
    with frame.origin():
        st.caption(" · ".join(_origin(view, found)))


def _nothing_worse(view: View, found: Review, findings: Sequence[Finding]) -> str:
    """Say that nothing got worse; where cells are ambiguous, that nothing is shown to have."""
    unsure, same = (len(other_findings.kept(view, found, word)) for word in ("ambiguous", "same"))
    total = unsure + same + sum(finding.group == "speed" for finding in findings)
    return f"Nothing is shown to be worse, but {unsure:,} of {total:,} are ambiguous" if unsure else "Nothing got worse"


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
    view: View, found: Review, findings: Sequence[Finding], said: dict[reviews.Subject, reviews.Standing]
) -> None:
    groups, order, unsettled = board.controls()
    listed = board.arranged(findings, groups, order)
    is_open = {finding.subject: said.get(finding.subject, reviews.OPEN).state == "open" for finding in findings}
    if step.wanted(sum(is_open[finding.subject] for finding in listed)):
        step.show(view, found, listed, said)
        return
    history.picture(listed)
    shown = [finding for finding in listed if is_open[finding.subject] or not unsettled]
    if not shown:
        st.info("No finding of these groups is open." if unsettled else "There is no finding in these groups.")
        return
    picked = board.draw(view, found, shown, said, named.position(shown, found.findings))
    named.remember(None if picked is None else shown[picked])
    if picked is None:
        st.caption("Select a row to see why, and to say what it is.")
    else:
        panel.show(view, found, shown[picked], said)
