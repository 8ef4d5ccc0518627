"""`[jobs]` of `xlabench.toml`: how much may be asked for."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

_Count = Annotated[int, Meta(ge=1)]
_Seconds = Annotated[float, Meta(gt=0)]


class JobLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of every job of the home."""

    request_bytes: _Count = 1 << 20
    queue: _Count = 200
    """Jobs that are not over, of all people."""
    queue_per_person: _Count = 50
    hours_per_person: _Seconds = 48.0
    """Running hours of the jobs that one person submitted in the last 24 hours."""
    timeout_s: _Seconds = 6 * 3600.0
    """Time limit of one attempt if the job sets none."""
    longest_timeout_s: _Seconds = 48 * 3600.0
    attempts: _Count = 3
    """Attempts of a job that is lost, because its host or process died."""
    grace_s: _Seconds = 20.0
    """Seconds from SIGTERM to SIGKILL."""
