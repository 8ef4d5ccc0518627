"""Recurring runs: their state, and the boxes that create, change and end them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard import access, data, jobs, settings
from dashboard.formatting import DASH, count, error_text, escape, listed, shortened, when
from dashboard.ui import downloads
from dashboard.view import links
from runner.jobs import recurring
from runner.jobs.queue import has_worker
from runner.jobs.recurring import RecurringStanding, Word, standings
from runner.jobs.request import Request
from store.errors import XlabenchError
from store.state.notices import FEED
from store.state.schedules import Schedule

_LOOKS: dict[Word, tuple[str, str]] = {
    "complete": ("✔", "green"),
    "running": ("◑", "blue"),
    "not due": ("○", "gray"),
    "late": ("◷", "orange"),
    "incomplete": ("✖", "red"),
    "missing": ("∅", "red"),
}
_FIRST: tuple[Word, ...] = ("missing", "incomplete", "late", "running", "complete", "not due")
"""Order of the states: those that need attention come first."""
_NAMED = 3


def show_standings(snapshot_path: str | None) -> None:
    """Draw one line per recurring run of the home, linked to its results if there is a snapshot; or nothing."""
    try:
        states = standings(access.job_queue())
    except XlabenchError as error:
        st.warning(f"The state of the recurring runs cannot be read: {escape(error)}", icon=":material/event_busy:")
        return
    if not states:
        return
    st.subheader("Recurring runs", anchor=False)
    with st.container(gap="small", key="recurring"):
        for standing in sorted(states, key=lambda item: (_FIRST.index(item.word), item.schedule.name)):
            _standing_line(standing, snapshot_path)
    if any(standing.word == "missing" for standing in states) and not has_worker(settings.home()):
        downloads.command("xlabench worker")
    if (settings.home() / FEED).is_file():
        st.caption(f"Each such state and each regression is reported once, in the [feed]({FEED})")


def _standing_line(standing: RecurringStanding, snapshot_path: str | None) -> None:
    name, number = standing.schedule.name, standing.schedule.schedule_id
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"recurring-{number}"):
        line = f"{badge(standing)} **{escape(shortened(name))}** {escape(recurring_summary(standing))}"
        st.markdown(f"{line}  \n:small[:gray[{_versions_text(standing)}]]", width="stretch")
        _buttons(standing, snapshot_path)
    if standing.unfinished and standing.word in ("incomplete", "late"):
        with st.expander(_not_measured(standing), key=f"unfinished-{number}", on_change="rerun") as part:
            if part.open:
                downloads.copyable("\n".join(standing.unfinished))


def badge(standing: RecurringStanding) -> str:
    """Return the state as sign and word in its colour, as markdown."""
    sign, colour = _LOOKS[standing.word]
    return f":{colour}[{sign} {standing.word}]"


def recurring_summary(standing: RecurringStanding) -> str:
    """Return the state of the newest due time as plain text."""
    if standing.due_at is None:
        return f"first due {when(jobs.moment(standing.next_at))}" if standing.next_at else standing.reason
    parts = [f"due {when(jobs.moment(standing.due_at))}"]
    if standing.planned_n is not None:
        parts.append(f"{standing.finished_n:,} of {count(standing.planned_n, 'experiment')} measured")
    if standing.word == "late":
        parts.append(f"not finished {standing.schedule.late_after_s / 3600:.3g} h after it was due")
    if standing.reason and standing.word != "complete":
        parts.append(standing.reason.replace("`", ""))
    return " · ".join(parts)


def _versions_text(standing: RecurringStanding) -> str:
    """Return the versions of the run, or why they are unknown, as markdown."""
    if standing.versions:
        return escape("; ".join(standing.versions))
    if standing.job is None:
        return f"cron {escape(standing.schedule.cron)} (UTC)"
    return f"versions {DASH}: it has not begun to measure"


def _not_measured(standing: RecurringStanding) -> str:
    """Return a sentence on the missing experiments, the first few by name."""
    names = listed([escape(shortened(text, 60)) for text in standing.unfinished], _NAMED)
    word = "Missing" if standing.word == "incomplete" else "Not measured yet"
    return f"{word}: {names}"


def _buttons(standing: RecurringStanding, snapshot_path: str | None) -> None:
    """Draw buttons to its results, and to its job and log; if nothing was submitted, to the queue."""
    number, job = standing.schedule.schedule_id, standing.job
    if job is not None and job.run_id and snapshot_path and job.run_id in set(data.runs(snapshot_path)["run_id"]):
        _link_button("Results", f"results-{number}", "", run=job.run_id)
    if job is not None:
        st.button(
            "Job and log",
            key=f"recurring-job-{number}",
            type="tertiary",
            icon=":material/arrow_forward:",
            on_click=jobs.to_job,
            args=(job.job_id,),
        )
    elif standing.due_at is not None:
        _link_button("Queue", f"queue-{number}", "runs", show="Jobs")
    change(standing.schedule)


def _link_button(label: str, key: str, page: str, **params: object) -> None:
    st.button(
        label,
        key=key,
        type="tertiary",
        icon=":material/arrow_forward:",
        on_click=links.jump,
        args=(page,),
        kwargs=params,
    )


NIGHTLY = "0 2 * * *"
_LATE_AFTER_H = 12.0
_LONGEST_CRON = 100
_TIMES = 3
"""Number of next times that are shown."""


@st.fragment
def offer(request: Request, name: str) -> None:
    """Draw the button that schedules a request; `name` is the label of its runs."""
    with st.popover("Repeat…", icon=":material/event_repeat:", key="repeat", on_change="rerun") as part:
        if not part.open:
            return
        if _is_scheduled(name):
            return
        cron, late_after_h = _times("repeat", NIGHTLY, _LATE_AFTER_H)
        st.caption(f"Its runs are labelled **{escape(name)}**.")
        _button("Schedule", "repeat-add", cron, lambda: jobs.schedule(request, name, str(cron), late_after_h))


@st.fragment
def change(schedule: Schedule) -> None:
    """Draw the button that changes the times of a recurring run or ends it."""
    key = f"recurring-change-{schedule.schedule_id}"
    with st.popover("Change", icon=":material/edit_calendar:", type="tertiary", key=key, on_change="rerun") as part:
        if not part.open:
            return
        cron, late_after_h = _times(key, schedule.cron, schedule.late_after_s / 3600)
        with st.container(horizontal=True):
            _button("Save", f"{key}-save", cron, lambda: jobs.reschedule(schedule.name, str(cron), late_after_h))
            _button("Remove", f"{key}-remove", schedule.cron, lambda: jobs.unschedule(schedule.name))
        st.caption("If you remove it, its jobs and results are kept.")


def _is_scheduled(name: str) -> bool:
    """Tell whether there is a recurring run of this name; if so, say that a second one needs another label."""
    try:
        schedule = jobs.scheduled(name)
    except XlabenchError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return True
    if schedule is not None:
        st.info(
            f"The recurring run **{escape(name)}** is scheduled ({escape(schedule.cron)}, UTC). Change or remove it on "
            "Overview, or choose another label here.",
            icon=":material/event_available:",
        )
    return schedule is not None


def _times(key: str, cron: str, late_after_h: float) -> tuple[str | None, float]:
    """Draw the boxes; return the cron expression, None if it is invalid, and the hours."""
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
    except XlabenchError as error:
        st.error(error_text(error), icon=":material/block:")
        return None, float(hours)
    st.caption("Next: " + ", ".join(when(jobs.moment(due_at)) for due_at in times))
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
