"""All importers, and which of them reads a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.compressed import DAMAGED, plain, unpacked
from store.importers import facts
from store.importers.base import HEAD_BYTES
from store.importers.hud_csv import HudCsv
from store.importers.hud_json import HudJson
from store.importers.param import Param
from store.importers.parquet import Parquet
from store.importers.table import PublishedTable

if TYPE_CHECKING:
    from pathlib import Path

    from store.importers.base import Importer

IMPORTERS: dict[str, Importer] = {
    importer.name: importer for importer in (HudCsv(), HudJson(), Param(), PublishedTable(), Parquet())
}
"""Name → importer."""

_OURS = "results.jsonl"


def importer_of(path: Path, *, named: bool = True) -> Importer | None:
    """Return who reads a file; None: it is lines of records, ours or the peer's, or nothing that we know.

    `named`: somebody named the very file, so that its suffix does not matter.
    """
    called = plain(path)
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
