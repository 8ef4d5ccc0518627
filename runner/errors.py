"""Errors of the runner; each message says what happened, where, and what to do next.

UsageError             `store.errors`: bad flags or folder (exit 2)
└── PlanMismatch       the folder holds a run that cannot be resumed by this command (exit 2)
RunnerError            base (exit 3)
├── DeviceBusy         another process measures on the device (exit 2)
├── ServerFailed       the fork server did not start (exit 3)
└── Interrupted        Ctrl-C or SIGTERM; finished experiments are kept (exit 130)
"""

from __future__ import annotations

from store.errors import UsageError, XlabenchError


class RunnerError(XlabenchError):
    """Base of the runner's errors."""

    exit_code = 3


class PlanMismatch(UsageError):
    """A run folder holds another plan, or was measured with other versions or on another machine."""


class DeviceBusy(RunnerError):
    """Another process measures on the device."""

    exit_code = 2


class ServerFailed(RunnerError):
    """The fork server ended before it could start a benchmark process."""


class Interrupted(RunnerError):
    """The user or the system asked the run to stop."""

    exit_code = 130
