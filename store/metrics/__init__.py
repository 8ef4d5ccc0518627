"""The metric registry: labels, units and definitions for pages, reports and docs; `metrics.yaml` has the metrics.

It also says which entries of a record's `metrics` are columns, so that no SQL lists them.
"""

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
    recorded: Literal["last", "largest", "alone"] | None = None
    """How a list of `metrics` of a record becomes the column of its name in `records` and `result_rows`: its last
    number, or the largest. `alone`: it has a row in `record_metrics` and no column. None: it is no such list."""

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
"""Every number of the views, by column name, and numbers of records that no view has."""
SCALARS: dict[str, Literal["last", "largest"]] = {
    name: metric.recorded for name, metric in METRICS.items() if metric.recorded in ("last", "largest")
}
"""Entries of `metrics` of a record that are columns, one number each."""


def metric(name: str) -> Metric:
    """Return the metric of a column.

    Raises:
        KeyError: no view has a number of this name.
    """
    return METRICS[name]
