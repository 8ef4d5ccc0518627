"""The numbers of page Overview: a row per test, accelerator, suite and backend, and how its mean has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import KEYS, iter_rows, key_of, with_series
from dashboard.formatting import DASH, count, escape, interval, missing, share, shortened, when
from dashboard.ui import answers, tables, verdicts, widths
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View
from store.identity import XLA
from store.metrics import metric
from store.stats.geomean import SpeedupChange


@dataclass(frozen=True)
class Board:
    """Data of the tables: one row per series without its model."""

    means: pd.DataFrame
    """Rows of `geomeans`."""
    cells: pd.DataFrame
    """Rows of `means` with counts, change and trend."""
    base: dict[str, Any] | None
    """The run that changes refer to, None where there is none."""
    before: dict[tuple[Any, ...], Any]
    """The base's rows of `counts`, by series."""

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

    @property
    def moved(self) -> list[tuple[Any, SpeedupChange]]:
        """Rows of series that have a mean in both runs, each with its change."""
        return [(row, row.moved) for row in iter_rows(self.cells) if row.moved is not None]


def read(view: View, counts: pd.DataFrame) -> Board:
    """Return the means, their changes and the rows of `counts`, joined to one row per series without its model."""
    base = data.base_run(view.snapshot, view.selection)
    means = data.rows(view.snapshot, "geomeans", view.selection)
    last = data.rows(view.snapshot, "last_geomeans", view.selection, **data.last_runs(view.snapshot, view.selection))
    cells = with_series(means.merge(counts, on=KEYS, how="left"))
    rows = list(iter_rows(cells))
    keys = [key_of(row) for row in rows]
    changes, before = _changes(view, base), _before(view, base)
    compared = [None if row.cross_device else changes.get(key) for row, key in zip(rows, keys, strict=True)]
    trends = {key_of(row): [round(mean, 4) for mean in row.trend] for row in iter_rows(last)}
    moved = [None if base is None or change is None else _judged(view, change, base) for change in compared]
    trend = [None if is_baseline(row, view) else trends.get(key) for row, key in zip(rows, keys, strict=True)]
    cells = cells.assign(
        moved=pd.Series(moved, index=cells.index, dtype=object),
        trend=pd.Series(trend, index=cells.index, dtype=object),
        interval=[DASH if is_baseline(row, view) else interval(row.geomean_low, row.geomean_high) for row in rows],
        ran=[_ran(row, before.get(key)) for row, key in zip(rows, keys, strict=True)],
        verified=[
            share(int(row.verified_n), int(row.answered_n)) if row.verify_asked else "not verified" for row in rows
        ],
        change=[_change(*of_row, view) for of_row in zip(rows, compared, moved, strict=True)],
        fallback=[share(*(known_share(row, "fallback") or (0, 0))) for row in rows],
        note=[_note(row, view) for row in rows],
    )
    return Board(means=means, cells=cells, base=base, before=before)


def _changes(view: View, base: dict[str, Any] | None) -> dict[tuple[Any, ...], Any]:
    """Return the rows of `geomean_changes` since the base run, by series."""
    if base is None:
        return {}
    runs = data.last_runs(view.snapshot, view.selection)
    changes = data.rows(view.snapshot, "geomean_changes", view.selection, before=base["run_id"], **runs)
    return {key_of(row): row for row in iter_rows(changes)}


def _judged(view: View, change: Any, base: dict[str, Any]) -> SpeedupChange | None:
    return answers.judged_change(view, change, (base["run_id"], view.selection.run_id))


def _before(view: View, base: dict[str, Any] | None) -> dict[tuple[Any, ...], Any]:
    """Return the rows of `counts` of the base run, by series."""
    if base is None:
        return {}
    of_base = replace(view.selection, run_id=base["run_id"])
    return {key_of(row): row for row in iter_rows(data.rows(view.snapshot, "counts", of_base))}


def _ran(row: Any, before: Any | None) -> str:
    """Return `k/n`, with the base run's numbers where the same number was planned and another number ran."""
    ran, planned = int(row.ran_n), int(row.planned_n)
    if before is None or int(before.results_n) != planned or int(before.measured_n) == ran:
        return share(ran, planned)
    return moved_share((int(before.measured_n), planned), (ran, planned))


def moved_share(then: tuple[int, int], now: tuple[int, int], *, less_is_better: bool = False) -> str:
    """Return sign, word and both shares, or one share with the word for no change where they are equal."""
    change = now[0] / now[1] - then[0] / then[1]
    if not change:
        return f"{verdicts.appearance_of('same').text}, {share(*now)}"
    sign = verdicts.appearance_of("faster" if (change > 0) != less_is_better else "slower").sign
    # Of another whole, a smaller share may be a larger number.
    words = ("more", "fewer") if now[1] == then[1] else ("larger share", "smaller share")
    return f"{sign} {words[change < 0]}, {share(*then)} → {share(*now)}"


def known_share(row: Any, name: str) -> tuple[int, int] | None:
    """Return the part and the whole of a share, or None where they are not known: not XLA's backend, or not counted."""
    if name == "fallback" and not row.backend.startswith(XLA):
        return None
    of = {"verified": (row.right_n, row.checked_n), "fallback": (row.fallback_models_n, row.fallback_known_n)}
    part, whole = of[name]
    return None if missing(whole) or not whole else (int(part), int(whole))


def _change(row: Any, compared: Any | None, moved: SpeedupChange | None, view: View) -> str:
    """Return how the backend's own time changed, and its speedup before and after; a dash, with why, where unknown."""
    if is_baseline(row, view):
        return DASH
    if moved is None:
        return f"{DASH} {answers.PARTED}" if compared is not None and compared.otherwise_n else DASH
    return f"{answers.change_word(moved, view.selection.baseline)}, {answers.from_to(moved)}"


