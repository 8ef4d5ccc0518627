"""The page: the answer, the means and rates of a suite over the runs, one of its models, and every confirmed change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import answers, data, empty, frame
from dashboard.rows import each, with_series
from dashboard.screens.trends import changes, overall, runs, single
from dashboard.words import count, escape, ratio

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


def show(view: View) -> None:
    """Draw the page."""
    top = st.container()
    wanted = runs.chosen(view)
    rows = with_series(data.rows(view.snapshot, "trend_geomeans", view.selection, **overall.bound(view, wanted)))
    moved = data.rows(view.snapshot, "changes", view.selection)
    with top:
        frame.head("Trends", view, _said(view, rows, moved, wanted), int(rows["planned_n"].sum()), baseline=True)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    keys = runs.section(_sections(rows))
    part = rows[(rows["test"] == keys[0]) & (rows["accelerator"] == keys[1]) & (rows["suite"] == keys[2])]
    marks = data.rows(view.snapshot, "marks", view.selection)
    overall.show(view, part, keys, wanted, marks)
    single.show(view, keys, wanted, moved, marks)
    changes.show(view, moved, marks)


def _sections(rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return test, accelerator and suite of all rows, those with most pairs first."""
    most = rows.groupby(["test", "accelerator", "suite"])["n"].max().sort_values(ascending=False, kind="stable")
    return [(str(test), str(accelerator), str(suite)) for test, accelerator, suite in most.index]


def _said(view: View, rows: pd.DataFrame, moved: pd.DataFrame, wanted: tuple[str, ...]) -> list[str]:
    """Say how each geometric mean went from the first to the last of the runs, and how much was confirmed to change."""
    known = answers.compared(rows[rows["geomean"].notna()], view.selection.baseline)
    said = []
    for keys, part in known.groupby(["test", "accelerator", "suite", "series"], sort=False):
        first, last = (next(each(part.sort_values("run_started", ascending=up))) for up in (True, False))
        if first.run_id == last.run_id:
            continue
        place = escape(f"{keys[0]} on {keys[1]}, {keys[2]}")
        models = count(int(last.n), "model") if first.n == last.n else f"{int(last.n)} models now, {int(first.n)} then"
        change = f"from **{ratio(first.geomean)}** to **{ratio(last.geomean)}** {escape(view.selection.baseline)}"
        said.append((-last.n, f"**{escape(keys[3])}** went {change} in {place} ({models})"))
    inside = moved[moved["run_after"].isin(wanted)]
    slower = int((inside["change_ratio"] > 1).sum())
    change = (
        f"{count(len(inside), 'change')} of a latency confirmed in {count(len(wanted), 'run')}: "
        f"{slower} slower, {len(inside) - slower} faster"
    )
    if len(wanted) == 1:
        return ["One run of this label: a trend needs two. Choose another label, or measure again"]
    return [*(text for _, text in sorted(said, key=lambda each: each[0])[:2]), change] if said else [change]
