"""The page: the answer, the means and rates of a suite over the runs, one of its models, and every confirmed change."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import answers, data, empty, frame
from dashboard.rows import SYNTHETIC, each, with_series
from dashboard.screens import choosing
from dashboard.screens.overview.cells import key_of
from dashboard.screens.trends import changes, overall, runs, single
from dashboard.words import count, escape, ratio, when
from store.stats.mean_change import MOVED

_MOST = 3
"""Series that the answer names; charts and table have all."""

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View
    from store.stats.mean_change import SpeedupChange


def show(view: View) -> None:
    """Draw the page."""
    top = st.container(key="top")
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    wanted = runs.chosen(view, controls)
    rows = data.rows(view.snapshot, "trend_geomeans", view.selection, **overall.bound(view, wanted))
    moved = data.rows(view.snapshot, "changes", view.selection)
    if rows.empty:
        with top:
            frame.head("Trends", view, [], 0, baseline=True)
        empty.no_rows(view.selection, "results")
        return
    with controls:
        keys = choosing.section(answers.SUITES, _sections(view, rows, wanted))
    mine = (rows["test"] == keys[0]) & (rows["accelerator"] == keys[1]) & (rows["suite"] == keys[2])
    part = with_series(rows[mine])
    with top:
        shown = int(rows.loc[rows["run_id"] == view.selection.run_id, "planned_n"].sum())
        frame.head("Trends", view, _said(view, part, keys, moved, wanted), shown, baseline=True)
    marks = data.rows(view.snapshot, "marks", view.selection)
    drawn = _with_rule(marks, data.rows(view.snapshot, "rule_begins", view.selection))
    overall.show(view, part, keys, wanted, drawn)
    single.show(view, keys, wanted, moved, drawn)
    changes.show(view, moved, marks)


def _with_rule(marks: pd.DataFrame, begins: pd.DataFrame) -> pd.DataFrame:
    """Return the marks, and from where on turns were judged: numbers from before may hold other programs' work."""
    if begins.empty:
        return marks
    import pandas as pd  # noqa: PLC0415 - most stores have no such place

    of_ours = begins.reindex(columns=marks.columns)
    return pd.concat([marks, of_ours], ignore_index=True) if len(marks) else of_ours


def _sections(view: View, rows: pd.DataFrame, wanted: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return test, accelerator and suite of all rows: where a mean moved most comes first, then those of most pairs."""
    moved: dict[tuple[str, ...], float] = {}
    changes = _changes(view, wanted[0], wanted) if len(wanted) > 1 else {}
    for (suite, test, accelerator, *_), change in changes.items():
        if change is not None and {change.backend.word, change.baseline.word} & set(MOVED):
            size = abs(math.log(change.after / change.before))
            moved[test, accelerator, suite] = max(size, moved.get((test, accelerator, suite), 0))
    most = rows.groupby(["test", "accelerator", "suite"])["n"].max()
    return sorted(most.index, key=lambda keys: (keys[2] in SYNTHETIC, -moved.get(keys, 0), -most[keys], keys))


def _said(
    view: View, part: pd.DataFrame, keys: tuple[str, ...], moved: pd.DataFrame, wanted: tuple[str, ...]
) -> list[str]:
    """Say how each geometric mean went from its first run to the shown one, and how much was confirmed to change."""
    if len(wanted) == 1:
        return ["One run of this label: a trend needs two. Choose another label, or measure again"]
    inside = moved[moved["run_after"].isin(wanted)]
    slower = int((inside["change_ratio"] > 1).sum())
    runs_n = count(len(wanted), "run")
    change = f"{count(len(inside), 'confirmed change')} of a latency in {runs_n}"
    change += f": {slower} slower, {len(inside) - slower} faster"
    said = [text for _, text in sorted(_moves(view, part, keys, wanted))]
    return [*said[:_MOST], change if len(inside) else f"No confirmed change of a latency in {runs_n}"]


def _moves(
    view: View, part: pd.DataFrame, keys: tuple[str, ...], wanted: tuple[str, ...]
) -> list[tuple[tuple[float, str], str]]:
    """Return a sentence for each series with a mean of two runs, and its place: the one that moved most is first.

    Both means are over the models that have a speedup in the first run and in the shown one: a mean over others moves
    without any of them.
    """
    known = answers.compared(part[part["geomean"].notna()], view.selection.baseline)
    changes = cache(lambda before: _changes(view, before, wanted))
    found = []
    for name, rows in known.groupby("series"):
        first = next(each(rows.sort_values("run_started").iloc[[0]]))
        change = None if first.run_id == view.selection.run_id else changes(first.run_id).get(key_of(first))
        if change is not None:
            place = (-abs(math.log(change.after / change.before)), str(name))
            found.append((place, _moved(str(name), change, view.selection.baseline, keys, first.run_started)))
    return found


def _moved(name: str, change: SpeedupChange, baseline: str, keys: tuple[str, ...], started: Any) -> str:
    """Say how the speedup of a series moved, and whose time did."""
    before, after = ratio(change.before), ratio(change.after)
    moved = f"stayed **{after}**" if before == after else f"went from **{before}** to **{after}**"
    where = escape(f"{keys[0]} on {keys[1]}, {keys[2]}")
    models = "one model" if change.n == 1 else f"the same {count(change.n, 'model')}"
    why = escape(answers.change_word(change, baseline))
    speedup = f"Speedup of **{escape(name)}** over {escape(baseline)} {moved} in {where}"
    return f"{speedup}, over {models} since {when(started)} ({why})"


def _changes(view: View, before: str, wanted: tuple[str, ...]) -> dict[tuple[Any, ...], SpeedupChange | None]:
    """Return how each mean went from a run to the shown one, by series."""
    rows = data.rows(view.snapshot, "geomean_changes", view.selection, before=before, **overall.bound(view, wanted))
    return {key_of(row): answers.judged_change(view, row, (before, view.selection.run_id)) for row in each(rows)}
