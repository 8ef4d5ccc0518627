"""Importers of other tools' files and of our own Parquet: the list of them, and the choice of one for a file."""

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
    """Return the importer of a file; None for lines of records, ours or the peer's, and for unknown files.

    `named`: the user named the file itself, so that its suffix does not matter.
    """
    plain_path = uncompressed_path(path)
    if plain_path.name == _OURS or plain_path.name.endswith(facts.SUFFIX):
        return None
    candidates = [importer for importer in IMPORTERS.values() if named or plain_path.suffix in importer.suffixes]
    if not candidates:
        return None
    try:
        with path.open("rb") as file:
            head = unpacked(path, file).read(HEAD_BYTES)
    except DAMAGED:  # also a file without permission: reading it later reports that
        return None
    return next((importer for importer in candidates if importer.recognises(path, head)), None)


__all__ = ["HEAD_BYTES", "IMPORTERS", "Imported", "Importer", "UnreadableLine", "importer_of"]
