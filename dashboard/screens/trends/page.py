"""The page: the answer, the means and rates of a suite over the runs, one of its models, and every confirmed change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import ahead, answers, data, empty, frame
from dashboard.rows import each, with_series
from dashboard.screens.overview.cells import key_of
from dashboard.screens.trends import changes, overall, runs, single
from dashboard.words import count, escape, ratio, when

_MOST = 3
"""Series that the answer names; charts and table have all."""

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


def show(view: View) -> None:
    """Draw the page."""
    top = st.container()
    wanted = runs.chosen(view)
    ahead.begin(view.snapshot, view.selection, _later(wanted))
    rows = data.rows(view.snapshot, "trend_geomeans", view.selection, **overall.bound(view, wanted))
    moved = data.rows(view.snapshot, "changes", view.selection)
    if rows.empty:
        with top:
            frame.head("Trends", view, [], 0, baseline=True)
        empty.no_rows(view.selection, "results")
        return
    keys = runs.section(_sections(rows))
    mine = (rows["test"] == keys[0]) & (rows["accelerator"] == keys[1]) & (rows["suite"] == keys[2])
    part = with_series(rows[mine])
    with top:
        shown = int(rows.loc[rows["run_id"] == view.selection.run_id, "planned_n"].sum())
        frame.head("Trends", view, _said(view, part, keys, moved, wanted), shown, baseline=True)
    marks = data.rows(view.snapshot, "marks", view.selection)
    overall.show(view, part, keys, wanted, marks)
    single.show(view, keys, wanted, moved, marks)
    changes.show(view, moved, marks)


def _later(wanted: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return what is read after the means: query → its parameters."""
    since = {"geomean_changes": {"before": wanted[0]}} if wanted else {}
    return {**since, "changes": {}, "marks": {}}


def _sections(rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return test, accelerator and suite of all rows, those with most pairs first."""
    most = rows.groupby(["test", "accelerator", "suite"])["n"].max().sort_values(ascending=False, kind="stable")
    return [(str(test), str(accelerator), str(suite)) for test, accelerator, suite in most.index]


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
    said = [text for _, text in sorted(_moves(view, part, keys))]
    return [*said[:_MOST], change if len(inside) else f"No confirmed change of a latency in {runs_n}"]


def _moves(view: View, part: pd.DataFrame, keys: tuple[str, ...]) -> list[tuple[tuple[bool, str], str]]:
    """Return a sentence for each series with a mean of two runs, and its place: XLA first, the reference last.

    Both means are over the models that have a speedup in the first run and in the shown one: a mean over others moves
    without any of them.
    """
    known = answers.compared(part[part["geomean"].notna()], view.selection.baseline)
    found = []
    for name, rows in known.groupby("series"):
        first = next(each(rows.sort_values("run_started")))
        moved = _since(view, first.run_id).get(key_of(first))
        if first.run_id == view.selection.run_id or moved is None:
            continue
        before, after = ratio(moved.geomean_before), ratio(moved.geomean_after)
        change = f"stayed **{after}**" if before == after else f"went from **{before}** to **{after}**"
        where = escape(f"{keys[0]} on {keys[1]}, {keys[2]}")
        over = f"over the same {count(int(moved.n), 'model')} since {when(first.run_started)}"
        place = (first.backend == "eager", "" if first.backend.startswith("openxla") else str(name))
        said = f"**{escape(name)}** {change} as fast as {escape(view.selection.baseline)} in {where}, {over}"
        found.append((place, said))
    return found


def _since(view: View, run: str) -> dict[tuple[Any, ...], Any]:
    """Return how the mean of each series moved from a run to the shown one, where any model has both."""
    moved = data.rows(view.snapshot, "geomean_changes", view.selection, before=run)
    return {key_of(row): row for row in each(moved) if row.n}
