"""What the backends of page Overview cost, and which of these numbers moved since the run before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import KEYS, iter_rows, key_of, start_text
from dashboard.formatting import DASH, escape, listed, ratio, seconds
from dashboard.screens.overview.numbers import PLACE, Board, known_share, moved_share, place_columns, table
from dashboard.ui import answers, tables, verdicts
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View
from store.stats.geomean import judge_mean


def show(view: View, board: Board) -> None:
    """Draw the tables of costs and of their changes, each as wide as the window."""
    if board.cells["first_iteration_n"].sum():
        _show_costs(view, board.cells)
    if board.base is not None:
        _show_moves(view, board, board.base)


def _show_costs(view: View, cells: pd.DataFrame) -> None:
    memory = data.rows(view.snapshot, "memory_ratios", view.selection)
    columns = _cost_columns()
    cells = cells.merge(memory, on=KEYS, how="left") if len(memory) else cells.assign(memory_ratio=None)
    if cells["memory_ratio"].isna().all():
        columns = {name: column for name, column in columns.items() if not name.startswith("memory")}
    st.subheader("What it costs", anchor=False)
    st.caption(
        "Compile time, memory, fallback ops. The time of a steady iteration is subtracted from that of the first, so "
        "without a compilation the difference is about 0, and noise can make it negative."
    )
    if any(starts := [start_text(row) for row in iter_rows(cells)]):
        cells = cells.assign(start=pd.Series(starts, index=cells.index, dtype=object))
    else:
        del columns["start"]
    queries = {"Counts and medians": "counts", "Memory": "memory_ratios"}
    table(view, cells, columns, "costs", {what: data.statement(sql, view.selection) for what, sql in queries.items()})


def _cost_columns() -> dict[str, TableColumn]:
    over = "Median over models."
    return place_columns() | {
        "first_iteration_s": measured("first_iteration_s", "First iteration", over, 120),
        "first_iteration_n": TableColumn(
            "n", "number", width=40, help="Models behind the median of the first iteration."
        ),
        "compiler_time_s": measured("compiler_time_s", note=over, width=120),
        "compiler_time_n": TableColumn("n, compiler", "number", help="Models whose compiler reports its time."),
        "start": TableColumn(
            "Processes", help="How the processes behind both medians started: others are not comparable with them."
        ),
        "memory_ratio": measured("memory_ratio", note="Geometric mean over models."),
        "memory_n": TableColumn("n, memory", "number", help="Models behind the memory ratio."),
        "fallback": TableColumn(
            "Fallback",
            width=85,
            help="Models that called an op that XLA did not lower, of those counted; a dash for backends without XLA.",
        ),
    }


class Measure(NamedTuple):
    """A mean over models that two runs may differ in."""

    label: str
    better: str
    worse: str
    floor: float
    """Least relative change that counts. No A/A pairs exist for these numbers, so it is the threshold of the HUD."""
    shown: Callable[[float], str]


_MEASURES: dict[str, Measure] = {
    "first_iteration_s": Measure("First iteration", "faster", "slower", 0.15, seconds),
    "compiler_time_s": Measure("Compiler time", "faster", "slower", 0.15, seconds),
    "memory_ratio": Measure("Memory", "less memory", "more memory", 0.05, ratio),
}
_COUNTS = {
    "verified": ("Verified", "Results that agreed with the reference, of those whose verification began."),
    "fallback": ("Fallback", "Models that called an op that XLA did not lower, of those counted."),
}
"""Share of two counts → its label and its description."""
_LABELS = {name: label for name, (label, _) in _COUNTS.items()} | {name: of.label for name, of in _MEASURES.items()}
_NAMED = 2


def _show_moves(view: View, board: Board, base: dict[str, Any]) -> None:
    """Draw an expander with the table of changed numbers; its title has how many changed."""
    moved = _with_moves(board, view, base)
    names = [name for name in _LABELS if (moved[f"{name}_move"] != DASH).any()]
    if not names:
        return
    with st.expander(_title(moved, names, board.base_name), key="moved", on_change="rerun") as part:
        if part.open:
            _moves_table(view, moved, names, base)


def _title(moved: pd.DataFrame, names: list[str], base_name: str) -> str:
    """Return how many of the numbers moved, and which got worse."""
    texts = [(row, name, getattr(row, f"{name}_move")) for row in iter_rows(moved) for name in names]
    known = [(row, name, text) for row, name, text in texts if not text.startswith(DASH)]
    parted_n = sum(text.endswith(answers.PARTED) for _, _, text in texts)
    better, worse = (
        [_named(row, name) for row, name, text in known if text.startswith(verdicts.appearance_of(word).sign)]
        for word in ("faster", "slower")
    )
    parts = [verdicts.coloured("faster", f"{len(better)} better")] if better else []
    if worse:
        parts.append(f"{verdicts.coloured('slower', f'{len(worse)} worse')} ({listed(worse, _NAMED)})")
    if known:
        parts.append(f"{len(known) - len(better) - len(worse)} unchanged or ambiguous")
    if parted_n:
        parts.append(f"{parted_n} not comparable")
    return f"Costs since {base_name}: {', '.join(parts)}"


def _named(row: Any, name: str) -> str:
    return escape(f"{_LABELS[name]} of {row.series} in {row.test} {row.accelerator} {row.suite}")


def _moves_table(view: View, moved: pd.DataFrame, names: list[str], base: dict[str, Any]) -> None:
    st.caption("Each cell contains the number of the previous run → that of the shown run.")
    tables.show(
        moved,
        tables.without_constant(_moves_columns(names), moved, PLACE),
        data.TableSource(
            view.file_name("moves"),
            {
                "Counts of the shown run": data.statement("counts", view.selection),
                "Counts of the previous run": data.statement("counts", replace(view.selection, run_id=base["run_id"])),
                "Times and memory": data.statement("cost_changes", view.selection, before=base["run_id"]),
            },
        ),
        key="moves",
        alt="What moved since the previous run",
        whole=True,
    )


_FILED: dict[str, tuple[str, tables.Kind, str]] = {
    "better": ("change", "ratio", "Above 1 is better."),
    "better_low": ("low", "ratio", "Above 1 is better."),
    "better_high": ("high", "ratio", "Above 1 is better."),
    "n": ("n", "number", "Models that have it in both runs."),
    "otherwise_n": (
        "left out",
        "number",
        "Models that have it in both runs, and were measured differently, or between whose runs a mark lies.",
    ),
}
"""Column of `cost_changes` that only files contain → its label, kind and description."""


def _with_moves(board: Board, view: View, base: dict[str, Any]) -> pd.DataFrame:
    """Add a text for each number's change, and for means the change's interval and number of models."""
    rows = [(row, key_of(row)) for row in iter_rows(board.cells)]
    changes = data.rows(view.snapshot, "cost_changes", view.selection, before=base["run_id"])
    by_measure = {(key_of(row), row.measure): row for row in iter_rows(changes)}
    columns: dict[str, list[Any]] = {
        f"{name}_move": [_moved_count(row, board.before.get(key), name) for row, key in rows] for name in _COUNTS
    }
    for name, measure in _MEASURES.items():
        matched = [by_measure.get((key, name)) for _, key in rows]
        columns[f"{name}_move"] = [_moved_mean(row, measure) for row in matched]
        for number in _FILED:
            values = [None if row is None else getattr(row, number) for row in matched]
            columns[f"{name}_{number}"] = pd.to_numeric(pd.Series(values, dtype=object)).tolist()
    return board.cells.assign(**columns)


def _moved_mean(row: Any | None, measure: Measure) -> str:
    """Return sign, word, both means and the number of models; a dash, with why, where no model can be compared."""
    if row is None:
        return DASH
    if not row.n:
        return f"{DASH} {answers.PARTED}"
    low, high = answers.known_ends(row.better_low, row.better_high)
    word = judge_mean(float(row.better), low, high, int(row.n), measure.floor).word
    appearance = verdicts.appearance_of(word)
    words = {"faster": measure.better, "slower": measure.worse}.get(word, appearance.word)
    return f"{appearance.sign} {words}, {measure.shown(row.before)} → {measure.shown(row.after)}, n = {row.n}"


def _moved_count(now: Any, then: Any | None, name: str) -> str:
    """Return sign, word and both shares; a dash where one of them is not known."""
    after, before = (None if row is None else known_share(row, name) for row in (now, then))
    if not after or not before:
        return DASH
    return moved_share(before, after, less_is_better=name == "fallback")


def _moves_columns(names: list[str]) -> dict[str, TableColumn]:
    columns = place_columns()
    for name in names:
        if name in _COUNTS:
            label, help_text = _COUNTS[name]
            columns[f"{name}_move"] = TableColumn(label, "verdict", help=help_text)
            continue
        measure = _MEASURES[name]
        help_text = (
            "Geometric means over the models that have it in both runs. "
            f"{measure.better.capitalize()} and {measure.worse}: the interval over models is clear of 1 and the "
            f"change above {measure.floor:.0%}. They are suspected, because two runs do not take turns."
        )
        columns[f"{name}_move"] = TableColumn(measure.label, "verdict", help=help_text)
        for number, (label, kind, text) in _FILED.items():
            columns[f"{name}_{number}"] = TableColumn(f"{measure.label}, {label}", kind, help=text, filed=True)
    return columns
