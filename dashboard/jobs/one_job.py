"""One job: its state and progress, its results and verdicts, its buttons, the end of its log and its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pandas as pd
import streamlit as st

from dashboard import access, data, jobs
from dashboard.data import snapshot
from dashboard.formatting import count, error_text, escape, seconds, when
from dashboard.jobs import form, planned
from dashboard.jobs.following import log_tail, progress
from dashboard.ui import downloads, tables, verdicts
from dashboard.ui.tables import TableColumn
from dashboard.view import links
from runner.jobs import rerun
from runner.jobs.queue import is_over
from runner.jobs.request import Configuration, ConfirmRequest, Protocol, Request, RunRequest, Selection
from store.compare import Side, compare, resolve
from store.compare.settle import judged, pairs
from store.errors import XlabenchError
from store.report import payoffs
from store.state.jobs import Job
from store.stats.verdicts import Verdict
from store.weekly.speed import CONFIRMED, MOVED, NOT_CONFIRMED, SUSPECTED

_LOG_PX = 340


def show(job: Job | None) -> None:
    """Draw a job; draw nothing where none is chosen."""
    if job is None:
        return
    request = jobs.request(job)
    with st.container(border=True, key="one-job"):
        st.markdown(f"##### {jobs.badge(job)} Job {job.job_id}: {escape(job.label)}")
        st.markdown(_facts(job, request))
        _state(job)
        _show_outcome(job, request)
        _buttons(job, request)
        _log(job)
        _history(job)


def _facts(job: Job, request: Request | None) -> str:
    who = f"**{escape(job.who)}**" + ("" if job.verified else " (unverified)")
    lines = [f"Requested by {who} on {when(jobs.moment(job.submitted_at))}: {escape(jobs.request_summary(request))}"]
    if job.why:
        lines.append(f"Why: {escape(job.why)}")
    if isinstance(request, RunRequest) and request.environments:
        lines.append(f"Environments: {escape(', '.join(request.environments))}")
    times = [f"started {when(jobs.moment(job.started_at))}"] if job.started_at else []
    times += [f"finished {when(jobs.moment(job.finished_at))}"] if job.finished_at else []
    times += [f"took {seconds(job.spent_s)}"] if job.spent_s else []
    times += [count(job.attempts, "attempt")] if job.attempts > 1 else []
    times += [f"on {escape(job.host)}"] if job.host else []
    return "\n".join(f"- {line}" for line in [*lines, *([", ".join(times)] if times else [])])


def _state(job: Job) -> None:
    """Draw why the job is in its state and what to do, and its progress."""
    explanation, step = jobs.explained(job), jobs.next_step_for(job)
    if job.state in ("failed", "lost"):
        st.error(f"{error_text(explanation)}  \n{step}", icon=":material/error:")
    elif access.job_queue().unfollowed_reason(job):
        st.warning(error_text(explanation), icon=":material/power_off:")
    elif explanation or step:
        st.caption(f"{error_text(explanation)} {step}")
    reached = progress(job) if not is_over(job) else None
    if reached is not None:
        st.progress(reached.share, f"{reached.done:,} of {reached.planned:,} records")


def _buttons(job: Job, request: Request | None) -> None:
    allowed = access.may_launch()
    why_not = None if allowed.allowed else allowed.reason
    with st.container(horizontal=True, vertical_alignment="center", key="job-buttons"):
        if not is_over(job) or job.state == "lost":
            _action_button("Cancel", ":material/cancel:", job, disabled=why_not, key="cancel-job", act=jobs.cancel)
        if job.state in ("failed", "cancelled", "lost"):
            _action_button("Retry", ":material/refresh:", job, disabled=why_not, key="retry-job", act=jobs.retry)
        _clone(job, request)
    access.ask_name("job-name")
    if why_not and why_not != access.NAMELESS:
        st.caption(f":material/lock: {error_text(why_not)}")


def _action_button(
    label: str, icon: str, job: Job, *, disabled: str | None, key: str, act: Callable[[int], None]
) -> None:
    """Draw a button. The queue decides again at the click: it refuses what is no longer allowed, and records that."""
    off = disabled is not None
    why_not = error_text(disabled) if disabled else None
    st.button(label, icon=icon, key=key, disabled=off, help=why_not, on_click=act, args=(job.job_id,))


def _clone(job: Job, request: Request | None) -> None:
    """Draw the button that requests the same again: in the form where the request fits it, else unchanged."""
    if request is None:
        return
    if isinstance(request, RunRequest) and fits_form(request):
        if st.button(
            "Clone",
            icon=":material/content_copy:",
            key="clone-job",
            help="Opens the form with the same choices, so that you can change them.",
        ):
            fill_form(request, job.label, job.why)
            links.jump("runs", show="New run", job=None)
            st.rerun(scope="app")
    elif is_over(job):
        what = "Confirm again" if isinstance(request, ConfirmRequest) else "Measure the same again"
        jobs.button(what, request, job.label, key="again-job", why=job.why)


def _log(job: Job) -> None:
    text = log_tail(job)
    if text:
        st.caption("The end of its log:")
        downloads.copyable(text, height=_LOG_PX)
    elif job.attempts:
        st.caption("The job has printed nothing so far.")


def _history(job: Job) -> None:
    try:
        actions = access.job_queue().actions(job.job_id)
    except XlabenchError:
        return
    frame = pd.DataFrame(
        {
            "at": [jobs.moment(action.acted_at) for action in actions],
            "action": [action.action for action in actions],
            "who": [action.who if action.verified else f"{action.who} (unverified)" for action in actions],
            "detail": [action.detail or None for action in actions],
        }
    )
    columns = {
        "at": TableColumn("When (UTC)", "time"),
        "action": TableColumn("What"),
        "who": TableColumn("Who"),
        "detail": TableColumn("Why"),
    }
    with st.expander(f"Actions ({len(actions)})", key="job-actions", on_change="rerun") as part:
        if part.open:
            tables.show(
                frame, columns, data.TableSource(f"xlabench-job-{job.job_id}"), key="job-acts", alt="Actions on the job"
            )


def fits_form(request: Request | None) -> bool:
    """Tell whether the form can show all of a request."""
    if not isinstance(request, RunRequest) or request.plan is not None:
        return False
    selection, how = request.selection, request.protocol
    offered_models = {f"{offer.name}/{model}" for offer in form.offered_suites() for model in offer.models}
    models = _models(selection)
    as_form = RunRequest(
        selection=Selection(
            suite_name=selection.suite_name,
            only=selection.only,
            xla=selection.xla,
            dynamo=selection.dynamo,
            test=selection.test,
            accelerator=selection.accelerator,
            config=selection.config[:1],
            ops_of=selection.ops_of,
        ),
        configuration=Configuration(preset=request.configuration.preset),
        protocol=Protocol(processes=how.processes, verify=how.verify, instruments=how.instruments),
        environments=request.environments,
        accelerator_model=request.accelerator_model,
    )
    return (
        as_form == request
        and offered_models.issuperset(models)
        and set(selection.accelerator) <= set(rerun.accelerators())
    )


def fill_form(request: RunRequest, label: str, why: str) -> None:
    """Put a request that fits into the form; this must happen before the form's boxes are drawn."""
    for name, value in _values(request, label, why).items():
        st.session_state[name] = value


