"""Words that anybody may have written, as a terminal may show them."""

from __future__ import annotations


def plain(text: str) -> str:
    r"""Return a text as one line without anything that a terminal obeys: `\x1b` and `\n` as they are written."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
