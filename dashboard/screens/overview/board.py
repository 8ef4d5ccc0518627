"""The numbers of page Overview: a row per test, accelerator, suite and backend, and its changes since a run before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import KEYS, each, key_of, with_series
from dashboard.ui import answers, tables, verdicts
from dashboard.ui.tables import TableColumn
from dashboard.view import View
from dashboard.words import DASH, escape, interval, listed, missing, ratio, seconds, share, shortened, when
from store.stats.geomean import judge_mean


@dataclass(frozen=True)
class Board:
    """Data of the tables: one row per series without its model."""

    means: pd.DataFrame
    """Rows of `geomeans`."""
    cells: pd.DataFrame
    """Rows of `means` with counts, change and trend."""
    base: dict[str, Any] | None
    """The run that changes refer to, None where there is none."""

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
    """Return the means, their changes and the counts, joined to one row per series without its model.

    Args:
        view: what is shown.
        counts: rows of `counts`.
    """
    base = data.base_run(view.snapshot, view.selection)
    runs = data.last_runs(view.snapshot, view.selection)
    last = data.rows(view.snapshot, "last_geomeans", view.selection, **runs)
    means = last[last["run_id"] == view.selection.run_id].reset_index(drop=True)
    cells = with_series(means.merge(counts, on=KEYS, how="left"))
    cells = _with_trends(_with_changes(cells, view, base), view, last)
    return Board(means=means, cells=_with_words(cells, view, base), base=base)


def moved_sentence(board: Board, baseline: str) -> str | None:
    """Return whose time moved since the base run, or that none did; None where no series has a mean in both runs."""
    if board.base is None:
        return None
    judged = [(row, row.moved) for row in each(board.cells) if row.moved is not None]
    if not judged:
        return None
    return f"Since {board.base_name}: {answers.what_moved(judged, baseline)}"


def slower_n(board: Board) -> int:
    """Return the number of series whose own time became longer since the base run."""
    return sum(row.moved is not None and row.moved.backend.word == "slower" for row in each(board.cells))


def _with_changes(cells: pd.DataFrame, view: View, base: dict[str, Any] | None) -> pd.DataFrame:
    """Add column `moved`: the change of each geometric mean since the base run, a `SpeedupChange` or None."""
    nothing = [None] * len(cells)
    if base is None:
        return cells.assign(moved=pd.Series(nothing, index=cells.index, dtype=object))
    runs = data.last_runs(view.snapshot, view.selection)
    changes = data.rows(view.snapshot, "geomean_changes", view.selection, before=base["run_id"], **runs)
    two = (base["run_id"], view.selection.run_id)
    by_series = {key_of(row): answers.judged_change(view, row, two) for row in each(changes)}
    moved = [None if row.cross_device else by_series.get(key_of(row)) for row in each(cells)]
    return cells.assign(moved=pd.Series(moved, index=cells.index, dtype=object))


def _with_trends(cells: pd.DataFrame, view: View, means: pd.DataFrame) -> pd.DataFrame:
    """Add column `trend`: the geometric means of the last runs, the oldest first. The baseline's rows have none.

    Args:
        cells: a row per series without its model.
        view: what is shown.
        means: rows of `last_geomeans`.
    """
    lines: dict[tuple[Any, ...], list[float]] = {}
    for row in each(means[means["geomean"].notna()]):
        lines.setdefault(key_of(row), []).append(round(row.geomean, 4))
    keys = [() if is_baseline(row, view) else key_of(row) for row in each(cells)]
    trends = [line if len(line := lines.get(key, [])) > 1 else None for key in keys]
    return cells.assign(trend=pd.Series(trends, index=cells.index, dtype=object))


def _with_words(cells: pd.DataFrame, view: View, base: dict[str, Any] | None) -> pd.DataFrame:
    """Add the texts that the table shows."""
    before = _before(view, base)
    rows = list(each(cells))
    return cells.assign(
        interval=[DASH if is_baseline(row, view) else interval(row.geomean_low, row.geomean_high) for row in rows],
        ran=[_ran(row, before) for row in rows],
        verified=[
            share(int(row.verified_n), int(row.answered_n)) if row.verify_asked else "not verified" for row in rows
        ],
        change=[_change(row, view) for row in rows],
        fallback=[_fallback_models(row) for row in rows],
        note=[_note(row, view) for row in rows],
    )


def _before(view: View, base: dict[str, Any] | None) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Return the numbers of experiments that ran and that were planned in the base run, by series."""
    if base is None:
        return {}
    return {key_of(row): (int(row.measured_n), int(row.results_n)) for row in each(_counts(view, base))}