def is_baseline(row: Any, view: View) -> bool:
    """Tell whether a row is the baseline's own, whose speedup is 1 by definition."""
    return bool(row.variant == view.selection.baseline and row.baseline_run_id == row.run_id)


WITHOUT_A_NUMBER = {
    "failed_n": "failed",
    "verify_only_n": "verified only",
    "never_steady_n": "never steady",
    "disturbed_n": "disturbed by other programs",
    "skipped_n": "skipped",
    "not_run_n": "not run",
}
"""Column that counts the experiments of an outcome without a number → its words."""


def _note(row: Any, view: View) -> str:
    """Return why the row has no geometric mean, and how many of its models gave no number that counts, by outcome."""
    parts, why = [], ""
    if is_baseline(row, view):
        parts.append("the baseline")
    elif missing(row.geomean):
        alone = f"no valid result of {view.selection.baseline} to compare with"
        why = row.main_reason if isinstance(row.main_reason, str) else "" if row.wrong_n else alone
    elif row.cross_device:
        parts.append("cross-device: a ratio, no verdict")
    for name, word in WITHOUT_A_NUMBER.items():
        number = getattr(row, name)
        if not missing(number) and number:
            parts.append(f"{int(number)} {word}")
    if not missing(row.wrong_n) and row.wrong_n:
        parts.append(count(int(row.wrong_n), "wrong answer"))
    if len(row.not_comparable):
        parts.append(f"{len(row.not_comparable)} not comparable")
    # The text of a disturbed result repeats what its outcome says.
    if not why or (parts and not missing(row.disturbed_n) and row.disturbed_n == row.results_n - row.measured_n > 0):
        return ", ".join(parts) or DASH
    return f"{', '.join(parts)}{_alike(row, why)}" if parts else f"no speedup: {why}"


def _alike(row: Any, why: str) -> str:
    """Return the most frequent reason why results have no number, and how many of several have it."""
    if not isinstance(row.main_reason, str):
        return f", {why}"
    without = int(row.results_n) - int(row.measured_n)
    return f": {why}" if row.main_reason_n == without else f", {int(row.main_reason_n)} of {without}: {why}"


def sql_of(view: View, board: Board) -> dict[str, str]:
    """Return the SQL of the table of speedups, by what each statement returns."""
    statements = {"Geometric means": data.statement("geomeans", view.selection)}
    statements["How many ran, and why others did not"] = data.statement("counts", view.selection)
    if board.base is not None:
        before = {"before": board.base["run_id"]}
        runs = data.last_runs(view.snapshot, view.selection)
        statements["Since the previous run"] = data.statement("geomean_changes", view.selection, **before)
        statements["Last runs"] = data.statement("last_geomeans", view.selection, **runs)
    return statements


def show(view: View, board: Board) -> None:
    """Draw the table of speedups."""
    with st.expander("All numbers as a table", key="numbers", on_change="rerun") as part:
        if part.open:
            table(view, board.cells, _speed_columns(view, board), "overview", sql_of(view, board))


def table(view: View, cells: pd.DataFrame, columns: dict[str, TableColumn], what: str, sql: Mapping[str, str]) -> None:
    """Draw a table of `cells`, as wide as the window."""
    tables.show(
        cells,
        tables.without_constant(columns, cells, PLACE),
        data.TableSource(view.file_name(what), sql),
        key=what,
        alt=f"Results by test, suite and backend ({what})",
        whole=True,
        room=widths.PAGE_PX,
    )


PLACE = ("test", "accelerator", "suite")
"""Columns that identify a row; each is left out where all rows have the same value."""


def place_columns() -> dict[str, TableColumn]:
    """Return the pinned columns that identify a row."""
    every = tables.naming(*PLACE, "series", pinned=(*PLACE, "series"))
    pixels = {"test": 55, "accelerator": 95, "suite": 105, "series": 150}
    return {name: replace(column, width=pixels[name]) for name, column in every.items()}


def _speed_columns(view: View, board: Board) -> dict[str, TableColumn]:
    moved = board.cells["ran"].str.contains("→").any()
    columns = place_columns() | {
        "ran": TableColumn(
            "Ran",
            "verdict",
            width=125 if moved else 70,
            help="Experiments with steady samples, of those planned; where it moved, before → now.",
        ),
        "verified": TableColumn(
            "Verified", width=75, help="Results whose outputs agreed with the reference, of those that ran."
        ),
        "geomean": measured("geomean", "Speedup", f"Baseline: {view.baseline_text}; above 1 is faster.", 75),
        "interval": TableColumn(
            "95 % CI",
            width=90,
            help="CI of the geometric mean (Student's t on the logs of the speedups).",
        ),
        "n": TableColumn("n", "number", width=40, help=metric("n").definition),
    }
    if board.base:
        columns |= {
            "change": TableColumn(
                "Since the previous run",
                "verdict",
                width=175,
                help=f"Since {board.base_name}: what became of the backend's own time, then its geomean before → now, "
                f"over the models of both. {_VERDICT_HELP}",
            ),
            "trend": TableColumn(
                "Last runs",
                "line",
                width=80,
                help="Geomean speedup over the same models, measured alike, in up to 13 runs that have all of them.",
            ),
        }
    note = TableColumn(
        "Missing results", width=90 if moved else 200, help="How many experiments of the row gave no number, and why."
    )
    return columns | {"note": note}


_VERDICT_HELP = (
    "Where the baseline's time moved, the text says so. Faster and slower: the interval over models excludes 1 and the "
    "change is above the noise floor; they are suspected, because two runs do not take turns. Unchanged: the whole "
    "interval is within the floor. All others are ambiguous."
)
