"""Records of a user's own model hold no line and no folder of its source, though errors quote both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from store.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.settings import OwnModel

_FRAME = re.compile(
    r'^(?P<head>[ \t|]*File ")(?P<path>[^"\n]+)(?P<tail>", line \d+[^\n]*)(?:\n(?! *File ") {4,}\S[^\n]*)+',
    re.MULTILINE,
)
"""A line of a traceback that names a place, with the text of that place and the marks under it."""
_NOT_THEIRS = re.compile(r"/(?:site|dist)-packages/|/lib/python3|/torchinductor|^<frozen")
_OURS = tuple(f"{Path(__file__).resolve().parents[2] / name}/" for name in ("runner", "store", "xlabench"))
SOURCE = "<source>"
"""Stands for lines of a source; the texts by which a script knows a fault end and begin again there."""
_FOLDER = "./own/"
_SAYING = ("error", "metrics", "verification", "graph_breaks", "fallback_ops", "warnings", "findings", "proof")
"""Fields of a record that hold what programs say."""


def without_source(record: Record, own: OwnModel) -> Record:
    """Return a record with base names in place of paths of the source, and without its lines."""
    place = Path(own.file or own.place)
    folders = {str(place.parent), str(place.resolve().parent)} - {"/", "."} if place.is_absolute() else set()
    found = msgspec.to_builtins(record)
    said = _walked({name: found[name] for name in _SAYING}, sorted(folders, key=len, reverse=True))
    return msgspec.convert(found | said, Record)


def _walked(value: Any, folders: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {key: _walked(each, folders) for key, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, folders) for each in value]
    return _text(value, folders) if isinstance(value, str) else value


def _text(text: str, folders: Iterable[str]) -> str:
    text = _FRAME.sub(_frame, text)
    for folder in folders:
        text = text.replace(f"{folder}/", _FOLDER)
    return text


def _frame(found: re.Match[str]) -> str:
    path = found["path"]
    if _NOT_THEIRS.search(path) or path.startswith(_OURS):
        return found[0]
    return f"{found['head']}{_FOLDER}{Path(path).name}{found['tail']}\n    {SOURCE}"
