"""CSV files of the TorchDynamo harness, as the HUD reads them: performance, accuracy and `--xla`."""

from __future__ import annotations

import csv
import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from store.errors import UsageError
from store.files import uncompressed_path
from store.importers import facts as said
from store.importers import hud_names, text
from store.importers.shape import UNKNOWN, BadObject, Imported, Origin, Series, UnreadableLine, guarded, record
from store.record.experiment import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

_HEAD = ("dev", "name", "batch_size")


class BadRow(BadObject):
    """A row that gives no record; the message says why."""


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of all rows: the file's name says it, or a person."""

    variant: str
    suite: str
    dtype: str | None
    test: str
    accelerator: str | None
    accelerator_model: str | None


class HudCsv:
    """One record per row; accuracy and performance of a model meet in view `hud_rows`.

    All files of a folder are one run: the harness writes no time and no commit.
    """

    name = "hud-csv"
    suffixes: tuple[str, ...] = (".csv",)

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        return head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")[:3] == list(_HEAD)

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        try:
            first = file.readline()
            header = _split(first)
            told, facts = _told(path, header), said.of(path)
        except (BadRow, UsageError) as error:
            yield UnreadableLine(1, 0, str(error))
            return
        label = facts.label or path.parent.name
        origin = Origin(
            source=self.name,
            run_key=str(path.parent),
            label=label,
            started=facts.started(path),
            file=uncompressed_path(path).name,
        )
        seen: Counter[Series] = Counter()
        for number, offset, line in _rows(file, len(first)):
            if number > text.MOST_OBJECTS:
                yield text.too_many(number, offset)
                return
            made = partial(_imported, number, offset, origin, told, header, line, seen)
            yield from guarded(number, offset, made)


def _imported(
    number: int, offset: int, origin: Origin, told: _Told, header: list[str], line: bytes, seen: Counter[Series]
) -> list[Imported]:
    return [Imported(number, offset, _record(origin, told, _cells(header, line), seen))]


def _rows(file: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Give number, place and text of each line behind the first, one at a time: a small file may unpack to many."""
    for number, line in enumerate(file, start=2):
        if line.strip():
            yield number, offset, line
        offset += len(line)


def _told(path: Path, header: list[str]) -> _Told:
    name, facts = hud_names.parse(uncompressed_path(path).name), said.of(path)
    variant = facts.backend or (name.variant if name else "openxla+lazytensor" if "time_xla" in header else None)
    test = TESTS.get(facts.test or "") or (name.test if name else None)
    if variant is None or test is None:
        lacking = " and ".join(word for word, known in (("backend", variant), ("test", test)) if known is None)
        raise BadRow(
            f"its name does not contain the {lacking} as BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv does. "
            "Pass it: xlabench ingest --fact backend=NAME --fact test=eval FILE"
        )
    return _Told(
        variant=variant,
        suite=facts.suite or (name.suite if name else UNKNOWN),
        dtype=facts.dtype or (name.dtype if name else None),
        test=test,
        accelerator=facts.accelerator,
        accelerator_model=facts.accelerator_model or (name.accelerator_model if name else None),
    )


def _cells(header: list[str], line: bytes) -> dict[str, str]:
    cells = _split(line)
    if len(cells) > len(header):
        raise BadRow(f"{len(cells)} cells for {len(header)} headings")
    if len(cells) < len(_HEAD) or not cells[1]:
        raise BadRow("no model name")
    return dict(zip(header, cells, strict=False))


def _split(line: bytes) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8").strip("\r\n")], strict=True), [])
    except UnicodeDecodeError as error:
        raise BadRow(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except csv.Error as error:
        raise BadRow(f"not CSV: {error}") from None


def _record(origin: Origin, told: _Told, cells: dict[str, str], seen: Counter[Series]) -> dict[str, Any]:
    accuracy = cells.get(hud_names.ACCURACY)
    kind = "accuracy" if accuracy is not None else "xla" if "time_xla" in cells else "performance"
    numbers, notes = _numbers(cells)
    batch_size = int(numbers.pop("batch_size", 0)) or None
    if batch_size is None and not any(numbers.values()):  # a failure's row: its zeros are padding
        numbers = {}
    series = Series(
        suite=told.suite,
        model=cells["name"],
        test=told.test,
        variant=told.variant,
        accelerator=told.accelerator or cells["dev"],
        accelerator_model=told.accelerator_model,
        dtype=told.dtype,
        batch_size=batch_size,
    )
    if accuracy is not None:
        code, failure = hud_names.judged(accuracy)
        numbers = hud_names.of_accuracy(numbers)
    else:
        code, failure = None, hud_names.not_measured(numbers.get("hud_speedup"))
    words = {"kind": kind, "accuracy": accuracy, "tag": cells.get("tag")}
    made = record(
        origin,
        series,
        numbers,
        ordinal=seen[series],
        failure=failure,
        verification_code=code,
        reported={name: word for name, word in words.items() if word is not None},
    )
    seen[series] += 1
    return made | {"warnings": notes}


def _numbers(cells: dict[str, str]) -> tuple[dict[str, float], list[str]]:
    """Return the numbers under our names; an empty cell has none, one that is not finite is left out and said so."""
    found, notes = {}, []
    for name, written in cells.items():
        if name in ("dev", "name", "tag", hud_names.ACCURACY) or not written.strip():
            continue
        try:
            value = float(written)
        except ValueError:
            raise BadRow(f"{name} is {written!r}, no number") from None
        if math.isfinite(value):
            found[hud_names.METRICS.get(name, name)] = value
        else:
            notes.append(f"{name} is {written.strip()} and was left out")
    return found, notes
