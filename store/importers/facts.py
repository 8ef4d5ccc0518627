"""Facts that a person states about a file: a small JSON file beside it.

The facts are on disk and not in the index, so that a rebuilt index has them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from store.errors import UsageError
from store.files import write_atomically
from store.record.experiment import TESTS

SUFFIX = ".facts.json"


class FileFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Facts about a file; None: the file's own content counts."""

    suite: str | None = None
    dtype: str | None = None
    test: str | None = None
    backend: str | None = None
    accelerator: str | None = None
    accelerator_model: str | None = None
    label: str | None = None
    """Label of the run that its rows belong to."""
    time: datetime | None = None
    """When it was measured; without it, the modification time of the file counts."""
    origin: str | None = None
    """Source of a published table, such as its address."""
    baseline: str | None = None
    """Baseline of a published table's speedups, in the table's own words."""

    def started(self, path: Path) -> float:
        """Return when the file's numbers were measured, as Unix seconds."""
        return path.stat().st_mtime if self.time is None else seconds(self.time)


NAMES = FileFacts.__struct_fields__


def seconds(moment: datetime) -> float:
    """Return Unix seconds; a time without a zone is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def facts_path(path: Path) -> Path:
    """Return the path of the facts about a file."""
    return path.with_name(path.name + SUFFIX)


def of(path: Path) -> FileFacts:
    """Return the facts about a file.

    Raises:
        UsageError: the facts cannot be read.
    """
    place = facts_path(path)
    try:
        return _checked(msgspec.json.decode(place.read_bytes(), type=FileFacts))
    except FileNotFoundError:
        return FileFacts()
    except msgspec.DecodeError as error:
        raise UsageError(f"{place} cannot be read: {error}. Correct it, or delete it.") from None


def write(path: Path, entries: Mapping[str, str]) -> None:
    """Add to the facts about a file; the next ingest reads it again.

    Raises:
        UsageError: there is no such fact, or a value cannot be one.
    """
    try:
        facts = msgspec.convert({**msgspec.to_builtins(of(path)), **entries}, FileFacts)
    except msgspec.ValidationError as error:
        raise UsageError(f"{error}. The facts are {', '.join(NAMES)}; time is as 2026-01-31T12:00:00Z.") from None
    write_atomically(facts_path(path), msgspec.json.encode(_checked(facts)) + b"\n")


def _checked(facts: FileFacts) -> FileFacts:
    if facts.test is not None and facts.test not in TESTS:
        raise UsageError(f"There is no test {facts.test!r}. Choose eval or train.")
    return facts
