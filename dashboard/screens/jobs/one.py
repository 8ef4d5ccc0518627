"""One job: how far it is, what it gave and was judged, what can be done with it, the end of its log, who did what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import streamlit as st

from dashboard import access, data, jobs, links, planned, snapshot, tables, verdicts
from dashboard.following import log_tail, progress
from dashboard.screens.compare import sides
from dashboard.screens.jobs import form
from dashboard.tables import TableColumn
from dashboard.words import count, escape, seconds, when
from runner.jobs import rerun
from runner.jobs.queue import is_over
from runner.jobs.request import Configuration, ConfirmRequest, Protocol, Request, RunRequest, Selection
from store.compare import Side, compare, resolve
from store.compare.settle import judged, pairs
from store.errors import XlabenchError
from store.report import payoffs
from store.weekly.speed import CONFIRMED, MOVED, NOT_CONFIRMED, SUSPECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from store.state.jobs import Job
    from store.stats.verdicts import Verdict


_LOG_PX = 340


def show(job: Job | None) -> None:
    """Draw a job; nothing for none."""
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
    lines = [f"Asked by {who} on {when(jobs.moment(job.submitted_at))}: {escape(jobs.request_summary(request))}"]
    if job.why:
        lines.append(f"Why: {escape(job.why)}")
    if isinstance(request, RunRequest) and request.environments:
        lines.append(f"In {escape(', '.join(request.environments))}")
    times = [f"begun {when(jobs.moment(job.started_at))}"] if job.started_at else []
    times += [f"ended {when(jobs.moment(job.finished_at))}"] if job.finished_at else []
    times += [f"took {seconds(job.spent_s)}"] if job.spent_s else []
    times += [count(job.attempts, "attempt")] if job.attempts > 1 else []
    times += [f"on {escape(job.host)}"] if job.host else []
    return "\n".join(f"- {line}" for line in [*lines, *([", ".join(times)] if times else [])])


def _state(job: Job) -> None:
    """Draw why it is as it is and what to do, or how far it is."""
    said, step = jobs.explained(job), jobs.what_to_do(job)
    if job.state in ("failed", "lost"):
        st.error(f"{escape(said)}  \n{step}", icon=":material/error:")
    elif access.job_queue().left_alone(job):
        st.warning(escape(said), icon=":material/power_off:")
    elif said or step:
        st.caption(f"{escape(said)} {step}")
    came = progress(job) if not is_over(job) else None
    if came is not None:
        st.progress(came.share, f"{came.done:,} of {came.planned:,} records")


def _buttons(job: Job, request: Request | None) -> None:
    allowed = access.may_launch()
    why_not = None if allowed.allowed else allowed.reason
    with st.container(horizontal=True, vertical_alignment="center", key="job-buttons"):
        if not is_over(job) or job.state == "lost":
            _act("Cancel", ":material/cancel:", job, disabled=why_not, key="cancel-job", act=jobs.cancel)
        if job.state in ("failed", "cancelled", "lost"):
            _act("Retry", ":material/refresh:", job, disabled=why_not, key="retry-job", act=jobs.retry)
        _clone(job, request)
    access.ask_name("job-name")
    if why_not and why_not != access.NAMELESS:
        st.caption(f":material/lock: {escape(why_not)}")


def _act(label: str, icon: str, job: Job, *, disabled: str | None, key: str, act: Callable[[int], None]) -> None:
    """Draw a button whose click counts also where it should not: the queue refuses it then, and keeps that."""
    off = disabled is not None
    st.button(label, icon=icon, key=key, disabled=off, help=disabled, on_click=act, args=(job.job_id,))


def _clone(job: Job, request: Request | None) -> None:
    """Offer the same again: in the form where it fits there, else as it is."""
    if request is None:
        return
    if isinstance(request, RunRequest) and fits_form(request):
        if st.button(
            "Clone", icon=":material/content_copy:", key="clone-job", help="Opens it in the form, to change it."
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
        st.code(text, language=None, height=_LOG_PX, wrap_lines=True)
    elif job.attempts:
        st.caption("It has printed nothing so far.")


def _history(job: Job) -> None:
    try:
        found = access.job_queue().actions(job.job_id)
    except XlabenchError:
        return
    frame = pd.DataFrame(
        {
            "at": [jobs.moment(each.acted_at) for each in found],
            "action": [each.action for each in found],
            "who": [each.who if each.verified else f"{each.who} (unverified)" for each in found],
            "detail": [each.detail or None for each in found],
        }
    )
    columns = {
        "at": TableColumn("When (UTC)", "time"),
        "action": TableColumn("What"),
        "who": TableColumn("Who"),
        "detail": TableColumn("Why"),
    }
    with st.expander(f"Who did what ({len(found)})", key="job-actions", on_change="rerun") as part:
        if part.open:
            tables.show(
                frame, columns, key="job-acts", alt="Who did what with the job", file_name=f"xlabench-job-{job.job_id}"
            )


def fits_form(request: Request | None) -> bool:
    """Say whether the form can show all of a request."""
    if not isinstance(request, RunRequest) or request.plan is not None:
        return False
    chosen = request.selection
    known = {f"{offer.name}/{model}" for offer in form.offered_suites() for model in offer.models}
    models = _models(chosen)
    like = RunRequest(
        selection=Selection(
            suite_name=chosen.suite_name,
            only=chosen.only,
            xla=chosen.xla,
            dynamo=chosen.dynamo,
            test=chosen.test,
            accelerator=chosen.accelerator,
            config=chosen.config[:1],
            ops_of=chosen.ops_of,
        ),
        configuration=Configuration(preset=request.configuration.preset),
        protocol=_protocol(request.protocol),
        environments=request.environments,
        accelerator_model=request.accelerator_model,
    )
    return like == request and known.issuperset(models) and set(chosen.accelerator) <= set(rerun.accelerators())


def fill_form(request: RunRequest, label: str, why: str) -> None:
    """Put a request that fits into the form; for a callback, before its boxes are drawn."""
    for name, value in _values(request, label, why).items():
        st.session_state[name] = value


def _protocol(of: Protocol) -> Protocol:
    return Protocol(processes=of.processes, verify=of.verify, instruments=of.instruments)


def _values(request: RunRequest, label: str, why: str) -> dict[str, Any]:
    chosen, how = request.selection, request.protocol
    return {
        "new_suite": list(chosen.suite_name),
        "new_model": _models(chosen),
        form.OPERATORS_KEY: chosen.ops_of is not None,
        "new_config": "".join(chosen.config),
        "new_backend": [name for name, pair in rerun.OFFERED.items() if _is_asked(chosen, name, *pair)],
        "new_test": list(chosen.test),
        "new_accelerator": list(chosen.accelerator),
        "new_environment": list(request.environments),
        "new_device": request.accelerator_model,
        "new_preset": request.configuration.preset,
        "new_processes": how.processes,
        "new_dumps": list(how.instruments),
        "new_verify": how.verify,
        "new_label": label,
        "new_why": why,
    }


def _models(chosen: Selection) -> list[str]:
    return [chosen.ops_of] if chosen.ops_of else list(chosen.only)


def _is_asked(chosen: Selection, name: str, xla: str | None, dynamo: str | None) -> bool:
    """Say whether a selection plans a backend; those beyond the usual ones are planned by their name alone."""
    if name not in rerun.PLANNED and dynamo not in chosen.dynamo:
        return False
    return (not chosen.xla or xla in chosen.xla) and (not chosen.dynamo or dynamo in chosen.dynamo)


def _show_outcome(job: Job, request: Request | None) -> None:
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
    if job.state == "done" and (lines := verdicts_of_run(shown, run)):
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
            within = verdicts_of_confirmation(shown, run, request)
            return f"**Verdicts**: {within}" if within else ""
        old, new = (resolve(con, text, request.run) for text in (request.old, request.new))
        found = sides.compared(shown, sides.key(old), sides.key(new))
    except XlabenchError as error:
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


_CONFIRMING = ("old", "new")
"""What `compare --confirm` calls two environments of one run in the run that measures them again."""


@st.cache_data(max_entries=50, show_spinner=False)
def verdicts_of_run(shown: str, run: str) -> list[str]:
    """Return a line for each two sides that a run holds, as markdown; none where it has one side alone."""
    file = planned.run_file(shown, run)
    if isinstance(file, str):
        return []
    found: dict[tuple[str, str], list[Verdict]] = {}
    for cell in judged(snapshot.connection(shown), run, pairs(file.plan)):
        found.setdefault((cell.pair.old, cell.pair.new), []).append(cell.verdict)
    return [_line(*names, counted(each, SUSPECTED)) for names, each in found.items()]


def verdicts_of_confirmation(shown: str, run: str, request: ConfirmRequest) -> str:
    """Return the verdicts of a confirming run over two environments or backends of one run; empty where it has none.

    Raises:
        UsageError: a side is in the store no more.
    """
    con = snapshot.connection(shown)
    old, new = (resolve(con, text, request.run) for text in (request.old, request.new))
    if old.variant is None:
        sides = [Side(text=name, run_id=run, environment=name) for name in _CONFIRMING]
    else:
        sides = [msgspec.structs.replace(side, run_id=run) for side in (old, new)]
    return counted([cell.verdict for cell in compare(con, *sides).cells], NOT_CONFIRMED)


def counted(found: Iterable[Verdict], unsure: str) -> str:
    """Return `1 slower, confirmed, 2 unchanged`, coloured.

    Args:
        found: the verdicts.
        unsure: what a slower or faster one is that the run does not confirm.
    """
    numbers = Counter((each.word, _certainty(each, unsure)) for each in found)
    return ", ".join(
        verdicts.coloured(word, f"{number} {verdicts.look(word).word}{certainty and ', '}{certainty}")
        for (word, certainty), number in sorted(numbers.items())
    )


def _certainty(verdict: Verdict, unsure: str) -> str:
    if verdict.word not in MOVED:
        return ""
    return CONFIRMED if verdict.confirmed else unsure


def _line(old: str, new: str, said: str) -> str:
    return f"- **{escape(new)}** against {escape(old)}: {said}"
