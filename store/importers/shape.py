"""What an importer is, and records in our own shape made of what other tools wrote.

Numbers without samples are no results: their purpose is `reported`, they have no steady block and no latency, stand in
the metrics of the record under registered names, and are shown by the views of reported numbers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

import msgspec

from store.errors import Signal
from store.identity import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path


HEAD_BYTES = 2**16
"""How much of a file's beginning `recognises` is shown."""


class Imported(NamedTuple):
    """A record in the shape of our own lines, and where it stands; `line_number` counts from 1.

    In a format without lines both places count its rows.
    """

    line_number: int
    byte_offset: int
    record: dict[str, Any]


class UnreadableLine(NamedTuple):
    """A line that gives no record, and why."""

    line_number: int
    byte_offset: int
    reason: str


class BadObject(Signal):
    """A part of a file that gives no record; the message says why."""


def guarded(
    line_number: int, byte_offset: int, make: Callable[[], Iterable[Imported | UnreadableLine]]
) -> Iterator[Imported | UnreadableLine]:
    """Give what `make` makes of one object; one that it stumbles over is given as unreadable.

    Another tool's file may hold anything anywhere, and none of it may keep the rest from being read.
    """
    try:
        found = list(make())
    except BadObject as error:
        found = [UnreadableLine(line_number, byte_offset, str(error))]
    except Exception as error:  # noqa: BLE001 (whatever it is, the object is of no form that is known)
        found = [UnreadableLine(line_number, byte_offset, f"not in a known form: {error!r}")]
    yield from found


class Importer(Protocol):
    """One foreign format. A file of it that changed is read again as a whole."""

    name: str
    """What `source` of its records says, and the file's kind in the index."""
    suffixes: tuple[str, ...]
    """Which files of a folder are looked at; one that is named itself always is."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Tell whether a file that begins with `head` is of this format."""
        ...

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        """Give the records of an open file; a bad line is given as such and does not end it."""
        ...


REPORTED = "reported"
"""Purpose, and status where nothing failed, of a record that has numbers and no samples."""
UNKNOWN = "unknown"
_PAIRS: dict[str, tuple[str | None, str | None]] = {
    "eager": (None, None),
    "eager+dynamo": (None, "eager"),
    "openxla": ("PJRT", "openxla"),
    "openxla+dynamo": ("PJRT", "openxla"),
    "openxla+lazytensor": ("PJRT", None),
}
"""The (xla, dynamo) of backends whose name is no dynamo backend's."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and on what."""

    suite: str
    model: str
    test: str
    variant: str
    accelerator: str
    accelerator_model: str | None = None
    dtype: str | None = None
    batch_size: int | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where records come from: the importer, the run that they belong to, and when it was."""

    source: str
    run_key: Any
    """What tells runs of this source apart."""
    label: str
    started: float
    file: str
    """Name of the file: two of one run may hold rows of one series."""

    @property
    def run_id(self) -> str:
        """Return the run's id, which no run of another source can have."""
        return f"{self.source}-{digest([self.run_key])}"


class Failure(msgspec.Struct, frozen=True):
    """Why a row has no numbers."""

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

    `reported` is what the source says beside numbers, in its own words.
    """
    words = dict(reported or {})
    made = frame(origin, series, ordinal=ordinal, kind=words.get("kind"))
    made |= {"purpose": REPORTED, "status": failure.status if failure else REPORTED, "reported": words}
    made["metrics"] = {name: [value] for name, value in metrics.items()}
    if verification_code is not None:
        made["verification_code"] = verification_code
    if failure is not None:
        made["error"] = {"phase": failure.phase, "type": failure.status, "message": failure.message}
    return made


def frame(
    origin: Origin,
    series: Series,
    *,
    ordinal: int = 0,
    kind: str | None = None,
    environment: Mapping[str, Any] | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """Return what every imported record holds: who, what, where and when, without a number."""
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
