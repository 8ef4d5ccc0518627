"""How each cost of a row moved since the run before: how many did, and before → now with sign and word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data, tables, verdicts
from dashboard.rows import each
from dashboard.screens.overview.cells import key_of, moved_share
from dashboard.tables import Column
from dashboard.words import DASH, escape, listed, missing, ratio, seconds
from store.stats.mean_change import judge_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.view import View


class Measure(NamedTuple):
    """A mean over models that two runs may differ in."""

    label: str
    better: str
    worse: str
    floor: float
    """Change below which two runs are not told apart: no machine is measured against itself for these, so it is the
    HUD's."""
    shown: Callable[[float], str]


MEASURES: dict[str, Measure] = {
    "first_iteration_s": Measure("First iteration", "faster", "slower", 0.15, seconds),
    "compiler_time_s": Measure("Compiler says", "faster", "slower", 0.15, seconds),
    "memory_ratio": Measure("Memory", "less memory", "more memory", 0.05, ratio),
}
_COUNTS = {"verified": "Verified", "fallback": "Fallback"}
_LESS_IS_BETTER = ("fallback",)
_NAMED = 2


PLACE = ("test", "accelerator", "suite")
"""Columns that say which results a row is about, each left out where all rows agree in it."""


def place_columns() -> dict[str, Column]:
    """Return the columns that name a row of Overview's tables; they stay in sight."""
    return {
        "test": Column("Test", pinned=True, width=55),
        "accelerator": Column("Accelerator", pinned=True, width=95),
        "suite": Column("Suite", pinned=True, width=105),
        "series": Column("Backend", pinned=True, width=150, help="Backend plus every setting in which rows differ."),
    }


def show(view: View, moved: pd.DataFrame, base: dict[str, Any], base_name: str) -> None:
    """Say how many numbers moved; draw the table where it is opened.

    Args:
        view: what is shown.
        moved: cells of Overview, with what `since` adds.
        base: the run before.
        base_name: its label and time, escaped for markdown.
    """
    told = [name for name in (*_COUNTS, *MEASURES) if (moved[f"{name}_move"] != DASH).any()]
    if not told:
        return
    with st.expander(_title(moved, told, base_name), key="moved", on_change="rerun") as part:
        if part.open:
            _table(view, moved, told, base)


def _title(moved: pd.DataFrame, told: list[str], base_name: str) -> str:
    """Return how many of the numbers moved, and which got worse."""
    texts = [(row, name, getattr(row, f"{name}_move")) for row in each(moved) for name in told]
    known = [(row, name, text) for row, name, text in texts if text != DASH]
    better, worse = (
        [_named(row, name) for row, name, text in known if text.startswith(verdicts.look(word).sign)]
        for word in ("faster", "slower")
    )
    said = [verdicts.coloured("faster", f"{len(better)} better")] if better else []
    if worse:
        said.append(f"{verdicts.coloured('slower', f'{len(worse)} worse')} ({listed(worse, _NAMED)})")
    rest = f"{len(known) - len(better) - len(worse)} unchanged or ambiguous"
    return f"Costs since {base_name}: {', '.join([*said, rest])}"


def _named(row: Any, name: str) -> str:
    label = _COUNTS[name] if name in _COUNTS else MEASURES[name].label
    return escape(f"{label} of {row.series} in {row.test} {row.accelerator} {row.suite}")


def _table(view: View, moved: pd.DataFrame, told: list[str], base: dict[str, Any]) -> None:
    before = {"before": base["run_id"]}
    st.caption("Each number before → now")
    tables.show(
        moved,
        tables.without_constant(_columns(told), moved, PLACE),
        key="moves",
        alt="What moved since the run before",
        file_name=view.file_name("moves"),
        sql={
            "Counts of the shown run": data.statement("counts", view.selection),
            "Counts of the run before": data.statement("counts", replace(view.selection, run_id=base["run_id"])),
            "Times and memory": data.statement("cost_changes", view.selection, **before),
        },
        whole=True,
    )


def since(cells: pd.DataFrame, view: View, base: dict[str, Any]) -> pd.DataFrame:
    """Add a text per number, and the numbers behind those that are means."""
    known = {key_of(row): row for row in each(_counts(view, base))}
    means = data.rows(view.snapshot, "cost_changes", view.selection, before=base["run_id"])
    moved = {(key_of(row), row.measure): row for row in each(means)}
    rows = list(each(cells))
    made: dict[str, list[Any]] = {
        f"{name}_move": [_count(row, known.get(key_of(row)), name) for row in rows] for name in _COUNTS
    }
    for name, measure in MEASURES.items():
        found = [moved.get((key_of(row), name)) for row in rows]
        made[f"{name}_move"] = [_mean(row, measure) for row in found]
        for number in ("better", "better_low", "better_high", "n"):
            values = [None if row is None else getattr(row, number) for row in found]
            made[f"{name}_{number}"] = pd.to_numeric(pd.Series(values, dtype=object)).tolist()
    return cells.assign(**made)


def _counts(view: View, base: dict[str, Any]) -> pd.DataFrame:
    return data.rows(view.snapshot, "counts", replace(view.selection, run_id=base["run_id"]))


def _mean(row: Any | None, measure: Measure) -> str:
    """Return sign, word, both means and over how many models; a dash where no model has both."""
    if row is None:
        return DASH
    low, high = (None if missing(value) else float(value) for value in (row.better_low, row.better_high))
    word = judge_mean(float(row.better), low, high, int(row.n), measure.floor).word
    words = {"faster": measure.better, "slower": measure.worse}.get(word, verdicts.look(word).word)
    return f"{verdicts.look(word).sign} {words}, {measure.shown(row.before)} → {measure.shown(row.after)}, n = {row.n}"


def _count(now: Any, then: Any | None, name: str) -> str:
    """Return sign, word and both shares; a dash where one of them is not known."""
    after, before = (None if row is None else _share(row, name) for row in (now, then))
    if not after or not before:
        return DASH
    return moved_share(before, after, less_is_better=name in _LESS_IS_BETTER)


def _share(row: Any, name: str) -> tuple[int, int] | None:
    """Return how many of how many, None where that is not known."""
    if name == "fallback" and not row.backend.startswith("openxla"):
        return None
    of = {"verified": (row.right_n, row.checked_n), "fallback": (row.fallback_models_n, row.fallback_known_n)}
    part, whole = of[name]
    return None if missing(whole) or not whole else (int(part), int(whole))


def _columns(told: list[str]) -> dict[str, Column]:
    over = "Geometric means over the models that have it in both runs."
    columns = place_columns()
    helps = {
        "verified": "Results that agreed with the reference, of those that were compared.",
        "fallback": "Models that called an op that XLA did not lower, of those counted.",
    }
    for name in told:
        if name in _COUNTS:
            columns[f"{name}_move"] = Column(_COUNTS[name], "verdict", help=helps[name])
            continue
        measure = MEASURES[name]
        told_why = (
            f"{over} {measure.better.capitalize()} and {measure.worse}: the interval over models is clear of 1 and the "
            f"change above {measure.floor:.0%}; suspected, as two runs take no turns."
        )
        columns[f"{name}_move"] = Column(measure.label, "verdict", help=told_why)
        for number, label, kind in (
            ("better", "change", "ratio"),
            ("better_low", "low", "ratio"),
            ("better_high", "high", "ratio"),
            ("n", "n", "number"),
        ):
            text = "Above 1 is better." if kind == "ratio" else "Models that have it in both runs."
            columns[f"{name}_{number}"] = Column(f"{measure.label}, {label}", kind, help=text, filed=True)  # type: ignore[arg-type]
    return columns
