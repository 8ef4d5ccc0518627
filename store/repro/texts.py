"""The drafts about a record or an op as one text, for whoever asks without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.repro.draft import draft
from store.repro.find import faults
from store.repro.folder import existing

if TYPE_CHECKING:
    from pathlib import Path

    from store.query import Connection

FOLDER_NAME = "repros"
"""Where `xlabench repro` puts drafts and scripts, in the home."""


def drafts(con: Connection, folder: Path, *, record: str | None = None, op: str | None = None) -> str:
    """Return the drafts of a record's faults, or of an op's, one behind the other; empty where there is none.

    A draft that lies in the folder is returned as it is there, with its script; another one is made without.
    """
    found = []
    for fault in faults(con, record=record, op=op):
        place = existing(folder, fault)
        found.append(place.read_text(encoding="utf-8") if place else draft(fault, None))
    return "\n---\n\n".join(found)
