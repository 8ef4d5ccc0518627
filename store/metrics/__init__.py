"""The metric registry: labels, units and definitions for pages, reports and docs; and intervals as text."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Literal

import msgspec


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of the views and how to read it.

    A stored value times `scale` is in `display_unit`. `threshold` is the relative change from which tables use colours.
    """

    name: str
    label: str
    definition: str
    unit: str = ""
    direction: Literal["higher", "lower", "none"] = "none"
    aggregation: str = "none"
    failure: str = "no value"
    display_unit: str = ""
    scale: float = 1.0
    threshold: float | None = None

    def shown(self, value: float) -> float:
        """Return a stored value in the display unit."""
        return value * self.scale

    @property
    def header(self) -> str:
        """Return label and unit for a table header."""
        unit = self.display_unit or self.unit
        return f"{self.label} ({unit})" if unit else self.label

    @property
    def sentence(self) -> str:
        """Return label and definition as one sentence, for notes."""
        return f"{self.label}: {self.definition[0].lower()}{self.definition[1:]}"


_TIME = {"unit": "s", "direction": "lower", "threshold": 0.05}
KINDS: dict[str, dict[str, Any]] = {
    "number": {},
    "s": _TIME,
    "ms": {**_TIME, "display_unit": "ms", "scale": 1e3},
    "x": {"unit": "x", "direction": "higher"},
    "%": {"display_unit": "%", "scale": 100.0},
    "MiB": {"unit": "bytes", "direction": "lower", "display_unit": "MiB", "scale": 2.0**-20, "threshold": 0.2},
    "GB": {"unit": "GB", "direction": "lower", "threshold": 0.2},
    "giga": {"direction": "higher", "scale": 1e-9},
    "fewer": {"direction": "lower"},
    "more": {"direction": "higher"},
}
"""Kinds of metrics: a plain number; a time, shown in s or ms; a ratio of which more is better; a share; bytes, shown in
MiB; a size in GB, as other tools report it; a rate, shown in thousand millions; and counts of which less or more is
better."""


def _read() -> dict[str, Metric]:
    rows = msgspec.yaml.decode((files("store.metrics") / "metrics.yaml").read_bytes(), type=dict[str, list[Any]])
    return {name: _metric(name, *row) for name, row in rows.items()}


def _metric(name: str, kind: str, label: str, definition: str, rules: dict[str, Any] | None = None) -> Metric:
    known = {"name": name, "label": label, "definition": definition}
    return msgspec.convert(known | KINDS[kind] | (rules or {}), Metric)


METRICS = _read()
"""Every number of the views, by column name."""


def metric(name: str) -> Metric:
    """Return the metric of a column.

    Raises:
        KeyError: no view has a number of this name.
    """
    return METRICS[name]


TO = "\N{EN DASH}"
"""Text between the ends of an interval."""
_SMALL, _ONE_DECIMAL_FROM, _NO_DECIMAL_FROM = 0.1, 10, 100
_MOST_DIGITS = 6
"""Largest number of digits beyond the usual ones; ends that still agree have the usual ones."""


def significant(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, but no large number as a power of ten: 1,235, not 1.23e+03."""
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"


def interval_text(low: float, high: float, to: str = TO) -> str:
    """Return the ends of an interval with enough digits to differ, at least three significant ones.

    Args:
        low: lower end; its size decides the number of digits of both ends.
        high: upper end.
        to: text between them.
    """
    candidates = ([_digits(end, low, extra) for end in (low, high)] for extra in range(_MOST_DIGITS))
    usual = next(candidates)
    return to.join(usual if usual[0] != usual[1] else next((ends for ends in candidates if ends[0] != ends[1]), usual))


def _digits(value: float, low: float, extra: int) -> str:
    if low < _SMALL:
        return f"{value:.{3 + extra}g}"
    decimals = 2 if low < _ONE_DECIMAL_FROM else 1 if low < _NO_DECIMAL_FROM else 0
    return f"{value:.{decimals + extra}f}"
