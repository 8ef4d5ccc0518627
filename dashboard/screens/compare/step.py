"""Review mode: one open finding after the other, by the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import login, triage
from dashboard.screens.compare import named, panel
from dashboard.words import count
from store.state.reviews import OPEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.view import View
    from store.review import Finding, Review
    from store.state.reviews import Standing, State, Subject

_AT = "_review_at"
"""Which finding a session looks at; it stays there when its state changes."""


def wanted(open_n: int) -> bool:
    """Draw the switch; tell whether it is on."""
    return bool(
        st.toggle(
            f"Review mode: {count(open_n, 'open finding')} one by one",
            key="review",
            bind="query-params",
            help="J next, K back; 1 known, 2 expected, 3 won't fix. Filed needs a reference: use the form.",
        )
    )


def show(view: View, found: Review, findings: Sequence[Finding], said: Mapping[Subject, Standing]) -> None:
    """Draw the finding that it is about, and the ways on."""
    opened = [each for each in findings if said.get(each.subject, OPEN).state == "open"]
    at = next((index for index, each in enumerate(findings) if each.subject == st.session_state.get(_AT)), None)
    if at is None and _AT not in st.session_state:
        at = named.position(findings, found.findings)
    if at is None:
        if not opened:
            named.remember(None)
            _done(findings)
            return
        at = findings.index(opened[0])
        st.session_state[_AT] = findings[at].subject
    current = findings[at]
    named.remember(current)
    st.progress(1 - len(opened) / len(findings), f"{len(findings) - len(opened)} of {len(findings)} settled")
    _keys(findings, opened, at)
    panel.show(view, found, current, said)


def _keys(findings: Sequence[Finding], opened: Sequence[Finding], at: int) -> None:
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


def _look(finding: Finding | None) -> None:
    """Go to a finding; None: to the end."""
    st.session_state[_AT] = finding.subject if finding else None


def _done(findings: Sequence[Finding]) -> None:
    st.success(
        f"All {count(len(findings), 'finding')} are settled. Export the report below.", icon=":material/task_alt:"
    )
