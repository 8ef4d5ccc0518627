"""The protocol of importers, and functions that make records in our schema from other tools' data.

Numbers without samples are no results: their records have the purpose `reported`, no steady block and no latency. The
numbers are metrics under registered names, and only the views of reported numbers show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import msgspec

from store.errors import Signal
from store.identity import digest

HEAD_BYTES = 2**16
"""Bytes of a file's beginning that `recognises` receives."""


class Imported(NamedTuple):
    """A record in the schema of our own lines, and its place; `line_number` counts from 1.

    In a format without lines both numbers count its rows.
    """

    line_number: int
    byte_offset: int
    record: dict[str, Any]


class UnreadableLine(NamedTuple):
    """A line that gives no record, and the reason."""

    line_number: int
    byte_offset: int
    reason: str


class BadObject(Signal):
    """The object gives no record; the message says why."""


def guarded(
    line_number: int, byte_offset: int, make: Callable[[], Iterable[dict[str, Any]]]
) -> Iterator[Imported | UnreadableLine]:
    """Yield the records that `make` returns for one object; if it fails, yield an unreadable line.

    A file of another tool may contain anything, and no part of it may prevent the rest from being read.
    """
    try:
        entries = list(make())
    except BadObject as error:
        yield UnreadableLine(line_number, byte_offset, str(error))
    except Exception as error:  # noqa: BLE001 (whatever it is, the object is of no form that is known)
        yield UnreadableLine(line_number, byte_offset, f"not in a known form: {error!r}")
    else:
        yield from (Imported(line_number, byte_offset, entry) for entry in entries)


class Importer(Protocol):
    """One format of another tool. A changed file of it is read again from the beginning."""

    name: str
    """The `source` of its records, and the kind of its files in the index."""
    suffixes: tuple[str, ...]
    """Suffixes of the files in a folder that are considered; a file that the user names is always considered."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Tell whether a file that begins with `head` is of this format."""
        ...

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        """Yield the records of an open file, and its unreadable lines, which do not end it.

        Raises:
            UsageError: the facts about the file cannot be read.
        """
        ...


REPORTED = "reported"
"""Purpose of a record that has numbers and no samples, and its status if nothing failed."""
UNKNOWN = "unknown"
_PAIRS: dict[str, tuple[str | None, str | None]] = {
    "eager": (None, None),
    "eager+dynamo": (None, "eager"),
    "openxla": ("PJRT", "openxla"),
    "openxla+dynamo": ("PJRT", "openxla"),
    "openxla+lazytensor": ("PJRT", None),
}
"""Backend → its (xla, dynamo), where its name is not that of a dynamo backend."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The measured model and settings, and the accelerator."""

    suite: str
    model: str
    test: str
    variant: str
    accelerator: str
    accelerator_model: str | None = None
    dtype: str | None = None
    batch_size: int | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of records: the importer, their run, and its time."""

    source: str
    run_key: Any
    """Key that distinguishes runs of this source."""
    label: str
    started: float
    file: str
    """Name of the file; two files of one run may hold rows of one series."""

    @property
    def run_id(self) -> str:
        """Return the id of the run; runs of other sources have other ids."""
        return f"{self.source}-{digest([self.run_key])}"


class Failure(msgspec.Struct, frozen=True):
    """The reason why a row has no numbers."""

    status: str
    phase: str
    message: str


def record(
    origin: Origin,
    series: Series,
    metrics: Mapping[str, float],
    *,
    ordinal: int = 0,
    failure: Failure | None = None,
    verification_code: str | None = None,
    reported: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a record of reported numbers; `ordinal` counts the rows of one kind and series before it in its file.

    `reported` holds the other fields of the source, in its own words; None is an unknown one.
    """
    words = {name: word for name, word in (reported or {}).items() if word is not None}
    entry = frame(origin, series, ordinal=ordinal, kind=words.get("kind"))
    entry |= {"purpose": REPORTED, "status": failure.status if failure else REPORTED, "reported": words}
    entry["metrics"] = {name: [value] for name, value in metrics.items()}
    if verification_code is not None:
        entry["verification_code"] = verification_code
    if failure is not None:
        entry["error"] = {"phase": failure.phase, "type": failure.status, "message": failure.message}
    return entry


def frame(
    origin: Origin,
    series: Series,
    *,
    ordinal: int = 0,
    kind: str | None = None,
    environment: Mapping[str, Any] | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the parts that every imported record has: source, ids, run, model, experiment and time, but no numbers."""
    experiment = digest(msgspec.to_builtins(series))
    backend, _, _ = series.variant.partition(" ")
    xla, dynamo = _PAIRS.get(backend, (None, backend))
    return {
        "source": origin.source,
        "record_id": digest([origin.run_id, origin.file, experiment, kind, ordinal]),
        "experiment_id": experiment,
        "variant": series.variant,
        "run": {"run_id": origin.run_id, "label": origin.label},
        "timestamp": origin.started,
        "attempt": ordinal + 1,
        "model": {"suite_name": series.suite, "model_name": series.model},
        "experiment": {
            "accelerator": series.accelerator,
            "accelerator_model": series.accelerator_model,
            "xla": xla,
            "dynamo": dynamo,
            "test": series.test,
            "batch_size": series.batch_size,
            "dtype": series.dtype,
        },
        "environment": {"name": origin.source, **(environment or {})},
        "warnings": list(warnings),
    }
