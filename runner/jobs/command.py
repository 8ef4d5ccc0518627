"""A request as the command that one would type for it: what a run says of itself, for readers; no process gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.flags import request_words
from runner.jobs.request import ConfirmRequest

if TYPE_CHECKING:
    from runner.jobs.request import Request


def words(request: Request) -> list[str]:
    """Return the words behind `xlabench`; every value stands in its flag's own word, so none can become another flag.

    Args:
        request: a checked one; of its plan, nothing becomes a word.
    """
    if not isinstance(request, ConfirmRequest):
        return ["run", *request_words(request)]
    found = ["compare", request.old, request.new, f"--confirm={request.cells}"]
    found += [f"--run={request.run}"] if request.run else []
    found += [f"--experiment={each}" for each in request.experiments]
    return found + ([f"--processes={request.processes}"] if request.processes else [])