def _ran(row: Any, before: dict[tuple[Any, ...], tuple[int, int]]) -> str:
    """Return `k/n`, with the base run's numbers where the same number was planned and another number ran."""
    ran, planned = int(row.ran_n), int(row.planned_n)
    then = before.get(key_of(row), (ran, planned))
    same = then[1] == planned and then[0] != ran
    return moved_share(then, (ran, planned)) if same else share(ran, planned)


def moved_share(then: tuple[int, int], now: tuple[int, int], *, less_is_better: bool = False) -> str:
    """Return sign, word and both shares, or one share with the word for no change where they are equal."""
    change = now[0] / now[1] - then[0] / then[1]
    if not change:
        return f"{verdicts.look('same').text}, {share(*now)}"
    sign = verdicts.look("faster" if (change > 0) != less_is_better else "slower").sign
    return f"{sign} {'more' if change > 0 else 'fewer'}, {share(*then)} → {share(*now)}"


def _change(row: Any, view: View) -> str:
    """Return how the backend's own time changed, and its speedup before and after."""
    if row.moved is None or is_baseline(row, view):
        return DASH
    return f"{answers.change_word(row.moved, view.selection.baseline)}, {answers.from_to(row.moved)}"


def _fallback_models(row: Any) -> str:
    """Return `k/n` models, or a dash where fallback ops are unknown: not XLA's backend, or not counted."""
    known = row.backend.startswith("openxla") and not missing(row.fallback_known_n) and row.fallback_known_n
    return share(int(row.fallback_models_n), int(row.fallback_known_n)) if known else DASH


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
    """Return why the row has no geometric mean, and how many of its models gave no number, by outcome."""
    parts, why = [], ""
    if is_baseline(row, view):
        parts.append("the baseline")
    elif missing(row.geomean):
        why = row.main_reason if isinstance(row.main_reason, str) else "no common model"
    elif row.cross_device:
        parts.append("cross-device: a ratio, no verdict")
    for name, word in WITHOUT_A_NUMBER.items():
        number = getattr(row, name)
        if not missing(number) and number:
            parts.append(f"{int(number)} {word}")
    if len(row.not_comparable):
        parts.append(f"{len(row.not_comparable)} not comparable")
    if why:
        parts.append(f"most often: {why}" if parts else f"no speedup: {why}")
    return ", ".join(parts) or DASH


def sql_of(view: View, board: Board) -> dict[str, str]:
    """Return the SQL of the table of speedups, by what each statement returns."""
    statements = {"Geometric means": data.statement("geomeans", view.selection)}
    statements["How many ran, and why others did not"] = data.statement("counts", view.selection)
    if board.base is not None:
        before = {"before": board.base["run_id"]}
        runs = data.last_runs(view.snapshot, view.selection)
        statements["Since the run before"] = data.statement("geomean_changes", view.selection, **before)
        statements["Last runs"] = data.statement("last_geomeans", view.selection, **runs)
    return statements


class Measure(NamedTuple):
    """A mean over models that two runs may differ in."""

    label: str
    better: str
    worse: str
    floor: float
    """Least relative change that counts. No A/A pairs exist for these numbers, so it is the threshold of the HUD."""
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
"""Columns that identify a row; each is left out where all rows have the same value."""


def place_columns() -> dict[str, TableColumn]:
    """Return the pinned columns that identify a row of Overview's tables."""
    return {
        "test": TableColumn("Test", pinned=True, width=55),
        "accelerator": TableColumn("Accelerator", pinned=True, width=95),
        "suite": TableColumn("Suite", pinned=True, width=105),
        "series": TableColumn(
            "Backend", pinned=True, width=150, help="Backend plus every setting in which rows differ."
        ),
    }


def show_moves(view: View, moved: pd.DataFrame, base: dict[str, Any], base_name: str) -> None:
    """Draw an expander with the table of changed numbers; its title has how many changed.

    Args:
        view: what is shown.
        moved: cells of Overview with the columns that `since` adds.
        base: row of the run before.
        base_name: label and time of that run, escaped for markdown.
    """
    moved_names = [name for name in (*_COUNTS, *MEASURES) if (moved[f"{name}_move"] != DASH).any()]
    if not moved_names:
        return
    with st.expander(_title(moved, moved_names, base_name), key="moved", on_change="rerun") as part:
        if part.open:
            _moves_table(view, moved, moved_names, base)


