"""Widths of the columns of a table: numbers and names fit completely, long texts share the rest of the window.

By itself the table in the browser measures only its first rows: a longer number further down loses digits on the left,
and columns beyond the window are out of sight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd

from dashboard.formatting import missing

ROOM_PX = 1046
"""Width of a table inside an expander, next to the sidebar, in a window of 1440 pixels; wider windows are filled."""
PAGE_PX = 1080
"""Width of a table outside an expander."""
BOX_PX = 35
"""Width of the boxes that select rows."""
LONGEST_PX = 460
"""Largest width of a text; longer texts can be read in their cell or in a file."""
SHORTEST_PX = 90
"""Smallest width of a text that is cut to make room."""
SHORTEST_NAME_PX = 130
"""The same of a pinned column: names of backends are whole, as a row without its name says nothing."""
NARROW_PX = 176
"""Width of all pinned columns in the window of a telephone: the browser pins none if they need more than 60 % of it."""
THOUSANDS = "accounting"
"""Streamlit's format of numbers with commas, in whatever language; of its `localized` the browser chooses the signs."""
_FONT_PX = 13.1
_PADDING_PX = 19
_LINK_PX = 16
"""Additional padding of a link, which is drawn as a button without a border."""
_BOLD = 1.06
_ROWS = 1000
"""Number of first rows whose texts are measured."""
_STEP_PX = 4
_LINE_PX = 80
_TIME_PX = 124
_DIGITS = "0.0000"
"""Sample of a number with four digits, as neither the least nor the greatest need be the longest."""
_EMS = {
    **dict.fromkeys("ijlI'|", 0.25),
    **dict.fromkeys(" ", 0.2),
    **dict.fromkeys(".,:;!", 0.25),
    **dict.fromkeys("()[]{}-frt/", 0.33),
    **dict.fromkeys("csvxyz", 0.45),
    **dict.fromkeys("mMwW%@", 0.83),
    **dict.fromkeys("abdeghknopqu0123456789+=<>_", 0.53),
}
"""Character → its width over the size of the page's font; all others have `_OTHER_EMS`."""
_OTHER_EMS = 0.64


class ColumnFacts(NamedTuple):
    """Facts that decide the width of a column."""

    label: str
    kind: str
    """Kind of the column, as in `tables.TableColumn`."""
    pinned: bool
    at_least: int
    """Smallest width in pixels, also for texts that are cut to make room."""


def fitted(
    frame: pd.DataFrame, facts: Mapping[str, ColumnFacts], formats: Mapping[str, str], room: int
) -> dict[str, int]:
    """Return the width of each column in pixels; if not all fit, texts are cut first, then verdicts, then pinned ones.

    Args:
        frame: the values as they are displayed.
        facts: column → its facts, in order.
        formats: kind of a number → its format with `%`, or `THOUSANDS`.
        room: width in pixels for all columns.
    """
    widths = {name: _needed(frame[name], fact, formats) for name, fact in facts.items()}
    for pinned, kinds in ((False, ("text",)), (False, ("verdict", "warnings")), (True, ("text", "link", "verdict"))):
        texts = [name for name, fact in facts.items() if fact.kind in kinds and fact.pinned == pinned]
        widths |= _capped(widths, texts, room, facts)
    return widths | _lengthened(frame, widths, room, facts)


def narrow_names(widths: Mapping[str, int], pinned: Sequence[str]) -> dict[str, int]:
    """Return the widths of the columns that stay pinned in a narrow window: the first and the last, which name a row.

    Args:
        widths: width of each column in a wide window.
        pinned: the columns that are pinned there, in order.
    """
    names = list(dict.fromkeys([*pinned[:1], *pinned[-1:]]))
    levels = range(NARROW_PX, 0, -_STEP_PX)
    level = next(level for level in levels if sum(min(widths[name], level) for name in names) <= NARROW_PX)
    return {name: min(widths[name], level) for name in names}


def _lengthened(
    frame: pd.DataFrame, widths: Mapping[str, int], room: int, facts: Mapping[str, ColumnFacts]
) -> dict[str, int]:
    """Return the widths of texts that are cut although there is room: without it, the browser widens all columns."""
    cut = [name for name, fact in facts.items() if fact.kind == "text" and widths[name] == LONGEST_PX]
    spare = room - sum(widths.values())
    if not cut or spare <= 0:
        return {}
    most = LONGEST_PX + spare // len(cut)
    longest = {name: max(map(text_px, _texts(frame[name], facts[name], {})), default=0) for name in cut}
    return {name: max(LONGEST_PX, min(int(px) + _PADDING_PX, most)) for name, px in longest.items()}


@lru_cache(maxsize=8192)
def text_px(text: str) -> float:
    """Return the width of a text in a table, in pixels."""
    return _FONT_PX * sum(_EMS.get(character, _OTHER_EMS) for character in text)


def _needed(values: pd.Series, fact: ColumnFacts, formats: Mapping[str, str]) -> int:
    longest = max([text_px(fact.label), *(text_px(text) for text in _texts(values, fact, formats))])
    least = {"line": _LINE_PX, "time": _TIME_PX}.get(fact.kind, 0)
    bold = _BOLD if fact.kind == "verdict" else 1
    margin = _PADDING_PX + (_LINK_PX if fact.kind == "link" else 0)
    return int(max(min(longest * bold + margin, LONGEST_PX), least, fact.at_least))


def _texts(values: pd.Series, fact: ColumnFacts, formats: Mapping[str, str]) -> list[str]:
    """Return the texts of a column that may be the widest."""
    if fact.kind in ("line", "time"):
        return []
    if fact.kind in formats:
        form, numbers = formats[fact.kind], pd.to_numeric(values).dropna()
        digits = [_DIGITS] if form.endswith("g") else []
        ends = (numbers.min(), numbers.max()) if len(numbers) else ()
        return digits + [f"{end:,.0f}" if form == THOUSANDS else form % end for end in ends]
    every: list[Any] = values.head(_ROWS).tolist()
    return sorted({str(text) for text in every if not missing(text)}, key=len)[-3:]


def _capped(widths: Mapping[str, int], texts: list[str], room: int, facts: Mapping[str, ColumnFacts]) -> dict[str, int]:
    """Return widths of texts with the longest cut to one level, so that all columns fit if possible."""
    room -= sum(width for name, width in widths.items() if name not in texts)
    least = {
        name: max(
            SHORTEST_NAME_PX if facts[name].pinned else SHORTEST_PX,
            int(text_px(facts[name].label)) + _PADDING_PX,
            facts[name].at_least,
        )
        for name in texts
    }
    capped = {name: widths[name] for name in texts}
    for level in range(LONGEST_PX, 0, -_STEP_PX):
        if sum(capped.values()) <= room:
            break
        capped = {name: min(widths[name], max(least[name], level)) for name in texts}
    return capped
