"""Recurring runs are made, changed and ended on the page, with the times that an expression means beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, jobs, launching
from dashboard.words import error_text, escape, when
from runner.errors import RunnerError
from runner.jobs import recurring
from store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.jobs.request import Request
    from store.state.schedules import Schedule

NIGHTLY = "0 2 * * *"
_LATE_AFTER_H = 12.0
_LONGEST_CRON = 100
_TIMES = 3
"""Next times that are shown."""


@st.fragment
def offer(request: Request, name: str) -> None:
    """Offer to repeat a request, beside the button that queues it once; `name` is the label of its runs."""
    with st.popover("Repeat…", icon=":material/event_repeat:", key="repeat", on_change="rerun") as part:
        if not part.open:
            return
        if _taken(name):
            return
        cron, late_after_h = _times("repeat", NIGHTLY, _LATE_AFTER_H)
        st.caption(f"Its runs are labelled **{escape(name)}**.")
        _button("Schedule", "repeat-add", cron, lambda: launching.schedule(request, name, str(cron), late_after_h))


@st.fragment
def change(made: Schedule) -> None:
    """Offer to change the times of a recurring run, and to end it."""
    key = f"recurring-change-{made.schedule_id}"
    with st.popover("Change", icon=":material/edit_calendar:", type="tertiary", key=key, on_change="rerun") as part:
        if not part.open:
            return
        cron, late_after_h = _times(key, made.cron, made.late_after_s / 3600)
        with st.container(horizontal=True):
            _button("Save", f"{key}-save", cron, lambda: launching.reschedule(made.name, str(cron), late_after_h))
            _button("Remove", f"{key}-remove", made.cron, lambda: launching.unschedule(made.name))
        st.caption("Its jobs and results stay.")


def _taken(name: str) -> bool:
    """Say that there is a recurring run of this name, if so: a second one needs another label."""
    try:
        made = launching.scheduled(name)
    except StoreError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return True
    if made is not None:
        st.info(
            f"The recurring run **{escape(name)}** is scheduled ({escape(made.cron)}, UTC). Change or remove it on "
            "Overview, or choose another label here.",
            icon=":material/event_available:",
        )
    return made is not None


def _times(key: str, cron: str, late_after_h: float) -> tuple[str | None, float]:
    """Draw the boxes; return the expression, None where it is none, and the hours."""
    typed = str(
        st.text_input(
            "Times (cron, UTC)",
            cron,
            key=f"{key}-cron",
            max_chars=_LONGEST_CRON,
            help="Minute, hour, day of the month, month, day of the week: `0 2 * * *` is every day at 02:00, "
            "`30 22 * * 1-5` Monday to Friday at 22:30.",
        )
    ).strip()
    hours = st.number_input(
        "Late after, hours", 0.1, 720.0, late_after_h, key=f"{key}-late", help="Then the run is reported as late."
    )
    try:
        at = access.job_queue().clock()
        times = [at := recurring.due_after(typed, at) for _ in range(_TIMES)]
    except RunnerError as error:
        st.error(error_text(error), icon=":material/block:")
        return None, float(hours)
    st.caption("Next: " + ", ".join(when(jobs.moment(each)) for each in times))
    return typed, float(hours)


def _button(label: str, key: str, cron: str | None, act: Callable[[], None]) -> None:
    allowed = access.may_launch()
    if st.button(
        label,
        key=key,
        disabled=not allowed.allowed or cron is None,
        help=None if allowed.allowed else error_text(allowed.reason),
        on_click=act,
    ):
        st.rerun(scope="app")
