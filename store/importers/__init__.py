"""Importers of other tools' files and of our own Parquet: the list of them, and the choice of one for a file."""

from __future__ import annotations

from io import BufferedReader
from pathlib import Path
from typing import cast

from store.files import uncompressed_path, unpacked
from store.importers import facts
from store.importers.hud_csv import HudCsv
from store.importers.hud_json import HudJson
from store.importers.param import Param
from store.importers.shape import HEAD_BYTES, Imported, Importer, UnreadableLine
from store.importers.table import Parquet, PublishedTable
from store.run_file import RESULTS

IMPORTERS: dict[str, Importer] = {
    importer.name: importer for importer in (HudCsv(), HudJson(), Param(), PublishedTable(), Parquet())
}
"""Name → importer."""


def importer_of(path: Path) -> Importer | None:
    """Return the importer of a file; None for lines of records, ours or the peer's, and for unknown files.

    Raises:
        EOFError, OSError, zlib.error: the file cannot be read or unpacked (`store.files.DAMAGED`).
    """
    plain_path = uncompressed_path(path)
    if plain_path.name == RESULTS or plain_path.name.endswith(facts.SUFFIX):
        return None
    with path.open("rb") as file:
        head = cast("BufferedReader", unpacked(path, file)).read1(HEAD_BYTES)  # also of a file that is cut before
    return next((importer for importer in IMPORTERS.values() if importer.recognises(path, head)), None)


def may_be_imported(path: Path) -> bool:
    """Tell whether a file of a folder has a suffix of an importer."""
    plain_path = uncompressed_path(path)
    suffixes = {suffix for importer in IMPORTERS.values() for suffix in importer.suffixes}
    return plain_path.suffix in suffixes and not plain_path.name.endswith(facts.SUFFIX)


__all__ = ["HEAD_BYTES", "IMPORTERS", "Imported", "Importer", "UnreadableLine", "importer_of", "may_be_imported"]
