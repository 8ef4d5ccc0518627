"""How much may be asked for, and in which words: the limits of `[jobs]`, said in one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.jobs.check import BadRequest
from store.state import jobs

if TYPE_CHECKING:
    import sqlite3

    from runner.home.limits import JobLimits
    from runner.home.roles import Person
    from runner.jobs.job_request import JobRequest

LONGEST_TEXT = 4000
LONGEST_NAME = 200
_MOST_PRIORITY = 100
_DAY_S = 86_400.0


def reached(con: sqlite3.Connection, limits: JobLimits, who: str, now: float) -> str | None:
    """Say which limit of queue or time a person has reached."""
    waiting = jobs.in_states(con, ("queued", "starting", "running"))
    mine = [job for job in waiting if job.who == who]
    if len(waiting) >= limits.queue:
        return f"The queue is full ({len(waiting)} jobs). Wait, or raise [jobs] queue in xlabench.toml."
    if len(mine) >= limits.queue_per_person:
        return (
            f"{who} already has {len(mine)} jobs in the queue. Wait, or raise [jobs] queue_per_person in xlabench.toml."
        )
    running = sum(max(0.0, now - job.started_at) for job in mine if job.started_at and job.state == "running")
    hours = (jobs.spent_s(con, who, now - _DAY_S) + running) / 3600
    if hours >= limits.hours_per_person:
        return (
            f"The jobs that {who} submitted in the last 24 hours have run for {hours:.1f} hours. Wait, or raise "
            "[jobs] hours_per_person in xlabench.toml."
        )
    return None


def timeout_s(job_request: JobRequest, limits: JobLimits) -> float:
    """Return how long an attempt may run.

    Raises:
        BadRequest: longer than the home allows.
    """
    found = job_request.timeout_s if job_request.timeout_s is not None else limits.timeout_s
    if not 0 < found <= limits.longest_timeout_s:
        raise BadRequest(
            f"A job may run for {limits.longest_timeout_s:g} s at most, not {found:g}; "
            "choose another timeout, or raise [jobs] longest_timeout_s in xlabench.toml."
        )
    return found


def check_words(job_request: JobRequest, person: Person) -> None:
    """Check what people say about a request.

    Raises:
        BadRequest: it is too long, is missing, or cannot be shown.
    """
    named = {
        "label": (job_request.label, LONGEST_NAME),
        "name": (person.name, LONGEST_NAME),
        "key": (job_request.key, LONGEST_NAME),
    }
    for what, (text, longest) in {**named, "why": (job_request.why, LONGEST_TEXT)}.items():
        if len(text) > longest:
            raise BadRequest(f"The {what} has {len(text)} characters, and at most {longest} are allowed; shorten it.")
        if any(not letter.isprintable() and letter != "\n" for letter in text) or (what != "why" and "\n" in text):
            raise BadRequest(f"The {what} contains a character that cannot be displayed; enter it again.")
    if not person.name.strip() or not job_request.label.strip():
        raise BadRequest("A name is missing: enter your name and a name for the run.")
    if abs(job_request.priority) > _MOST_PRIORITY:
        raise BadRequest(f"The priority must be between -100 and 100, not {job_request.priority}.")
