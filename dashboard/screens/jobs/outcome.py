"""What a job gave: the way to its run's results, the verdicts of a confirmation, or measured payoffs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, links, snapshot, verdicts
from dashboard.screens.compare import sides
from dashboard.screens.jobs import judged
from dashboard.words import escape
from runner.jobs.request import ConfirmRequest
from store.compare import resolve
from store.errors import StoreError
from store.report import payoffs

if TYPE_CHECKING:
    from runner.jobs.request import Request
    from store.state.jobs import Job


def show(job: Job, request: Request | None) -> None:
    """Draw where results are; nothing before there are any."""
    shown = snapshot.held()
    if shown is None:
        return
    if isinstance(request, ConfirmRequest):
        _confirmed(str(shown), job, request)
    elif job.run_id and job.run_id in set(data.runs(str(shown))["run_id"]):
        _within(str(shown), job, job.run_id)
        with st.container(horizontal=True, key="job-results"):
            _way("Results", "speedup", "job-speedup", run=job.run_id)
            _way("Overview", "", "job-overview", run=job.run_id)
            _way("Experiments", "runs", "job-runs", run=job.run_id, show="Runs", job=None)
            _way("Compare with the run before", "compare", "job-compare", run=job.run_id, a=None, b=None)
    elif job.run_id and (said := payoffs.sentences(snapshot.connection(str(shown)), job.run_id)):
        st.markdown("\n".join(f"- {escape(sentence)}" for sentence in said))
        _way("Fallback ops", "fallback-ops", "job-fallback-ops", run=None)
    elif job.run_id:
        st.caption("Its run is not in the store yet: records appear as they are ingested.")


def _within(shown: str, job: Job, run: str) -> None:
    """Draw how the environments and backends of a finished job's run compare."""
    if job.state == "done" and (lines := judged.of_run(shown, run)):
        st.markdown("\n".join(["**Verdicts**:", "", *lines]))


def _confirmed(shown: str, job: Job, request: ConfirmRequest) -> None:
    """Draw what became of each suspicion, as Compare judges it."""
    if job.state == "done":
        said = _verdicts(shown, job.run_id, request)
        st.markdown(
            said or "No finding of the comparison uses this job. Its log says what was measured, and the results."
        )
    with st.container(horizontal=True, key="job-results"):
        where = {"run": request.run} if request.run else {}
        _way("Compare A and B", "compare", "job-compare", a=request.old, b=request.new, **where)


def _verdicts(shown: str, run: str | None, request: ConfirmRequest) -> str:
    """Return `1 slower confirmed, 2 faster not confirmed`, coloured; empty where the run confirmed nothing."""
    if run is None:
        return ""
    con = snapshot.connection(shown)
    try:
        if request.run is not None:
            within = judged.of_confirmation(shown, run, request)
            return f"**Verdicts**: {within}" if within else ""
        old, new = (resolve(con, text, request.run) for text in (request.old, request.new))
        found = sides.compared(shown, sides.key(old), sides.key(new))
    except StoreError as error:
        return escape(error)
    mine = [each for each in found.findings if each.confirming_run == run]
    numbers = Counter((each.word, each.certainty) for each in mine)
    said = [
        verdicts.coloured(word, f"{number} {verdicts.look(word).word}, {certainty}")
        for (word, certainty), number in sorted(numbers.items())
    ]
    return f"**Verdicts**: {', '.join(said)}" if said else ""


def _way(label: str, page: str, key: str, **params: object) -> None:
    """Offer a page; the queue is drawn apart from the page, so the whole of it has to be drawn anew."""
    if st.button(label, key=key, type="tertiary", icon=":material/arrow_forward:"):
        links.jump(page, **params)
        st.rerun(scope="app")
