"""Regular expressions of users, whose search time is linear in the text.

Python's own engine takes years for some expressions, and would block a page, a job or a worker.
"""

from __future__ import annotations

from typing import Any, Protocol

from store.errors import UsageError

MOST_BYTES = 1 << 20
"""Largest size of a compiled pattern in bytes; the search time is its size times that of the text."""


class BadPattern(UsageError, ValueError):
    """The text is no regular expression; the message says why and what to do."""


class Pattern(Protocol):
    """A compiled expression."""

    def search(self, text: str) -> Any:
        """Return the first match; None if there is none."""
        ...


def compiled(text: str) -> Pattern:
    """Return an expression that searches ignoring case, in the syntax of RE2: no lookaround and no back-reference.

    Raises:
        BadPattern: the text is no expression.
    """
    import re2  # noqa: PLC0415 - only where somebody filters; measuring environments may lack it

    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, MOST_BYTES
    try:
        pattern: Pattern = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else "it is not UTF-8"
        raise BadPattern(
            f"{text!r} is not a regular expression: {reason}. The syntax is RE2's: no lookaround, no back-reference."
        ) from None
    return pattern


def any_of(texts: list[str] | tuple[str, ...]) -> Pattern:
    """Return an expression that matches where one of `texts` does; without any, it matches everywhere.

    Raises:
        BadPattern: one of the texts is no expression.
    """
    for text in texts:
        compiled(text)
    return compiled("|".join(f"(?:{text})" for text in texts))
