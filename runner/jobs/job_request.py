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
    """The same key is the same job, so that a double click is one; empty: a new job in any case."""
    priority: int = 0
    """Higher ones go first; -100 to 100."""
    timeout_s: float | None = None
    """Time limit of one attempt; None: that of [jobs]."""
