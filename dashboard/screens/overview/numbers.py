"""The numbers of page Overview: a row per test, accelerator, suite and backend, its costs, and what moved in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import KEYS, iter_rows, key_of, with_series
from dashboard.formatting import DASH, count, escape, interval, listed, missing, ratio, seconds, share, shortened, when
from dashboard.ui import answers, tables, verdicts, widths
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, ViewSelection
from store.identity import XLA
from store.metrics import metric
from store.stats.geomean import SpeedupChange, judge_mean


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
    changes, trends, before = _changes(view, base), _trends(last), _before(view, base)
    moved = [None if row.cross_device else changes.get(key) for row, key in zip(rows, keys, strict=True)]
    trend = [None if is_baseline(row, view) else trends.get(key) for row, key in zip(rows, keys, strict=True)]
    cells = cells.assign(
        moved=pd.Series(moved, index=cells.index, dtype=object),
        trend=pd.Series(trend, index=cells.index, dtype=object),
        interval=[DASH if is_baseline(row, view) else interval(row.geomean_low, row.geomean_high) for row in rows],
        ran=[_ran(row, before.get(key)) for row, key in zip(rows, keys, strict=True)],
        verified=[
            share(int(row.verified_n), int(row.answered_n)) if row.verify_asked else "not verified" for row in rows
        ],
        change=[_change(row, change, view) for row, change in zip(rows, moved, strict=True)],
        fallback=[share(*(_share(row, "fallback") or (0, 0))) for row in rows],
        note=[_note(row, view) for row in rows],
    )
    return Board(means=means, cells=cells, base=base, before=before)


def _changes(view: View, base: dict[str, Any] | None) -> dict[tuple[Any, ...], SpeedupChange | None]:
    """Return the change of each geometric mean since the base run, by series."""
    if base is None:
        return {}
    runs = data.last_runs(view.snapshot, view.selection)
    changes = data.rows(view.snapshot, "geomean_changes", view.selection, before=base["run_id"], **runs)
    two = (base["run_id"], view.selection.run_id)
    return {key_of(row): answers.judged_change(view, row, two) for row in iter_rows(changes)}


def _trends(last: pd.DataFrame) -> dict[tuple[Any, ...], list[float]]:
    """Return the geometric means of the last runs over the models of the shown one by series, the oldest first."""
    return {key_of(row): [round(mean, 4) for mean in row.trend] for row in iter_rows(last)}


def _before(view: View, base: dict[str, Any] | None) -> dict[tuple[Any, ...], Any]:
    """Return the rows of `counts` of the base run, by series."""
    if base is None:
        return {}
    return {key_of(row): row for row in iter_rows(data.rows(view.snapshot, "counts", _of_base(view, base)))}


def _of_base(view: View, base: dict[str, Any]) -> ViewSelection:
    return replace(view.selection, run_id=base["run_id"])


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


def _change(row: Any, moved: SpeedupChange | None, view: View) -> str:
    """Return how the backend's own time changed, and its speedup before and after."""
    if moved is None or is_baseline(row, view):
        return DASH
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
        why = row.main_reason if isinstance(row.main_reason, str) else "" if row.wrong_n else "no common model"
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
    if not why:
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
    """Draw the tables of speedups, costs and changes, each as wide as the window."""
    with st.expander("All numbers as a table", key="numbers", on_change="rerun") as part:
        if part.open:
            _table(view, board.cells, _speed_columns(view, board), "overview", sql_of(view, board))
    if board.cells["first_iteration_n"].sum():
        _show_costs(view, board.cells)
    if board.base is not None:
        _show_moves(view, board, board.base)


def _table(view: View, cells: pd.DataFrame, columns: dict[str, TableColumn], what: str, sql: Mapping[str, str]) -> None:
    tables.show(
        cells,
        tables.without_constant(columns, cells, _PLACE),
        data.TableSource(view.file_name(what), sql),
        key=what,
        alt=f"Results by test, suite and backend ({what})",
        whole=True,
        room=widths.PAGE_PX,
    )


_PLACE = ("test", "accelerator", "suite")
"""Columns that identify a row; each is left out where all rows have the same value."""


