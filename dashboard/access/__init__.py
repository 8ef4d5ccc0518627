"""Access of the reader: name, login, rights, and the queue for jobs."""

from __future__ import annotations

import streamlit as st

from dashboard import settings
from dashboard.access import login
from dashboard.formatting import error_text, escape
from runner.home.settings_file import Access, Decision, Person, Right
from runner.jobs.check import LONGEST_NAME
from runner.jobs.queue import JobQueue
from store.errors import XlabenchError
from store.state.jobs import Job

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip")
NAMELESS = "Enter your name first. It is stored with each job you launch."


def job_queue() -> JobQueue:
    """Return the queue of the home with the name and the access of this reader."""
    name, verified = login.known()
    return JobQueue(settings.home(), Person(name, verified), access())


def access() -> Access:
    """Return how this page is reached.

    A proxy in front of a loopback address lets others in, so its headers mean access from outside.
    """
    forwarded = any(name in st.context.headers for name in _FORWARDED)
    return Access(loopback=settings.is_loopback() and not forwarded, login=login.configured())


def listed(limit: int = 200) -> list[Job]:
    """Return the newest jobs; if they cannot be read, show the error on the page and return none."""
    try:
        return job_queue().listed(limit)
    except XlabenchError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []


def may_launch() -> Decision:
    """Return whether this reader may launch jobs."""
    decision = may("launch")
    return decision if not decision.allowed or login.known()[0] else Decision(False, NAMELESS)


def may(right: Right) -> Decision:
    """Return whether this reader has a right; with an invalid settings file, every reader may only view.

    Without a login everybody may view, whatever the file contains.
    """
    return decided(job_queue(), right)


def may_read(name: str) -> Decision:
    """Return whether a person who signed in under a name may view; for routes, which are no pages."""
    reached = Access(loopback=settings.is_loopback(), login=True)
    return decided(JobQueue(settings.home(), Person(name, verified=True), reached), "view")


def decided(by: JobQueue, right: Right) -> Decision:
    """Return the decision of a queue about a right."""
    try:
        return by.may(right)
    except XlabenchError as error:
        return Decision(right == "view" and not by.access.login, str(error))


def ask_name(key: str) -> None:
    """Draw the box for the name, if there is neither a login nor a name; `key` is that of the box."""
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
        placeholder="Your name, entered once",
        help="There is no login, so the name is stored as unverified.",
        on_change=lambda: login.remember(st.session_state[key]),
        width=220,
    )