def _title(moved: pd.DataFrame, moved_names: list[str], base_name: str) -> str:
    """Return how many of the numbers moved, and which got worse."""
    texts = [(row, name, getattr(row, f"{name}_move")) for row in each(moved) for name in moved_names]
    known = [(row, name, text) for row, name, text in texts if text != DASH]
    better, worse = (
        [_named(row, name) for row, name, text in known if text.startswith(verdicts.look(word).sign)]
        for word in ("faster", "slower")
    )
    parts = [verdicts.coloured("faster", f"{len(better)} better")] if better else []
    if worse:
        parts.append(f"{verdicts.coloured('slower', f'{len(worse)} worse')} ({listed(worse, _NAMED)})")
    rest = f"{len(known) - len(better) - len(worse)} unchanged or ambiguous"
    return f"Costs since {base_name}: {', '.join([*parts, rest])}"


def _named(row: Any, name: str) -> str:
    label = _COUNTS[name] if name in _COUNTS else MEASURES[name].label
    return escape(f"{label} of {row.series} in {row.test} {row.accelerator} {row.suite}")


def _moves_table(view: View, moved: pd.DataFrame, moved_names: list[str], base: dict[str, Any]) -> None:
    before = {"before": base["run_id"]}
    st.caption("Each cell has the number of the run before → that of the shown run.")
    tables.show(
        moved,
        tables.without_constant(_moves_columns(moved_names), moved, PLACE),
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
    """Add a text for each number's change, and for means the change's interval and number of models."""
    known = {key_of(row): row for row in each(_counts(view, base))}
    means = data.rows(view.snapshot, "cost_changes", view.selection, before=base["run_id"])
    moved = {(key_of(row), row.measure): row for row in each(means)}
    rows = list(each(cells))
    columns: dict[str, list[Any]] = {
        f"{name}_move": [_count(row, known.get(key_of(row)), name) for row in rows] for name in _COUNTS
    }
    for name, measure in MEASURES.items():
        matched = [moved.get((key_of(row), name)) for row in rows]
        columns[f"{name}_move"] = [_mean(row, measure) for row in matched]
        for number in ("better", "better_low", "better_high", "n"):
            values = [None if row is None else getattr(row, number) for row in matched]
            columns[f"{name}_{number}"] = pd.to_numeric(pd.Series(values, dtype=object)).tolist()
    return cells.assign(**columns)


def _counts(view: View, base: dict[str, Any]) -> pd.DataFrame:
    return data.rows(view.snapshot, "counts", replace(view.selection, run_id=base["run_id"]))


def _mean(row: Any | None, measure: Measure) -> str:
    """Return sign, word, both means and the number of models; a dash where no model has both."""
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
    """Return the part and the whole of a share, or None where they are not known."""
    if name == "fallback" and not row.backend.startswith("openxla"):
        return None
    of = {"verified": (row.right_n, row.checked_n), "fallback": (row.fallback_models_n, row.fallback_known_n)}
    part, whole = of[name]
    return None if missing(whole) or not whole else (int(part), int(whole))


def _moves_columns(moved_names: list[str]) -> dict[str, TableColumn]:
    over = "Geometric means over the models that have it in both runs."
    columns = place_columns()
    helps = {
        "verified": "Results that agreed with the reference, of those that were compared.",
        "fallback": "Models that called an op that XLA did not lower, of those counted.",
    }
    for name in moved_names:
        if name in _COUNTS:
            columns[f"{name}_move"] = TableColumn(_COUNTS[name], "verdict", help=helps[name])
            continue
        measure = MEASURES[name]
        help_text = (
            f"{over} {measure.better.capitalize()} and {measure.worse}: the interval over models is clear of 1 and the "
            f"change above {measure.floor:.0%}; suspected, as two runs take no turns."
        )
        columns[f"{name}_move"] = TableColumn(measure.label, "verdict", help=help_text)
        for number, label, kind in (
            ("better", "change", "ratio"),
            ("better_low", "low", "ratio"),
            ("better_high", "high", "ratio"),
            ("n", "n", "number"),
        ):
            text = "Above 1 is better." if kind == "ratio" else "Models that have it in both runs."
            columns[f"{name}_{number}"] = TableColumn(f"{measure.label}, {label}", kind, help=text, filed=True)  # type: ignore[arg-type]
    return columns
