"""Reviews of findings: reading, writing, and who writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, settings
from dashboard.access import login
from dashboard.words import error_text
from store.errors import StateError, UsageError
from store.state import marks, reviews
from store.state.reviews import Entry, ReviewStanding, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.review import ReviewFinding


STATE_WORDS: dict[State, str] = {
    "open": "○ open",
    "known": "● known",
    "expected": "● expected",
    "filed": "● filed as …",
    "wontfix": "● won't fix",
}
"""State of a finding → its sign and words."""


def entries() -> list[Entry]:
    """Return all reviews; where they cannot be read, return none and draw the error."""
    try:
        return reviews.listed(settings.state_path())
    except StateError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []


def word(standing: ReviewStanding) -> str:
    """Return the state as sign and words; a reference that is a URL is shortened to its last part."""
    if standing.state == "filed":
        return f"● filed as {str(standing.reference).rstrip('/').rpartition('/')[2]}"
    return STATE_WORDS[standing.state]


def reviewer() -> tuple[str, bool]:
    """Return the reviewer's name and whether a login verifies it; without a login, draw a box for the name."""
    if getattr(st.user, "is_logged_in", False):
        return login.known()
    st.text_input(
        "Your name",
        key=login.NAME,
        persist_state="session",
        max_chars=reviews.LONGEST_NAME,
        placeholder="needed once per session",
        help="There is no login, so the name is stored as unverified.",
    )
    return login.known()


def just_spoke(standing: ReviewStanding, who: tuple[str, bool]) -> bool:
    """Tell whether this person reviewed the finding a moment ago."""
    newest = standing.entries[-1] if standing.entries else None
    return newest is not None and newest.who == who[0] and marks.now() - newest.created_at <= reviews.AGAIN


def say(
    findings: Sequence[ReviewFinding],
    who: tuple[str, bool],
    *,
    state: State | None = None,
    reference: str | None = None,
    assignee: str | None = None,
    note: str | None = None,
) -> bool:
    """Store the same review of several findings; return whether it was stored, and draw the error if it was not."""
    decision = access.may("note")
    if not decision.allowed:
        st.error(error_text(decision.reason), icon=":material/lock:")
        return False
    name, verified = who
    now = marks.now()
    new_entries = [
        Entry(
            subject=finding.subject,
            what=finding.what,
            state=state,
            reference=reference or None,
            assignee=assignee,
            note=note or None,
            who=name,
            verified=verified,
            created_at=now,
        )
        for finding in findings
    ]
    try:
        reviews.add(settings.state_path(), new_entries)
    except (StateError, UsageError) as error:
        st.error(error_text(error), icon=":material/edit_off:")
        return False
    return True
