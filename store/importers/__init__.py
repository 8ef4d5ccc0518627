"""Files of other tools, and our own Parquet, as records: all importers, and which of them reads a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.files import DAMAGED, uncompressed_path, unpacked
from store.importers import facts
from store.importers.hud_csv import HudCsv
from store.importers.hud_json import HudJson
from store.importers.param import Param
from store.importers.shape import HEAD_BYTES, Imported, Importer, UnreadableLine
from store.importers.table import Parquet, PublishedTable

if TYPE_CHECKING:
    from pathlib import Path


IMPORTERS: dict[str, Importer] = {
    importer.name: importer for importer in (HudCsv(), HudJson(), Param(), PublishedTable(), Parquet())
}
"""Name → importer."""

_OURS = "results.jsonl"


def importer_of(path: Path, *, named: bool = True) -> Importer | None:
    """Return who reads a file; None: it is lines of records, ours or the peer's, or nothing that we know.

    `named`: somebody named the very file, so that its suffix does not matter.
    """
    called = uncompressed_path(path)
    if called.name == _OURS or called.name.endswith(facts.SUFFIX):
        return None
    asked = [each for each in IMPORTERS.values() if named or called.suffix in each.suffixes]
    if not asked:
        return None
    try:
        with path.open("rb") as file:
            head = unpacked(path, file).read(HEAD_BYTES)
    except DAMAGED:  # also a file that may not be read: who reads it says so
        return None
    return next((each for each in asked if each.recognises(path, head)), None)


__all__ = ["HEAD_BYTES", "IMPORTERS", "Imported", "Importer", "UnreadableLine", "importer_of"]
