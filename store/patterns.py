"""Regular expressions that come from outside: their time is linear in the text, whatever they say.

Python's own engine takes years for some of them, and a page, a job or a worker would wait.
"""

from __future__ import annotations

from typing import Any, Protocol

from store.errors import UsageError

MOST_BYTES = 1 << 20
"""What a compiled pattern may take: its time is its size times that of the text, milliseconds for a name."""


class BadPattern(UsageError, ValueError):
    """A text that is no regular expression; the message says why and what to do."""


class Pattern(Protocol):
    """A compiled expression."""

    def search(self, text: str) -> Any:
        """Return where it fits first; None: nowhere."""
        ...


def compiled(text: str) -> Pattern:
    """Return an expression that searches ignoring case, in the syntax of RE2: no lookaround and no back-reference.

    Raises:
        BadPattern: it is none.
    """
    import re2  # noqa: PLC0415 - only where somebody filters; measuring environments may lack it

    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, MOST_BYTES
    try:
        found: Pattern = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else "it is not UTF-8"
        raise BadPattern(
            f"{text!r} is not a regular expression: {said}. The syntax is RE2's: no lookaround, no back-reference."
        ) from None
    return found


def any_of(texts: list[str] | tuple[str, ...]) -> Pattern:
    """Return an expression that fits where one of them does; of none: everywhere.

    Raises:
        BadPattern: one of them is none.
    """
    for text in texts:
        compiled(text)
    return compiled("|".join(f"(?:{text})" for text in texts))
