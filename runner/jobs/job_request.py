"""A request with what people say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.jobs.request import Request


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """A request with what people say about it."""

    request: Request
    label: str
    """Name of the run."""
    why: str = ""
    key: str = ""
    """Idempotency key: the same key is the same job, so that a double click makes one; empty: always a new job."""
    priority: int = 0
    """Higher ones go first; -100 to 100."""
    timeout_s: float | None = None
    """Time limit of one attempt; None: that of [jobs]."""
