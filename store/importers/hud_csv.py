"""CSV files of the TorchDynamo harness, as the HUD reads them: performance, accuracy and `--xla`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from store.files import uncompressed_path
from store.importers import facts as file_facts
from store.importers import hud_names, text
from store.importers.facts import FileFacts
from store.importers.shape import UNKNOWN, Imported, Origin, Series, UnreadableLine, record
from store.record.experiment import TESTS

_HEAD = ("dev", "name", "batch_size")


class _FileFields(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that all rows share: they come from the file's name or from the facts about it."""

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
        return text.headings(head)[:3] == list(_HEAD)

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        first_line, facts = file.readline(), file_facts.of(path)
        try:
            defaults = _fields_of_file(path, text.cells(first_line), facts)
        except text.BadRow as error:
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
        counts: Counter[Series] = Counter()
        yield from text.records_of_rows(file, first_line, partial(_records, origin, defaults, counts))


def _fields_of_file(path: Path, header: list[str], facts: FileFacts) -> _FileFields:
    name = hud_names.parse(uncompressed_path(path).name)
    variant = facts.backend or (name.variant if name else "openxla+lazytensor" if "time_xla" in header else None)
    test = TESTS.get(facts.test or "") or (name.test if name else None)
    if variant is None or test is None:
        lacking = " and ".join(word for word, value in (("backend", variant), ("test", test)) if value is None)
        raise text.BadRow(
            f"its name does not contain the {lacking} as BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv does. "
            "Pass it: xlabench ingest --fact backend=NAME --fact test=eval FILE"
        )
    return _FileFields(
        variant=variant,
        suite=facts.suite or (name.suite if name else UNKNOWN),
        dtype=facts.dtype or (name.dtype if name else None),
        test=test,
        accelerator=facts.accelerator,
        accelerator_model=facts.accelerator_model or (name.accelerator_model if name else None),
    )


def _records(
    origin: Origin,
    defaults: _FileFields,
    counts: Counter[Series],
    number: int,  # noqa: ARG001 (rows of one series are counted instead)
    cells: dict[str, str],
) -> Iterator[dict[str, Any]]:
    if len(cells) < len(_HEAD) or not cells["name"]:
        raise text.BadRow("no model name")
    accuracy = cells.get(hud_names.ACCURACY)
    kind = "accuracy" if accuracy is not None else "xla" if "time_xla" in cells else "performance"
    numbers, notes = _numbers(cells)
    batch_size = int(numbers.pop("batch_size", 0)) or None
    if batch_size is None and not any(numbers.values()):  # a failure's row: its zeros are padding
        numbers = {}
    series = Series(
        suite=defaults.suite,
        model=cells["name"],
        test=defaults.test,
        variant=defaults.variant,
        accelerator=defaults.accelerator or cells["dev"],
        accelerator_model=defaults.accelerator_model,
        dtype=defaults.dtype,
        batch_size=batch_size,
    )
    if accuracy is not None:
        code, failure = hud_names.judged(accuracy)
        numbers = hud_names.of_accuracy(numbers)
    else:
        code, failure = None, hud_names.not_measured(numbers.get("hud_speedup"))
    entry = record(
        origin,
        series,
        numbers,
        ordinal=counts[series],
        failure=failure,
        verification_code=code,
        reported={"kind": kind, "accuracy": accuracy, "tag": cells.get("tag")},
    )
    counts[series] += 1
    yield entry | {"warnings": notes}


def _numbers(cells: dict[str, str]) -> tuple[dict[str, float], list[str]]:
    """Return the numbers under our names, and notes; an empty cell has none, and notes name those left out."""
    numbers, notes = {}, []
    for name, cell in cells.items():
        if name in ("dev", "name", "tag", hud_names.ACCURACY) or not cell.strip():
            continue
        try:
            value = float(cell)
        except ValueError:
            raise text.BadRow(f"{name} is {cell!r}, which is not a number") from None
        if text.number(value) is not None:
            numbers[hud_names.METRICS.get(name, name)] = value
        else:
            notes.append(f"{name} is {cell.strip()} and was left out")
    return numbers, notes
