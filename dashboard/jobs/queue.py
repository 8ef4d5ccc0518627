"""The queue of jobs as a table; it is refreshed only while a job is active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import access, jobs, settings
from dashboard.data import TableSource, snapshot
from dashboard.formatting import count, escape, placed
from dashboard.jobs import one_job
from dashboard.jobs.following import progress
from dashboard.settings import FOLLOW_EVERY_S
from dashboard.ui import downloads, tables, updating
from dashboard.ui.tables import TableColumn
from dashboard.view import choosing
from runner.jobs.queue import has_worker, is_over, lacks_confirmer
from runner.jobs.request import ConfirmRequest
from store.errors import XlabenchError
from store.state.jobs import Job

KEY = "job"
"""URL parameter of the chosen job."""
_TABLE = "jobs-list"
_LISTED = 500
_ACTIVE = "_jobs_active"


def sentence() -> str:
    """Return how many jobs are active, as markdown; it is empty where none is."""
    listed = access.listed(_LISTED)
    numbers = {state: sum(job.state == state for job in listed) for state in ("running", "starting", "queued")}
    counts = [f"{number:,} {state}" for state, number in numbers.items() if number]
    return f"Jobs: {', '.join(counts)}" if counts else ""


def show() -> None:
    """Draw the queue and the chosen job."""
    listed = access.listed(_LISTED)
    st.session_state[_ACTIVE] = _any_active(listed)
    _without_worker(listed)
    updating.show(_board, FOLLOW_EVERY_S if st.session_state[_ACTIVE] else None)


def _without_worker(listed: Sequence[Job]) -> None:
    """Draw a notice where no worker takes the queued jobs, or not all of them."""
    if not has_worker(settings.home()):
        st.info(
            placed(
                "No worker runs on this machine for this home, so jobs wait. "
                "Start `xlabench serve` without `--no-worker`, or a worker:"
            ),
            icon=":material/power_off:",
        )
        downloads.command("xlabench worker")
    elif lacks_confirmer(settings.home()) and any(
        job.state == "queued" and isinstance(jobs.request(job), ConfirmRequest) for job in listed
    ):
        st.info(
            "Confirmations wait: they need the store of this machine, but the running worker gives jobs to a cluster. "
            "Start a worker on this machine as well:",
            icon=":material/power_off:",
        )
        downloads.command("xlabench worker")


def _board() -> None:
    listed = access.listed(_LISTED)
    if jobs.acted():
        st.rerun(scope="app")
    if _any_active(listed) != st.session_state[_ACTIVE]:
        snapshot.advance()
        st.rerun(scope="app")
    if not listed:
        st.markdown("**No job yet.** Request one under *New run*, with *Measure again* below results, or with")
        downloads.command("xlabench jobs submit --suite-name dummy")
        return
    one_job.show(_chosen(listed))
    _table(listed)


def _table(listed: Sequence[Job]) -> None:
    places = _places()
    ordered = sorted(listed, key=lambda job: (is_over(job), places.get(job.job_id, 0), -job.job_id))
    frame = pd.DataFrame([_row(job, places) for job in ordered])
    columns = {name: column for name, column in _COLUMNS.items() if name in _ALWAYS or frame[name].notna().any()}
    st.caption("Select a job to see its log and results, and to cancel, retry or clone it.")
    tables.show(
        frame,
        columns,
        TableSource("xlabench-jobs"),
        key=_TABLE,
        alt="Jobs: running and waiting ones first, then the newest",
        on_select=lambda: _choose([job.job_id for job in ordered]),
    )
    if len(listed) >= _LISTED:
        more = placed("`xlabench jobs list --limit N` has more")
        st.caption(f"The newest {count(_LISTED, 'job')}; {more}.")


def _choose(job_ids: Sequence[int]) -> None:
    rows = st.session_state[_TABLE]["selection"]["rows"]
    if rows and rows[0] < len(job_ids):
        choosing.leave_value(KEY, str(job_ids[rows[0]]))


def _chosen(listed: Sequence[Job]) -> Job | None:
    choosing.take_value(KEY)
    typed = str(
        st.text_input(
            "Job",
            key=KEY,
            bind="query-params",
            max_chars=12,
            width=240,
            placeholder="its number; or select one below",
        )
        or ""
    ).strip()
    if not typed:
        return None
    by_id = {str(job.job_id): job for job in listed}
    if typed not in by_id:
        st.warning(f"There is no job “{escape(typed)}” among these.", icon=":material/search_off:")
    return by_id.get(typed)


def _any_active(listed: Sequence[Job]) -> bool:
    return any(not is_over(job) for job in listed)


def _places() -> Mapping[int, int]:
    try:
        return access.job_queue().positions()
    except XlabenchError:
        return {}


def _row(job: Job, places: Mapping[int, int]) -> dict[str, Any]:
    reached = progress(job) if job.state in ("starting", "running") else None
    return {
        "job": job.job_id,
        "state": jobs.word(job),
        "place": places.get(job.job_id),
        "came": f"{reached.done:,} of {reached.planned:,}" if reached else None,
        "label": job.label,
        "asked": jobs.request_summary(jobs.request(job)),
        "who": job.who if job.verified else f"{job.who} (unverified)",
        "why": job.why or None,
        "said": jobs.explained(job) or None,
        "submitted": jobs.moment(job.submitted_at),
        "started": jobs.moment(job.started_at),
        "finished": jobs.moment(job.finished_at),
        "spent_s": job.spent_s or None,
        "attempts": job.attempts or None,
    }


_ALWAYS = ("job", "state", "label", "asked", "who", "submitted")
_COLUMNS: dict[str, TableColumn] = {
    "job": TableColumn("Job", "number", help="Number of the job in the queue of this home.", pinned=True),
    "state": TableColumn("State", pinned=True),
    "place": TableColumn(
        "Place", "number", help="Place in the queue, from 1; other jobs overtake a job that waits for a device."
    ),
    "came": TableColumn("Records", help="Records written so far, of those planned."),
    "label": TableColumn("Label"),
    "asked": TableColumn("Request"),
    "who": TableColumn("Who"),
    "why": TableColumn("Why"),
    "said": TableColumn("What happened", help="Why it waits, failed or was lost."),
    "submitted": TableColumn("Submitted (UTC)", "time"),
    "started": TableColumn("Started (UTC)", "time", hidden=True),
    "finished": TableColumn("Finished (UTC)", "time", hidden=True),
    "spent_s": TableColumn("Took, s", "seconds", help="Time of all attempts that ended.", hidden=True),
    "attempts": TableColumn("Attempts", "number", help="How often the job was started.", hidden=True),
}