def _values(request: RunRequest, label: str, why: str) -> dict[str, Any]:
    selection, how = request.selection, request.protocol
    return {
        "new_suite": list(selection.suite_name),
        "new_model": _models(selection),
        form.OPERATORS_KEY: selection.ops_of is not None,
        "new_config": "".join(selection.config),
        "new_backend": [name for name, pair in rerun.OFFERED.items() if _is_planned(selection, name, *pair)],
        "new_test": list(selection.test),
        "new_accelerator": list(selection.accelerator),
        "new_environment": list(request.environments),
        "new_device": request.accelerator_model,
        "new_preset": request.configuration.preset,
        "new_processes": how.processes,
        "new_dumps": list(how.instruments),
        "new_verify": how.verify,
        "new_label": label,
        "new_why": why,
    }


def _models(selection: Selection) -> list[str]:
    return [selection.ops_of] if selection.ops_of else list(selection.only)


def _is_planned(selection: Selection, name: str, xla: str | None, dynamo: str | None) -> bool:
    """Tell whether a selection plans a backend; an unusual backend is planned only where it is named."""
    if name not in rerun.PLANNED and dynamo not in selection.dynamo:
        return False
    return (not selection.xla or xla in selection.xla) and (not selection.dynamo or dynamo in selection.dynamo)


def _show_outcome(job: Job, request: Request | None) -> None:
    """Draw the verdicts and links to the results; draw nothing before there are any."""
    shown = snapshot.held()
    if shown is None:
        return
    if isinstance(request, ConfirmRequest):
        _show_confirmation(str(shown), job, request)
    elif job.run_id and job.run_id in set(data.runs(str(shown))["run_id"]):
        _show_verdicts(str(shown), job, job.run_id)
        with st.container(horizontal=True, key="job-results"):
            _page_button("Results", "speedup", "job-speedup", run=job.run_id)
            _page_button("Overview", "", "job-overview", run=job.run_id)
            _page_button("Experiments", "runs", "job-runs", run=job.run_id, show="Runs", job=None)
            _page_button("Compare with the previous run", "compare", "job-compare", run=job.run_id, a=None, b=None)
    elif job.run_id and (sentences := payoffs.sentences(snapshot.connection(str(shown)), job.run_id)):
        st.markdown("\n".join(f"- {escape(sentence)}" for sentence in sentences))
        _page_button("Fallback ops", "fallback-ops", "job-fallback-ops", run=None)
    elif job.run_id:
        st.caption("The run is not in the store yet. Records appear as they are ingested.")


