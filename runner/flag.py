"""A field of a request that is a flag of the command, and the numbers that are typed for one.

A reader raises a sentence that names what is accepted.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, TypeVar

from msgspec import Meta

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, eq=False)
class Word:
    """How a value is read from one word of a command line, and written as one."""

    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    metavar: str | None = None


@dataclass(frozen=True, eq=False)
class Flag:
    """How a field is given on a command line; its name and default are those of the field, the rest its type's."""

    help: str
    names: tuple[str, ...] = ()
    """Other names of the flag."""
    metavar: str | None = None
    word: Word | None = None
    """Replaces the `Word` of the type."""
    choices: Callable[[], tuple[Any, ...]] | tuple[Any, ...] | None = None
    """Replaces the choices of the type."""
    const: Any = None
    """Value of the flag if no word follows it; with None, a word must follow."""
    off: tuple[str, str] | None = None
    """The flag that sets the field to False, and its help."""
    texts: Mapping[Any, str] | None = None
    """Makes one flag of each value of the field, with this help."""
    once: bool = False
    """Two different values are refused: otherwise the last one would win silently."""
    group: str | None = None
    """Group of the flag in the help, if it differs from that of its struct."""


T = TypeVar("T", int, float)


def _read(text: str, convert: Callable[[str], T], fits: Callable[[T], bool], what: str) -> T:
    """Return the number that a text stands for; `what` says what is accepted."""
    try:
        value = convert(text)
    except (ValueError, InvalidOperation):
        pass
    else:
        if fits(value):
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not {what}")


def whole(text: str) -> int:
    """Read a whole number."""
    return _read(text, int, lambda _: True, "a whole number")


def positive(text: str) -> int:
    """Read a whole number from 1."""
    return _read(text, int, lambda value: value >= 1, "a whole number of at least 1")


def not_negative(text: str) -> int:
    """Read a whole number from 0."""
    return _read(text, int, lambda value: value >= 0, "a whole number of at least 0")


def above_zero(text: str) -> float:
    """Read a number above 0."""
    return _read(text, float, lambda value: 0 < value < float("inf"), "a number above 0")


def _up_to(most: T, read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a reader that refuses more than the type of the field allows, which each process would refuse later."""

    def bounded(text: str) -> T:
        value = read(text)
        if value > most:
            raise argparse.ArgumentTypeError(f"{text!r} is more than {most}")
        return value

    return bounded


def percent(text: str) -> float:
    """Read percent, as `2`, `2%` or `0.5%`; return the share."""

    def share(typed: str) -> float:
        # Decimal, so that `percent_text` gives back what was typed.
        return float(Decimal(typed.strip().removesuffix("%").strip()) / 100)

    return _read(text, share, lambda value: 0 < value < 1, "a percentage above 0 and below 100, such as 1 or 0.5%")


def percent_text(share: float) -> str:
    """Return a share as `percent` reads it."""
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"


def size(text: str) -> int:
    """Read a number of bytes: `800M`, `2G`, `1.5GiB`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    value = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 800M or 2G")
    return value


def _number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


MOST, MOST_SEED, MOST_SECONDS, MOST_BYTES = 1_000_000, 2**63 - 1, 30 * 86_400, 1 << 50
Count = Annotated[int, Meta(ge=1, le=MOST), Word(_up_to(MOST, positive), metavar="N")]
Number = Annotated[int, Meta(ge=0, le=MOST), Word(_up_to(MOST, not_negative), metavar="N")]
Seed = Annotated[int, Meta(ge=0, le=MOST_SEED), Word(_up_to(MOST_SEED, not_negative), metavar="N")]
Seconds = Annotated[float, Meta(gt=0, le=MOST_SECONDS), Word(_up_to(MOST_SECONDS, above_zero), _number_text, "S")]
Share = Annotated[float, Meta(gt=0, lt=1), Word(percent, percent_text, "TARGET%")]
"""The share is typed in percent."""
Tolerance = Annotated[float, Meta(gt=0), Word(above_zero, _number_text, "X")]
Bytes = Annotated[int, Meta(ge=1, le=MOST_BYTES), Word(_up_to(MOST_BYTES, size), metavar="SIZE")]
