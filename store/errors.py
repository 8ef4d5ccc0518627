"""The errors of xlabench, and those of the store; each message ends with what to do next.

XlabenchError               whatever a user may read; the commands catch this one (exit code 2)
├── UsageError              flags, a path, a name or a value that cannot be used
│   ├── NoSuchSource        nothing to ingest at a path
│   ├── NoSnapshot          no index to read yet
│   └── MissingPackage      a required optional package is not installed
├── StoreError
│   ├── WriterBusy          another process writes the same results.jsonl
│   ├── WriteFailed         a record could not be written whole
│   ├── RunFileError        run.json is missing or unreadable
│   ├── PackFailed          a results.jsonl was not packed, and stays as it is
│   ├── OwnerBusy           another ingest holds the store for too long
│   ├── RemoteFailed        a folder of another host cannot be reached
│   ├── NoRoom              the disk is too full for the index
│   ├── StorageError        the working database cannot be used
│   └── StateError          state.sqlite, or what it is asked for, cannot be used
├── RunnerError             `runner.errors`
└── SuiteError              `runner.suites.base`

Signal                      from one module to another that always catches it
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LIST_RUNS = '`xlabench sql "SELECT run_id, run_label, run_started FROM runs ORDER BY run_started"` lists the runs.'
"""What to do where a run was not found."""
NOTHING_FITS = "No result fits these filters. Widen them, or ingest the run that has them."


class XlabenchError(Exception):
    """Base of all errors that a user may read; `exit_code` is the exit code of the command."""

    exit_code = 2


class Signal(Exception):
    """Base of exceptions that another module always catches; no user reads them."""


class StoreError(XlabenchError):
    """Base of the store's errors."""


class UsageError(XlabenchError):
    """The command asks for something that cannot be: flags, a path, a name or a value that cannot be used."""


class NoSuchSource(UsageError):
    """Nothing to ingest at a path."""


class NoSnapshot(UsageError):
    """There is no index to read yet."""


class MissingPackage(UsageError):
    """A required optional package is not installed."""


class WriterBusy(StoreError):
    """Another process writes the same results.jsonl."""


class WriteFailed(StoreError):
    """A record could not be written whole; the file was cut back to its previous end."""

    exit_code = 3


class RunFileError(StoreError):
    """run.json is missing or unreadable."""


class PackFailed(StoreError):
    """A results.jsonl was not packed, and stays as it is."""

    exit_code = 1


class OwnerBusy(StoreError):
    """Another ingest held the store for longer than this one would wait."""


class RemoteFailed(StoreError):
    """A folder of another host cannot be reached; what has arrived stays."""

    exit_code = 3


class NoRoom(StoreError):
    """The disk is too full for the index."""

    exit_code = 1


class StorageError(StoreError):
    """The working database cannot be used."""


class StateError(StoreError):
    """`state.sqlite`, or what it is asked for, cannot be used."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean X?" (with up to three names, the closest first), or an empty text if no name is close."""
    by_lower = {name.lower(): name for name in known}
    close = [by_lower[name] for name in difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.6)]
    if not close:
        return ""
    return f" Did you mean {' or '.join([', '.join(close[:-1]), close[-1]] if close[1:] else close)}?"


def shortened(text: str, longest: int) -> str:
    """Return the text; one that is longer than so many characters ends with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return `1 run`, `6 runs`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def all_of(number: int, one: str, many: str | None = None) -> str:
    """Return `both runs`, `all 3 runs`."""
    text = counted(number, one, many)
    return f"both {text.partition(' ')[2]}" if number == 2 else f"all {text}"  # noqa: PLR2004 - the word for two
