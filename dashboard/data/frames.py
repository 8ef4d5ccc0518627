"""Iterate over frames of queries; rows have the type Any, as only the SQL defines their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeVar

import pandas as pd

from dashboard.formatting import missing

K = TypeVar("K", bound=tuple[str, ...])
V = TypeVar("V", bound="Sized")

SYNTHETIC = ("dummy",)
"""Suites of synthetic models, which come after all others."""
_FIRST = ("openxla+dynamo", "openxla+lazytensor")


def unit(suites: Iterable[object]) -> str:
    """Return what results of these suites are about: `operator` where all are of single operators, else `model`."""
    return "operator" if set(suites) == {"operators"} else "model"


def backend_rank(backend: str) -> int:
    """Return the place of a backend among others: those of XLA come first, the reference last."""
    return _FIRST.index(backend) if backend in _FIRST else len(_FIRST) + (backend == "eager")


def order_of_backends(variants: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return variants and their backends, XLA first, the reference last."""
    return sorted(variants, key=lambda pair: (backend_rank(pair[1]), pair))


def iter_rows(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows with columns as attributes; the frame must not be written to before its rows were read.

    A column is converted when the first row is asked for it: results have a hundred columns, and a caller reads ten.
    """
    columns = _ColumnLists(frame)
    yield from map(_row_kind(tuple(map(str, frame.columns))), repeat(columns), range(len(frame)))


class _ColumnLists(dict[str, list[Any]]):
    """Columns of a frame by name as lists, each made when it is read."""

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__()
        self._frame = frame

    def __missing__(self, name: str) -> list[Any]:
        self[name] = values = self._frame[name].tolist()
        return values


class _FrameRow:
    """A row of a frame; its kinds have a property for each column."""

    __slots__ = ("_columns", "_place")

    def __init__(self, columns: _ColumnLists, place: int) -> None:
        self._columns, self._place = columns, place


@lru_cache(maxsize=256)
def _row_kind(names: tuple[str, ...]) -> type[_FrameRow]:
    """Return the class of rows with these columns; it is cached, because it costs as much as a hundred rows."""
    return type("FrameRow", (_FrameRow,), {"__slots__": ()} | {name: property(_getter(name)) for name in names})


def _getter(name: str) -> Callable[[_FrameRow], Any]:
    return lambda row: row._columns[name][row._place]  # noqa: SLF001 - a method of the row


def with_suites(rows: pd.DataFrame) -> pd.DataFrame:
    """Put the suite before the names of models that several suites have, as reports do: they are different models."""
    pairs = list(zip(rows["model"].tolist(), rows["suite"].tolist(), strict=True))
    names = Counter(model for model, _ in set(pairs))
    if all(number == 1 for number in names.values()):
        return rows
    return rows.assign(model=[f"{suite}/{model}" if names[model] > 1 else model for model, suite in pairs])


def sections(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yield the parts of a frame that agree in the key columns, sorted by them."""
    for values, part in frame.groupby(list(keys), sort=True):
        yield tuple(str(value) for value in values), part


def most_first(parts: Mapping[K, V]) -> dict[K, V]:
    """Return parts, whose names end with the suite, sorted by their number of rows, the largest first."""
    return dict(sorted(parts.items(), key=lambda part: (part[0][-1] in SYNTHETIC, -len(part[1]), part[0])))


SERIES = (
    "environment",
    "dtype",
    "requested_batch_size",
    "machine_id",
    "optimizer",
    "loss",
    "matmul_precision",
    "workload",
)
"""Columns that distinguish series of one variant; names of series contain them if they differ."""


KEYS = [
    *("suite", "test", "accelerator", "accelerator_model", "machine_id", "environment", "dtype"),
    *("requested_batch_size", "optimizer", "loss", "matmul_precision", "workload", "backend", "variant"),
]
"""Key of a mean: the columns of a series without its model."""


def key_of(row: Any, names: Iterable[str] = KEYS) -> tuple[Any, ...]:
    """Return the key of a mean, or what a row has in other columns; a missing value is None."""
    return tuple(None if missing(value) else value for value in (getattr(row, name) for name in names))


def rows_by(frame: pd.DataFrame, names: Sequence[str]) -> dict[tuple[Any, ...], list[Any]]:
    """Return the rows of a frame by their key in these columns, as `key_of` returns it.

    A key is made once for each group: a run has thousands of results, and dozens of means.
    """
    rows = list(iter_rows(frame))
    groups = frame.groupby(list(names), dropna=False, sort=False).indices.values()
    return {key_of(rows[places[0]], names): [rows[place] for place in places] for places in groups}


def with_series(frame: pd.DataFrame) -> pd.DataFrame:
    """Add column `series`: the variant, and each setting in which results of the frame differ.

    Series that differ in any setting have different names, so that no chart or table merges them.
    """
    names = frame["variant"].astype(str)
    for column in SERIES:
        if column in frame.columns and varies(frame[column]):
            names = names + " · " + frame[column].map(lambda value, name=column: _setting(name, value))
    return frame.assign(series=names)


_WAYS = {
    "batch_size": "batch size",
    "threads": "threads",
    "iterations_per_run": "iterations per block",
    "start": "start method",
    "policy": "thread policy",
}
"""Setting that may differ from run to run → its name in sentences."""


def with_settings_key(history: pd.DataFrame) -> pd.DataFrame:
    """Add column `way` to rows of view history: lines join runs of a series only where it is equal, so within an epoch.

    How threads waited (`policy`) is unknown of older records: it is that of the run before, else the first known one,
    but none that names variables: where any was set, it is known.
    """
    rows = history.sort_values(["run_started", "run_id"], kind="stable")
    policies = rows["policy"].astype(object)
    usual = policies.where(~policies.str.contains("=", na=True)).groupby(rows["series_id"])
    policies = policies.fillna(usual.transform(lambda known: known.ffill().bfill())).fillna("")
    return history.assign(way=(rows["measured"] + policies + rows["epoch"].astype(str)).reindex(history.index))


def differing_settings(history: pd.DataFrame) -> str:
    """Return what ends lines: settings in which runs of one series were measured differently, and marks; or nothing."""
    differ = [
        word
        for column, word in _WAYS.items()
        if any(len(values.dropna().unique()) > 1 for _, values in history.groupby("series_id")[column])
    ]
    settings = ", ".join(differ)
    sentences = [f"Lines join only runs that were measured alike; these differ in {settings}."] if differ else []
    if any(epochs.min() < epochs.max() for _, epochs in history.groupby("series_id")["epoch"]):
        sentences.append("No line crosses a mark, before and after which latencies are not compared.")
    return " ".join(sentences)


_STARTS = {"fork": ("by a fork", "in a new interpreter"), "interpreter": ("in a new interpreter", "by a fork")}


def start_text(row: Any) -> str | None:
    """Return how the processes behind medians of compile times started; None unless others are left out."""
    number = row.other_start_n
    if missing(number) or not number:
        return None
    usual, other = _STARTS[row.usual_start]
    return f"started {usual}; {int(number)} {other} left out"


def with_place(rows: pd.DataFrame) -> pd.DataFrame:
    """Add column `place`: the series of `with_series`, and the accelerator where results of the frame differ in it."""
    if not varies(rows["accelerator"]):
        return rows.assign(place=rows["series"])
    return rows.assign(place=rows["series"] + " on " + rows["accelerator"])


def varies(values: pd.Series) -> bool:
    """Tell whether a column has several values; missing ones are one value. `unique` takes ten times as long."""
    several = set(values.tolist())
    return len(several) > 1 and len({None if missing(value) else value for value in several}) > 1


def with_unique_series(frame: pd.DataFrame) -> pd.DataFrame:
    """Add column `series` with names that are unique: also with the accelerator and, if need be, a number."""
    results = with_series(frame)
    if varies(results["accelerator"]):
        results["series"] = results["series"] + " · " + results["accelerator"]
    repeat = results.groupby("series").cumcount()
    return results.assign(
        series=results["series"].where(repeat == 0, results["series"] + " · " + (repeat + 1).astype(str))
    )


def _setting(column: str, value: Any) -> str:
    if pd.isna(value):
        return f"default {column.replace('_', ' ')}" if column == "requested_batch_size" else f"no {column}"
    if column == "requested_batch_size":
        return f"batch size {int(value)}"
    return str(value)[:8] if column == "machine_id" else str(value)
