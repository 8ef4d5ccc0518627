"""The numbers of page Overview: a row per test, accelerator, suite and backend, with changes, trends and texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from dashboard import data
from dashboard.data.frames import KEYS, each, key_of, with_series
from dashboard.ui import answers, verdicts
from dashboard.words import DASH, escape, interval, missing, share, shortened, when

if TYPE_CHECKING:
    from dashboard.view import View


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
    known = data.rows(view.snapshot, "counts", replace(view.selection, run_id=base["run_id"]))
    return {key_of(row): (int(row.measured_n), int(row.results_n)) for row in each(known)}


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
