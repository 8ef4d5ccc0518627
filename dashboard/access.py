"""Who looks at the pages and how they came: the name, whether a login gave it, and the queue for jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import login, settings
from dashboard.words import error_text, escape
from runner.home.settings_file import Access, Decision, Person, Right
from runner.jobs.check import LONGEST_NAME
from runner.jobs.queue import JobQueue
from store.errors import XlabenchError

if TYPE_CHECKING:
    from store.state.jobs import Job

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip")
NAMELESS = "Enter your name first. It is stored with each job you launch."


def job_queue() -> JobQueue:
    """Return the queue of the home, as whoever looks at this page reaches it."""
    name, verified = login.known()
    return JobQueue(settings.home(), Person(name, verified), access())


def access() -> Access:
    """Return how this page is reached.

    A proxy before a loopback address lets others in: what it adds to a request counts as reachable from outside.
    """
    forwarded = any(name in st.context.headers for name in _FORWARDED)
    return Access(loopback=settings.is_loopback() and not forwarded, login=login.configured())


def listed(limit: int = 200) -> list[Job]:
    """Return the newest jobs; none, with a sentence on the page, where they cannot be read."""
    try:
        return job_queue().listed(limit)
    except XlabenchError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []


def may_launch() -> Decision:
    """Return whether whoever looks at this page may launch."""
    found = may("launch")
    return found if not found.allowed or login.known()[0] else Decision(False, NAMELESS)


def may(right: Right) -> Decision:
    """Return whether whoever looks at this page has a right; a broken settings file gives nobody any but to view.

    Without a login everybody views, so such a file has nothing to say about that.
    """
    return decided(job_queue(), right)


def may_read(name: str) -> Decision:
    """Return whether somebody may view whom the login knows under a name: for what is no page."""
    reached = Access(loopback=settings.is_loopback(), login=True)
    return decided(JobQueue(settings.home(), Person(name, verified=True), reached), "view")


def decided(by: JobQueue, right: Right) -> Decision:
    """Return what a queue decides."""
    try:
        return by.may(right)
    except XlabenchError as error:
        return Decision(right == "view" and not by.access.login, str(error))


def ask_name(key: str) -> None:
    """Ask for the name, where no login gives one and nobody has typed it; `key` is of the box."""
    name, verified = login.known()
    if verified or access().login:
        return
    if name:
        st.caption(f"As **{escape(name)}** (unverified: there is no login)", width="content")
        return
    st.text_input(
        "Launch as",
        key=key,
        max_chars=LONGEST_NAME,
        placeholder="your name, asked once",
        help="There is no login, so the name is stored as unverified.",
        on_change=lambda: login.remember(st.session_state[key]),
        width=220,
    )
