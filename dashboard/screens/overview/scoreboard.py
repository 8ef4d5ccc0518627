"""The tables of Overview: how fast, at which cost, and what moved; a row per test, accelerator, suite and backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import answers, data, tables, widths
from dashboard.rows import each, with_series
from dashboard.screens.overview import cells as cells_of
from dashboard.screens.overview import moves
from dashboard.screens.overview.cells import KEYS
from dashboard.tables import Column, measured
from dashboard.words import escape, shortened, when
from store.metrics import metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from dashboard.view import View


@dataclass(frozen=True)
class Board:
    """What the tables hold: one row per series without its model."""

    means: pd.DataFrame
    """Rows of `geomeans`."""
    cells: pd.DataFrame
    """Those with counts, change and trend beside them."""
    base: dict[str, Any] | None
    """The run that changes are since."""

    @property
    def has_results(self) -> bool:
        """Whether any experiment ran."""
        return bool(self.means["ran_n"].sum())

    @property
    def base_name(self) -> str:
        """The base's label and time, escaped for markdown."""
        if self.base is None:
            return ""
        name = shortened(self.base["run_label"] or self.base["run_id"][:8])
        return f"{escape(name)} of {when(self.base['run_started'])}"


def read(view: View, counts: pd.DataFrame) -> Board:
    """Read the means and how they moved, and bring what is known of a series into one row.

    Args:
        view: what is shown.
        counts: rows of `counts`.
    """
    base = data.base_run(view.snapshot, view.selection)
    last = data.rows(view.snapshot, "last_geomeans", view.selection, **cells_of.last_runs(view))
    means = last[last["run_id"] == view.selection.run_id].reset_index(drop=True)
    cells = with_series(means.merge(counts, on=KEYS, how="left"))
    cells = cells_of.with_trends(cells_of.with_changes(cells, view, base), view, last)
    return Board(means=means, cells=cells_of.with_words(cells, view, base), base=base)


def show(view: View, board: Board) -> None:
    """Draw the tables, each as wide as the window: how fast, at which cost, and what moved."""
    with st.expander("Every number of the table above", key="numbers", on_change="rerun") as part:
        if part.open:
            _table(view, board.cells, _speed_columns(view, board), "overview", behind(view, board))
    if board.cells["first_iteration_n"].sum():
        _costs(view, board.cells)
    if board.base is not None:
        moves.show(view, moves.since(board.cells, view, board.base), board.base, board.base_name)


def _costs(view: View, cells: pd.DataFrame) -> None:
    memory = data.rows(view.snapshot, "memory_ratios", view.selection)
    columns = _cost_columns()
    cells = cells.merge(memory, on=KEYS, how="left") if len(memory) else cells.assign(memory_ratio=None)
    if cells["memory_ratio"].isna().all():
        columns = {name: column for name, column in columns.items() if not name.startswith("memory")}
    st.subheader("What it costs", anchor=False)
    st.caption(
        "Compile time, memory, fallback ops. The first iteration is counted beyond a steady one, so where nothing is "
        "compiled it lies around 0, and noise may put it below."
    )
    behind = {what: data.statement(query, view.selection) for what, query in _COSTS.items()}
    _table(view, cells, columns, "costs", behind)


_COSTS = {"Counts and medians": "counts", "Memory": "memory_ratios"}
"""What the costs of a row are → the query."""


def behind(view: View, board: Board) -> dict[str, str]:
    """Return the statements behind the table of speedups, by what they give."""
    made = {"Geometric means": data.statement("geomeans", view.selection)}
    made["How many ran, and why others did not"] = data.statement("counts", view.selection)
    if board.base is not None:
        before = {"before": board.base["run_id"]}
        made["Since the run before"] = data.statement("geomean_changes", view.selection, **before)
        made["Last runs"] = data.statement("last_geomeans", view.selection, **cells_of.last_runs(view))
    return made


def _table(view: View, cells: pd.DataFrame, columns: dict[str, Column], what: str, sql: Mapping[str, str]) -> None:
    tables.show(
        cells,
        tables.without_constant(columns, cells, moves.PLACE),
        key=what,
        alt=f"Results by test, suite and backend ({what})",
        file_name=view.file_name(what),
        sql=sql,
        whole=True,
        room=widths.PAGE_PX,
    )


def moved_sentence(board: Board, baseline: str) -> str | None:
    """Say whose time moved since the base run, or that none did; None without one."""
    if board.base is None:
        return None
    judged = [(row, row.moved) for row in each(board.cells) if row.moved is not None]
    return f"Since {board.base_name}: {answers.what_moved(judged, baseline)}"


def slower_n(board: Board) -> int:
    """Return the number of series whose own time became longer since the base run."""
    return sum(row.moved is not None and row.moved.backend.word == "slower" for row in each(board.cells))


def _speed_columns(view: View, board: Board) -> dict[str, Column]:
    moved = board.cells["ran"].str.contains("→").any()
    columns = moves.place_columns() | {
        "ran": Column(
            "Ran",
            "verdict",
            width=125 if moved else 70,
            help="Experiments with steady samples, of those planned; where it moved, before → now.",
        ),
        "verified": Column(
            "Verified", width=75, help="Results whose outputs agreed with the reference, of those that ran."
        ),
        "geomean": measured("geomean", "Speedup", f"Baseline: {view.baseline_text}; above 1 is faster.", 75),
        "interval": Column(
            "95 %", width=90, help="Interval of the geometric mean: Student's t on the logs of the speedups."
        ),
        "n": Column("n", "number", width=40, help=metric("n").definition),
    }
    if board.base:
        columns |= {
            "change": Column(
                "Since the run before",
                "verdict",
                width=175,
                help=f"Since {board.base_name}: what became of the backend's own time, then its geomean before → now, "
                f"over the models of both. {_VERDICT_HELP}",
            ),
            "trend": Column("Last runs", "line", width=80, help="Geomean speedup of up to 13 runs of these series."),
        }
    note = Column(
        "No number", width=90 if moved else 200, help="How many experiments of the row gave no number, and why."
    )
    return columns | {"note": note}


def _cost_columns() -> dict[str, Column]:
    over = "Median over models."
    return moves.place_columns() | {
        "first_iteration_s": measured("first_iteration_s", "First iteration", over, 120),
        "first_iteration_n": Column("n", "number", width=40, help="Models behind the median of the first iteration."),
        "compiler_time_s": measured("compiler_time_s", "Compiler says", over, 120),
        "compiler_time_n": Column("n", "number", width=40, help="Models whose compiler reports its time."),
        "memory_ratio": measured("memory_ratio", "Memory", "Geometric mean over models.", 85),
        "memory_n": Column("n", "number", width=40, help="Models behind the memory ratio."),
        "fallback": Column(
            "Fallback",
            width=85,
            help="Models that called an op that XLA did not lower, of those counted; a dash for backends without XLA.",
        ),
    }


_VERDICT_HELP = (
    "Where the baseline's time moved, that is said beside it. Faster and slower: the interval over models is clear of "
    "1 and the change above the noise floor; suspected, as two runs take no turns. Unchanged: the whole interval lies "
    "within the floor. Else ambiguous."
)
