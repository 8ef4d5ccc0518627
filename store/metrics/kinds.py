"""The description of a metric, and functions for the usual kinds of metrics."""

from __future__ import annotations

from typing import Literal

import msgspec

Direction = Literal["higher", "lower", "none"]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of the views and how to read it.

    A stored value times `scale` is in `display_unit`. `threshold` is the relative change from which tables use colours.
    """

    name: str
    label: str
    unit: str
    definition: str
    direction: Direction = "none"
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


def milliseconds(name: str, label: str, definition: str, **rules: str | float) -> Metric:
    """Return the metric of a time that is shown in milliseconds."""
    return seconds(name, label, definition, display_unit="ms", scale=1e3, **rules)


def seconds(name: str, label: str, definition: str, **rules: str | float) -> Metric:
    """Return the metric of a time, of which less is better."""
    known: dict[str, object] = {"unit": "s", "direction": "lower", "threshold": 0.05, **rules}
    return msgspec.convert({"name": name, "label": label, "definition": definition, **known}, Metric)


def size(name: str, label: str, definition: str) -> Metric:
    """Return the metric of a number of bytes, shown in MiB."""
    return Metric(
        name=name,
        label=label,
        definition=definition,
        unit="bytes",
        display_unit="MiB",
        scale=2.0**-20,
        direction="lower",
        threshold=0.2,
    )


def ratio(name: str, label: str, definition: str, **rules: str | float) -> Metric:
    """Return the metric of a ratio, of which more is better."""
    known: dict[str, object] = {"unit": "x", "direction": "higher", **rules}
    return msgspec.convert({"name": name, "label": label, "definition": definition, **known}, Metric)


def gigabytes(name: str, label: str, definition: str) -> Metric:
    """Return the metric of a size in GB, as other tools report it."""
    return Metric(name=name, label=label, definition=definition, unit="GB", direction="lower", threshold=0.2)


def count(name: str, label: str, definition: str, direction: Direction = "none") -> Metric:
    """Return the metric of a count."""
    return Metric(name=name, label=label, definition=definition, unit="", direction=direction, aggregation="sum")


def share(name: str, label: str, definition: str, failure: str = "no value") -> Metric:
    """Return the metric of a share, shown in percent."""
    return Metric(
        name=name, label=label, unit="", display_unit="%", scale=100.0, definition=definition, failure=failure
    )
