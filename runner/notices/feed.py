"""The newest notices as an Atom feed: a file of the home, replaced as a whole."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from runner.notices.identity import urn
from runner.notices.message import moment
from store.folder import write_whole
from store.state.notices import FEED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from store.state.notices import Notice

NEWEST = 200
"""Entries of the feed."""
_NAMESPACE = "http://www.w3.org/2005/Atom"


def write(home: Path, notices: Sequence[Notice], dashboard: str) -> None:
    """Write the feed of a home where it is not what it should be.

    Args:
        home: folder of the file.
        notices: the newest first.
        dashboard: its address; empty: links start at the feed's own address.
    """
    path, content = home / FEED, feed(str(home.resolve()), notices, dashboard)
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == content:
            return
    write_whole(path, content)


def feed(name: str, notices: Sequence[Notice], dashboard: str) -> bytes:
    """Return the feed; `name` tells it from those of other homes."""
    root = ET.Element("feed", xmlns=_NAMESPACE)
    _add(root, "id", urn(f"feed {name}"))
    _add(root, "title", "xlabench")
    _add(root, "updated", moment(max((each.noticed_at for each in notices), default=0.0)))
    _add(ET.SubElement(root, "author"), "name", "xlabench")
    for each in notices:
        entry = ET.SubElement(root, "entry")
        _add(entry, "id", urn(each.key))
        _add(entry, "title", each.title)
        _add(entry, "updated", moment(each.noticed_at))
        _add(entry, "published", moment(each.happened_at))
        ET.SubElement(entry, "category", term=each.kind)
        if each.page:
            ET.SubElement(
                entry, "link", rel="alternate", href=f"{dashboard.rstrip('/')}/{each.page}" if dashboard else each.page
            )
        _add(entry, "content", each.text).set("type", "text")
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    found = ET.SubElement(parent, name)
    # XML 1.0 has no place for control characters, however they are written.
    found.text = "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in text)
    return found
