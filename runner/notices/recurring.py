"""What there is to tell of recurring runs: missing, late, incomplete, and complete again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from runner.notices.message import moment
from store.state.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.jobs.standing import Standing, Word
    from store.state.notices import Kind

_NAMED = 20
_KINDS: dict[Word, Kind] = {"missing": "run missing", "late": "run late", "incomplete": "run incomplete"}


def recurring(standings: Iterable[Standing], known: Mapping[str, Notice]) -> Iterator[Notice]:
    """Yield what people have not been told of the newest time of each recurring run."""
    for standing in standings:
        if standing.due_at is None:
            continue
        subject = f"recurring {standing.schedule.schedule_id}"
        last = known.get(subject)
        kind = _kind(standing)
        if kind is not None:
            yield _wrong(standing, subject, kind)
        elif standing.word == "complete" and last is not None and last.kind != "recovered":
            yield _recovered(standing, subject)


def _kind(standing: Standing) -> Kind | None:
    """Return what is wrong; a run that is over and has measured nothing did not happen."""
    if standing.word == "incomplete" and not standing.finished_n:
        return "run missing"
    return _KINDS.get(standing.word)


def _wrong(standing: Standing, subject: str, kind: Kind) -> Notice:
    word = kind.removeprefix("run ")
    count = f", {standing.finished_n} of {standing.planned_n} experiments" if standing.planned_n else ""
    return _notice(
        standing,
        key=f"{kind} {subject} {standing.due_at:.0f}",
        kind=kind,
        subject=subject,
        title=f"Recurring run {standing.schedule.name} is {word}{count}",
    )


def _recovered(standing: Standing, subject: str) -> Notice:
    return _notice(
        standing,
        key=f"recovered {subject} {standing.due_at:.0f}",
        kind="recovered",
        subject=subject,
        title=f"Recovered: recurring run {standing.schedule.name} is complete",
    )


def _notice(standing: Standing, *, key: str, kind: Kind, subject: str, title: str) -> Notice:
    job = standing.job
    return Notice(
        key=key,
        kind=kind,
        subject=subject,
        title=title,
        text="\n".join(_lines(standing)),
        page=f"runs?{urlencode({'show': 'Jobs', **({'job': job.job_id} if job else {})})}",
        run_id=job.run_id if job else None,
        happened_at=standing.due_at or 0.0,
    )


def _lines(standing: Standing) -> Iterator[str]:
    job = standing.job
    yield f"Due {moment(standing.due_at or 0.0)} (cron {standing.schedule.cron}, UTC)."
    if standing.reason:
        yield standing.reason
    if job is not None:
        yield f"Job {job.job_id} is {job.state}: xlabench jobs log {job.job_id}"
    yield from standing.versions
    if standing.word in ("late", "incomplete"):
        yield from (f"not measured: {each}" for each in standing.unfinished[:_NAMED])
        if (more := len(standing.unfinished) - _NAMED) > 0:
            yield f"and {more} more"