def _place_columns() -> dict[str, TableColumn]:
    """Return the pinned columns that identify a row."""
    every = tables.naming(*_PLACE, "series", pinned=(*_PLACE, "series"))
    pixels = {"test": 55, "accelerator": 95, "suite": 105, "series": 150}
    return {name: replace(column, width=pixels[name]) for name, column in every.items()}


def _speed_columns(view: View, board: Board) -> dict[str, TableColumn]:
    moved = board.cells["ran"].str.contains("→").any()
    columns = _place_columns() | {
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
        "No number", width=90 if moved else 200, help="How many experiments of the row gave no number, and why."
    )
    return columns | {"note": note}


_VERDICT_HELP = (
    "Where the baseline's time moved, the text says so. Faster and slower: the interval over models excludes 1 and the "
    "change is above the noise floor; they are suspected, because two runs do not take turns. Unchanged: the whole "
    "interval is within the floor. All others are ambiguous."
)


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
    queries = {"Counts and medians": "counts", "Memory": "memory_ratios"}
    _table(view, cells, columns, "costs", {what: data.statement(sql, view.selection) for what, sql in queries.items()})


def _cost_columns() -> dict[str, TableColumn]:
    over = "Median over models."
    return _place_columns() | {
        "first_iteration_s": measured("first_iteration_s", "First iteration", over, 120),
        "first_iteration_n": TableColumn(
            "n", "number", width=40, help="Models behind the median of the first iteration."
        ),
        "compiler_time_s": measured("compiler_time_s", note=over, width=120),
        "compiler_time_n": TableColumn("n, compiler", "number", help="Models whose compiler reports its time."),
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
    known = [(row, name, text) for row, name, text in texts if text != DASH]
    better, worse = (
        [_named(row, name) for row, name, text in known if text.startswith(verdicts.appearance_of(word).sign)]
        for word in ("faster", "slower")
    )
    parts = [verdicts.coloured("faster", f"{len(better)} better")] if better else []
    if worse:
        parts.append(f"{verdicts.coloured('slower', f'{len(worse)} worse')} ({listed(worse, _NAMED)})")
    rest = f"{len(known) - len(better) - len(worse)} unchanged or ambiguous"
    return f"Costs since {base_name}: {', '.join([*parts, rest])}"


def _named(row: Any, name: str) -> str:
    return escape(f"{_LABELS[name]} of {row.series} in {row.test} {row.accelerator} {row.suite}")


def _moves_table(view: View, moved: pd.DataFrame, names: list[str], base: dict[str, Any]) -> None:
    st.caption("Each cell contains the number of the previous run → that of the shown run.")
    tables.show(
        moved,
        tables.without_constant(_moves_columns(names), moved, _PLACE),
        data.TableSource(
            view.file_name("moves"),
            {
                "Counts of the shown run": data.statement("counts", view.selection),
                "Counts of the previous run": data.statement("counts", _of_base(view, base)),
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
    """Return sign, word, both means and the number of models; a dash where no model has both."""
    if row is None:
        return DASH
    low, high = answers.known_ends(row.better_low, row.better_high)
    word = judge_mean(float(row.better), low, high, int(row.n), measure.floor).word
    appearance = verdicts.appearance_of(word)
    words = {"faster": measure.better, "slower": measure.worse}.get(word, appearance.word)
    return f"{appearance.sign} {words}, {measure.shown(row.before)} → {measure.shown(row.after)}, n = {row.n}"


def _moved_count(now: Any, then: Any | None, name: str) -> str:
    """Return sign, word and both shares; a dash where one of them is not known."""
    after, before = (None if row is None else _share(row, name) for row in (now, then))
    if not after or not before:
        return DASH
    return moved_share(before, after, less_is_better=name == "fallback")


def _share(row: Any, name: str) -> tuple[int, int] | None:
    """Return the part and the whole of a share, or None where they are not known: not XLA's backend, or not counted."""
    if name == "fallback" and not row.backend.startswith(XLA):
        return None
    of = {"verified": (row.right_n, row.checked_n), "fallback": (row.fallback_models_n, row.fallback_known_n)}
    part, whole = of[name]
    return None if missing(whole) or not whole else (int(part), int(whole))


def _moves_columns(names: list[str]) -> dict[str, TableColumn]:
    columns = _place_columns()
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
