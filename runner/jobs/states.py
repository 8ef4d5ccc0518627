"""The states of a job and what leads from one to another (pure)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from store.state.jobs import State

MOVES: Mapping[State, frozenset[State]] = {
    "queued": frozenset({"starting", "failed", "cancelled"}),
    "starting": frozenset({"running", "done", "failed", "cancelled", "lost"}),
    "running": frozenset({"done", "failed", "cancelled", "lost"}),
    "lost": frozenset({"queued", "cancelled"}),
    "failed": frozenset({"queued"}),
    "cancelled": frozenset({"queued"}),
    "done": frozenset(),
}
"""State → the states that may follow. Whoever changes a state names the state that was found."""

ALIVE: tuple[State, ...] = ("starting", "running")
OVER: tuple[State, ...] = ("done", "failed", "cancelled", "lost")

_INTERRUPTED = 130
_DONE = {0: "", 3: "partial: some experiments could not run; see the log"}
"""Exit codes of a run that measured, and what there is to say."""


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended, as its own process wrote it down."""

    code: int | None
    """Exit code; below 0 the signal that killed it; None where it was ended from outside."""
    reason: str = "ended"
    """`ended`, `timeout`: its time was over; `stopped`: it was asked to end."""
    ended_at: float | None = None
    """Unix seconds."""


def outcome(end: End | None, *, cancelled: bool, last_line: str = "") -> tuple[State, str]:
    """Return the state after an attempt, and why: one sentence. A failed measurement is `failed`, never `lost`.

    Args:
        end: None where nothing was written down: its process, or its host, died.
        cancelled: somebody wanted it to end.
        last_line: of its log, for a failure.
    """
    if end is not None and end.code is not None and end.code in _DONE:
        return "done", _DONE[end.code]
    if cancelled:
        return "cancelled", ""
    if end is None:
        return "lost", "its process disappeared without an exit code"
    if end.reason == "timeout":
        return "failed", "it reached its time limit; submit it with a longer timeout or fewer experiments"
    if end.reason == "stopped" or end.code is None or end.code == _INTERRUPTED:
        return "lost", "it was interrupted by a signal"
    return _by_code(end.code, last_line)


def _by_code(code: int, last_line: str) -> tuple[State, str]:
    if code < 0:
        return "lost", f"it was killed by {signal_name(-code)}"
    return "failed", f"exit code {code}: {last_line}" if last_line else f"exit code {code}; see its log"


def signal_name(number: int) -> str:
    """Return a signal's name, its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
