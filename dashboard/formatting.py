"""Numbers and names as text: units, the dash for missing values, and escaping of texts from people and models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from dashboard import settings
from store.errors import counted
from store.metrics.text import interval_text, significant
from store.places import with_places

DASH = "—"
TIMES = "\N{MULTIPLICATION SIGN}"
count = counted
"""`1 model`, `6 models`, as in the messages of the command."""

CLASSES: dict[str, tuple[str, str]] = {
    "no_lowering": (
        "No lowering",
        "XLA has no lowering for the op: each call leaves the device and runs on the CPU. Lowering it is the remedy.",
    ),
    "opt_in_lowering": (
        "Opt-in lowering",
        "The lowering of the op is off by default (for example of nonzero, whose result has a dynamic shape).",
    ),
    "host_read": (
        "Host read",
        "The program reads a value on the host (as `.item()` does). No lowering can help: change that code.",
    ),
}
"""Class of a fallback op → its name and meaning."""

GAINS = {1: "proven", 0: "no significant difference", -1: "slower when replaced"}
"""Sign of the gain of replacing a fallback op → its words."""

STATUS_WORDS: dict[str, str] = {
    "ok": "ok",
    "verify_only": "verified only",
    "never_steady": "never steady",
    "disturbed": "disturbed",
    "invalid": "invalid",
    "skipped": "skipped",
    "load_error": "load error",
    "compile_error": "compile error",
    "run_error": "run error",
    "oom": "out of memory",
    "timeout": "timeout",
    "crashed": "crashed",
    "not_run": "not run",
}

WRONG = "wrong answer"
"""Words for a result whose answer differs from eager's."""

_QUOTED = re.compile(r"""(`[\w ./='",:+@%~()-]+`)""")
"""Code without characters that have another meaning in markdown."""
_END_OF_LINE = re.compile(r"[\r\n]")
"""Line ends of markdown; after one, a row of `=` would make a heading of the text above."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")


def escape(text: object) -> str:
    """Escape a text for markdown, so that it becomes no emphasis, link, formula, icon or HTML."""
    return _MARKDOWN.sub(r"\\\1", _END_OF_LINE.sub(" ", str(text)))


def placed(text: str) -> str:
    """Return a text whose commands, which stand in backticks, name the home and the store of these pages."""
    return with_places(text, settings.home(), settings.store_dir())


def error_text(message: object) -> str:
    """Return a message of xlabench as markdown: quoted code stays code and names the home, the rest is escaped."""
    parts = _QUOTED.split(placed(str(message)))
    return "".join(part if _QUOTED.fullmatch(part) else escape(part) for part in parts)


def shortened(name: object, most: int = 40) -> str:
    """Return a name cut to at most `most` characters, for places where it is also shown in full."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


_PARTS = re.compile(r",\s*(?![^\[]*\])")
"""Commas between the arguments of a call, not those within a shape."""


def shortened_call(name: object, most: int = 40) -> str:
    """Return the name of an operator's case without its last arguments, if it is longer than so many characters.

    An argument is never cut: `torch.add(float[256,256], …)`.
    """
    text = str(name)
    if len(text) <= most or not text.endswith(")"):
        return shortened(text, most)
    ends = [match.start() for match in _PARTS.finditer(text) if match.start() <= most - len(", …)")]
    return f"{text[: ends[-1]]}, …)" if ends else f"{text.partition('(')[0]}(…)"


def missing(value: Any) -> bool:
    """Tell whether a cell holds no value."""
    return value is None or value is pd.NA or bool(value != value)  # noqa: PLR0124 - NaN and NaT


def ratio(value: float | None) -> str:
    """Return a speedup with two decimals, or three significant digits below 0.1, and the multiplication sign."""
    if missing(value) or value is None:
        return DASH
    return f"{value:.2f}{TIMES}" if value >= 0.1 else f"{value:.3g}{TIMES}"  # noqa: PLR2004 - below it two decimals say too little


def interval(low: float | None, high: float | None) -> str:
    """Return the ends of a 95 % interval as text; a dash if it is missing."""
    if missing(low) or missing(high) or low is None or high is None:
        return DASH
    return interval_text(low, high)


_ROUNDED_UP = 999.5
"""Number that three digits show as 1000, which is 1 of the next unit."""


def seconds(value: float | None) -> str:
    """Return a duration in the unit that gives one to three digits before the point."""
    if missing(value) or value is None:
        return DASH
    if value == 0:
        return "0 s"
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if abs(value) < _ROUNDED_UP * size:
            return f"{_three_digits(value / size)} {unit}"
    return f"{_three_digits(value)} s"


def _three_digits(value: float) -> str:
    """Return three significant digits, also where the last ones are 0: 2.00 beside 2.05, not 2."""
    return f"{value:#.3g}".rstrip(".") if abs(value) < _ROUNDED_UP else significant(value)


def size(number: int) -> str:
    """Return a number of bytes in the binary unit that gives one to four digits before the point."""
    value = float(number)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:  # noqa: PLR2004 - units change at powers of it
            return f"{value:.3g} {unit}" if unit != "bytes" else f"{number} bytes"
        value /= 1024
    return f"{value:.3g} GiB"


def share(part: int, whole: int) -> str:
    """Return `k/n`; a dash if nothing was planned."""
    return f"{part:,}/{whole:,}" if whole else DASH


def when(moment: datetime | None) -> str:
    """Return a UTC time to the minute, labelled UTC."""
    return DASH if missing(moment) or moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago a UTC time was, as `5 min ago`."""
    if missing(moment) or moment is None:
        return DASH
    current = now or datetime.now(UTC).replace(tzinfo=None)
    passed = max(0.0, (current - moment).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed >= size:
            return f"{int(passed // size)} {unit} ago"
    return "just now"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names with commas; after `most` names, the number of the others."""
    text = ", ".join(names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text
