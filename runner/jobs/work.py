"""What an attempt at a job executes: its request, and what only the worker may say of it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from runner.jobs.executor import Work
from runner.jobs.request import RunRequest

if TYPE_CHECKING:
    from runner.home.limits import JobLimits
    from runner.jobs.request import Request
    from store.state.jobs import Job


def work(request: Request, job: Job, limits: JobLimits) -> Work:
    """Return the work of an attempt; a run goes on in the folder of the attempt before it.

    Args:
        request: the job's, checked.
        job: its row; of it only the label, the number and the times are used, and no path.
        limits: of the home.
    """
    runs = isinstance(request, RunRequest)
    return Work(
        request=request,
        label=job.label,
        retry_failed=runs and job.retry_failed,
        run=run_name(job) if runs else None,
        timeout_s=min(job.timeout_s, limits.longest_timeout_s),
        grace_s=limits.grace_s,
    )


def run_name(job: Job) -> str:
    """Return the name of the folder of a job's run, the same for all attempts: words of ours, letters of its label."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", job.label).strip("-.")[:80] or "run"
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(min(max(job.submitted_at, 0.0), 1e11)))
    return f"{stamp}-{readable}-job{job.job_id}"
