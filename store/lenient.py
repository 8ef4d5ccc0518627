"""Read JSON as Python's `json` module writes it: with NaN and Infinity, which stand for no number."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec


class NotJson(Exception):
    """Text that is no JSON, or holds what no reader of JSON can keep; the message says why."""


class Read(NamedTuple):
    """A value, and how many numbers of it were not finite and became None."""

    value: Any
    not_finite_n: int


def read(text: bytes) -> Read:
    """Return the value of a text.

    Raises:
        NotJson: it has no value that can be kept.
    """
    found = parse(text)
    require_writable(found.value)
    return found


def parse(text: bytes) -> Read:
    """Return the value of a text, of which parts may be such that they can be written nowhere again.

    Raises:
        NotJson: it has no value.
    """
    seen: list[str] = []
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=seen.append)
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise NotJson("unreadable JSON: nested too deep") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} (byte {error.pos})") from None
    except ValueError:
        raise NotJson("unreadable JSON: an integer has thousands of digits") from None
    return Read(value, len(seen))


def require_writable(value: Any) -> None:
    """Make sure that a value can be written as JSON: half of a surrogate pair cannot, though JSON can hold it.

    Raises:
        NotJson: it cannot.
    """
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise NotJson("JSON that cannot be written back: a text holds half of a surrogate pair") from None
    except RecursionError:
        raise NotJson("unreadable JSON: nested too deep") from None
