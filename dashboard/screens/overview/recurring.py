"""How last night's recurring runs stand: complete, late, incomplete or missing, their versions, and where to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, data, jobs, launching, links, recurring, settings
from dashboard.words import DASH, count, escape, listed, shortened, when
from runner.errors import RunnerError
from runner.jobs.standing import standings
from store.errors import StoreError
from store.state.notices import FEED

if TYPE_CHECKING:
    from runner.jobs.standing import Standing, Word

_LOOKS: dict[Word, tuple[str, str]] = {
    "complete": ("✔", "green"),
    "running": ("◑", "blue"),
    "not due": ("○", "gray"),
    "late": ("◷", "orange"),
    "incomplete": ("✖", "red"),
    "missing": ("∅", "red"),
}
_FIRST: tuple[Word, ...] = ("missing", "incomplete", "late", "running", "complete", "not due")
"""What somebody has to look at comes first."""
_NAMED = 3


def show(shown: str | None) -> None:
    """Draw one line per recurring run of the home; nothing where there is none.

    Args:
        shown: the snapshot, to which results are linked; None: there is none.
    """
    try:
        found = standings(access.job_queue())
    except (RunnerError, StoreError) as error:
        st.warning(f"The state of the recurring runs cannot be read: {escape(error)}", icon=":material/event_busy:")
        return
    if not found:
        return
    st.subheader("Recurring runs", anchor=False)
    with st.container(gap="small", key="recurring"):
        for standing in sorted(found, key=lambda each: (_FIRST.index(each.word), each.schedule.name)):
            _line(standing, shown)
    if (settings.home() / FEED).is_file():
        st.caption(f"Notices of these and of regressions come once each: [feed]({FEED})")


def _line(standing: Standing, shown: str | None) -> None:
    name, number = standing.schedule.name, standing.schedule.schedule_id
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"recurring-{number}"):
        first = f"{badge(standing)} **{escape(shortened(name))}** {escape(recurring_summary(standing))}"
        st.markdown(f"{first}  \n:small[:gray[{_with(standing)}]]", width="stretch")
        _ways(standing, shown)
    if standing.unfinished and standing.word in ("incomplete", "late"):
        with st.expander(_not_measured(standing), key=f"unfinished-{number}", on_change="rerun") as part:
            if part.open:
                st.code("\n".join(standing.unfinished), language=None)


def badge(standing: Standing) -> str:
    """Return how it stands as sign and word in its colour, as markdown."""
    sign, colour = _LOOKS[standing.word]
    return f":{colour}[{sign} {standing.word}]"


def recurring_summary(standing: Standing) -> str:
    """Return what there is to say of its newest time, in plain text."""
    if standing.due_at is None:
        return f"first due {when(jobs.moment(standing.next_at))}" if standing.next_at else standing.reason
    said = [f"due {when(jobs.moment(standing.due_at))}"]
    if standing.planned_n is not None:
        said.append(f"{standing.finished_n:,} of {count(standing.planned_n, 'experiment')} measured")
    if standing.word == "late":
        said.append(f"not over {standing.schedule.late_after_s / 3600:.3g} h after it was due")
    if standing.reason and standing.word != "complete":
        said.append(standing.reason.replace("`", ""))
    return " · ".join(said)


def _with(standing: Standing) -> str:
    """Return what it measures with, or why that is not known, as markdown."""
    if standing.versions:
        return escape("; ".join(standing.versions))
    if standing.job is None:
        return f"cron {escape(standing.schedule.cron)} (UTC)"
    return f"versions {DASH}: it has not begun to measure"


def _not_measured(standing: Standing) -> str:
    """Return which experiments are missing, the first few by name."""
    named = listed([escape(shortened(text, 60)) for text in standing.unfinished], _NAMED)
    word = "Missing" if standing.word == "incomplete" else "Not measured yet"
    return f"{word}: {named}"


def _ways(standing: Standing, shown: str | None) -> None:
    """Offer where to look: at its results, at its job and log; where nothing was submitted, at the queue."""
    number, job = standing.schedule.schedule_id, standing.job
    if job is not None and job.run_id and shown and job.run_id in set(data.runs(shown)["run_id"]):
        _way("Results", f"results-{number}", "", run=job.run_id)
    if job is not None:
        st.button(
            "Job and log",
            key=f"recurring-job-{number}",
            type="tertiary",
            icon=":material/arrow_forward:",
            on_click=launching.to_job,
            args=(job.job_id,),
        )
    elif standing.due_at is not None:
        _way("Queue", f"queue-{number}", "runs", show="Jobs")
    recurring.change(standing.schedule)


def _way(label: str, key: str, page: str, **params: object) -> None:
    st.button(
        label,
        key=key,
        type="tertiary",
        icon=":material/arrow_forward:",
        on_click=links.jump,
        args=(page,),
        kwargs=params,
    )