def _show_verdicts(shown: str, job: Job, run: str) -> None:
    """Draw how the environments and backends of a finished job's run compare."""
    if job.state == "done" and (lines := verdicts_of_run(shown, run)):
        st.markdown("\n".join(["**Verdicts**:", "", *lines]))


def _show_confirmation(shown: str, job: Job, request: ConfirmRequest) -> None:
    """Draw the verdicts of a confirming job, as page Compare judges them."""
    if job.state == "done":
        sentence = _verdicts(shown, job.run_id, request)
        st.markdown(
            sentence or "No finding of the comparison uses this job. Its log lists what was measured, with the results."
        )
    with st.container(horizontal=True, key="job-results"):
        where = {"run": request.run} if request.run else {}
        _page_button("Compare A and B", "compare", "job-compare", a=request.old, b=request.new, **where)


def _verdicts(shown: str, run: str | None, request: ConfirmRequest) -> str:
    """Return `1 slower confirmed, 2 faster not confirmed`, coloured; empty where the run confirmed nothing."""
    if run is None:
        return ""
    con = snapshot.connection(shown)
    try:
        if request.run is not None:
            within = verdicts_of_confirmation(shown, run, request)
            return f"**Verdicts**: {within}" if within else ""
        old, new = (resolve(con, text, request.run) for text in (request.old, request.new))
        review = data.review(shown, old, new)
    except XlabenchError as error:
        return escape(error)
    findings = [finding for finding in review.findings if finding.confirming_run == run]
    numbers = Counter((finding.word, finding.certainty) for finding in findings)
    counts = [
        verdicts.coloured(word, f"{number} {verdicts.appearance_of(word).word}, {certainty}")
        for (word, certainty), number in sorted(numbers.items())
    ]
    return f"**Verdicts**: {', '.join(counts)}" if counts else ""


def _page_button(label: str, page: str, key: str, **params: object) -> None:
    """Draw a button that opens a page. The queue is a fragment, so the whole app has to run again."""
    if st.button(label, key=key, type="tertiary", icon=":material/arrow_forward:"):
        links.jump(page, **params)
        st.rerun(scope="app")


_CONFIRMING = ("old", "new")
"""Names that `compare --confirm` gives two environments of one run in the run that measures them again."""


@st.cache_data(max_entries=50, show_spinner=False)
def verdicts_of_run(shown: str, run: str) -> list[str]:
    """Return a line of markdown for each pair of sides in a run; a run with one side has none."""
    file = planned.run_file(shown, run)
    if isinstance(file, str):
        return []
    by_sides: dict[tuple[str, str], list[Verdict]] = {}
    for cell in judged(snapshot.connection(shown), run, pairs(file.plan)):
        by_sides.setdefault((cell.pair.old, cell.pair.new), []).append(cell.verdict)
    return [
        f"- **{escape(new)}** against {escape(old)}: {counted(outcomes, SUSPECTED)}"
        for (old, new), outcomes in by_sides.items()
    ]


def verdicts_of_confirmation(shown: str, run: str, request: ConfirmRequest) -> str:
    """Return the verdicts of a confirming run over two environments or backends of one run; empty where it has none.

    Raises:
        UsageError: a side is in the store no more.
    """
    con = snapshot.connection(shown)
    old, new = (resolve(con, text, request.run) for text in (request.old, request.new))
    if old.variant is None:
        both = [Side(text=name, run_id=run, environment=name) for name in _CONFIRMING]
    else:
        both = [msgspec.structs.replace(side, run_id=run) for side in (old, new)]
    return counted([cell.verdict for cell in compare(con, *both).cells], NOT_CONFIRMED)


def counted(outcomes: Iterable[Verdict], unsure: str) -> str:
    """Return `1 slower, confirmed, 2 unchanged`, coloured; `unsure` is a certainty that the run does not confirm."""
    numbers = Counter((verdict.word, _certainty(verdict, unsure)) for verdict in outcomes)
    return ", ".join(
        verdicts.coloured(word, f"{number} {verdicts.appearance_of(word).word}{certainty and ', '}{certainty}")
        for (word, certainty), number in sorted(numbers.items())
    )


def _certainty(verdict: Verdict, unsure: str) -> str:
    if verdict.word not in MOVED:
        return ""
    return CONFIRMED if verdict.confirmed else unsure
