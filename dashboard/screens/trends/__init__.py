"""Page Trends: how the geometric means changed over the chosen runs, and every confirmed change of a latency."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import data
from dashboard.data.frames import (
    SYNTHETIC,
    backend_rank,
    iter_rows,
    key_of,
    unit,
    with_place,
    with_series,
    with_suites,
)
from dashboard.formatting import count, escape, interval, listed, missing, ratio, when
from dashboard.screens.trends import overall
from dashboard.ui import answers, empty, frame, tables, verdicts
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, choosing, links
from store.changepoints import LAST_POINTS, MIN_POINTS
from store.metrics import metric
from store.state.marks import NAMES
from store.stats.geomean import MOVED, SpeedupChange

_MOST = 3
"""Most series that the sentences name; charts and table have all."""


def show(view: View) -> None:
    """Draw the page."""
    top = st.container(key="top")
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    run_ids = _chosen_runs(view, controls)
    rows = data.rows(view.snapshot, "trend_geomeans", view.selection, **data.over_runs(view.selection, run_ids))
    changes = data.rows(view.snapshot, "changes", view.selection)
    if rows.empty:
        with top:
            frame.head(PAGE.title, view, [], 0, baseline=True)
        empty.no_rows(view.selection, "results")
        return
    with controls:
        keys = choosing.section(answers.SUITES, _sections(view, rows, changes, run_ids), "trend_section")
    in_section = (rows["test"] == keys[0]) & (rows["accelerator"] == keys[1]) & (rows["suite"] == keys[2])
    part = with_series(rows[in_section])
    with top:
        shown = int(rows.loc[rows["run_id"] == view.selection.run_id, "planned_n"].sum())
        frame.head(PAGE.title, view, _sentences(view, part, keys, changes, run_ids), shown, baseline=True)
    marks = data.rows(view.snapshot, "marks", view.selection)
    all_marks = _with_rule(marks, data.rows(view.snapshot, "rule_begins", view.selection))
    overall.show(view, part, keys, run_ids, all_marks)
    overall.show_one_model(view, keys, run_ids, changes, all_marks)
    _show_changes(view, changes, marks)


def _with_rule(marks: pd.DataFrame, begins: pd.DataFrame) -> pd.DataFrame:
    """Return the marks, and the time from which disturbed turns are left out: earlier numbers may contain them."""
    if begins.empty:
        return marks
    of_ours = begins.reindex(columns=marks.columns)
    return pd.concat([marks, of_ours], ignore_index=True) if len(marks) else of_ours


def _sections(view: View, rows: pd.DataFrame, changes: pd.DataFrame, run_ids: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return test, accelerator and suite of all rows, by the largest change, then by the number of models.

    Changes are those of a mean and the confirmed ones of a latency, which the first sentence names.
    """
    sizes: dict[tuple[str, ...], float] = {}
    for row in iter_rows(changes[changes["run_after"].isin(run_ids)]):
        keys = (row.test, row.accelerator, row.suite)
        sizes[keys] = max(abs(math.log(row.change_ratio)), sizes.get(keys, 0))
    means = _changes(view, run_ids[0], run_ids) if len(run_ids) > 1 else {}
    for (suite, test, accelerator, *_), change in means.items():
        if change is not None and {change.backend.word, change.baseline.word} & set(MOVED):
            size = abs(math.log(change.after / change.before))
            sizes[test, accelerator, suite] = max(size, sizes.get((test, accelerator, suite), 0))
    most = rows.groupby(["test", "accelerator", "suite"])["n"].max()
    return sorted(most.index, key=lambda keys: (keys[2] in SYNTHETIC, -sizes.get(keys, 0), -most[keys], keys))


def _sentences(
    view: View, part: pd.DataFrame, keys: tuple[str, ...], changes: pd.DataFrame, run_ids: tuple[str, ...]
) -> list[str]:
    """Return the confirmed changes, if there are any, and how each mean moved from its first run to the shown one."""
    if len(run_ids) == 1:
        if len(data.runs(view.snapshot)) == 1:
            return ["The store has one run, and a trend needs two: the same `xlabench run` command measures another"]
        return ["This label has one run, and a trend needs two. Choose another label, or measure again"]
    inside = changes[changes["run_after"].isin(run_ids)]
    moves = [text for _, text in sorted(_moves(view, part, keys, run_ids))]
    if not part["ran_n"].any():
        return [f"No experiment ran in {escape(f'{keys[0]} on {keys[1]}, {keys[2]}')} in these {len(run_ids)} runs"]
    confirmed = _confirmed(inside, count(len(run_ids), "run"))
    if inside.empty and (runs_n := len(data.runs(view.snapshot))) < MIN_POINTS:
        confirmed = f"No change of a latency can be confirmed yet: that takes {MIN_POINTS} runs, and here are {runs_n}"
    return [*moves[:_MOST], confirmed] if inside.empty else [confirmed, *moves[:_MOST]]


def _confirmed(changes: pd.DataFrame, runs_n: str) -> str:
    """Return how many latencies changed over all the runs, with the largest changes by name."""
    if changes.empty:
        return f"No confirmed change of a latency in {runs_n}"
    largest = sorted(
        iter_rows(with_place(with_series(with_suites(changes)))), key=lambda row: -abs(math.log(row.change_ratio))
    )
    named = listed([_named(row) for row in largest], _MOST)
    return f"{count(len(changes), 'confirmed change')} of a latency, judged over all {runs_n}: {named}"


def _named(row: Any) -> str:
    """Return the model of a confirmed change, its series, how much it changed, and the day of its first run after."""
    word = "slower" if row.change_ratio > 1 else "faster"
    what = f"{answers.times(row.change_ratio)} {word}"
    changed = f"{verdicts.coloured(word, what)} since {row.started_after:%Y-%m-%d}"
    return f"{escape(f'{row.model} {row.test} under {row.place}')} {changed}"


def _moves(
    view: View, part: pd.DataFrame, keys: tuple[str, ...], run_ids: tuple[str, ...]
) -> list[tuple[tuple[float, int, str], str]]:
    """Return a sentence for each series with means of two runs, and its sort key: the largest move is first, then XLA.

    Both means are over the models that have a speedup in the first run and in the shown one; otherwise a mean could
    move although no model did.
    """
    with_mean = answers.compared(part[part["geomean"].notna()], view.selection.baseline)
    changes = cache(lambda before: _changes(view, before, run_ids))
    sentences = []
    for name, rows in with_mean.groupby("series"):
        first = next(iter_rows(rows.sort_values("run_started").iloc[[0]]))
        change = None if first.run_id == view.selection.run_id else changes(first.run_id).get(key_of(first))
        if change is not None:
            stayed = ratio(change.before) == ratio(change.after)
            size = 0.0 if stayed else abs(math.log(change.after / change.before))
            place = (-size, backend_rank(first.backend), str(name))
            sentences.append((place, _moved(str(name), change, view.selection.baseline, keys, first.run_started)))
    return sentences


def _moved(name: str, change: SpeedupChange, baseline: str, keys: tuple[str, ...], started: Any) -> str:
    """Return how the speedup of a series moved, and whether the backend's or the baseline's time did."""
    before, after = ratio(change.before), ratio(change.after)
    moved = f"stayed **{after}**" if before == after else f"went from **{before}** to **{after}**"
    where = escape(f"{keys[0]} on {keys[1]}, {keys[2]}")
    what = unit([keys[2]])
    models = f"one {what}" if change.n == 1 else f"the same {count(change.n, what)}"
    why = escape(answers.change_sentence(change, baseline))
    speedup = f"Speedup of **{escape(name)}** over {escape(baseline)} {moved} in {where}"
    return f"{speedup}, over {models} since {when(started)} (between these two runs {why})"


def _changes(view: View, before: str, run_ids: tuple[str, ...]) -> dict[tuple[Any, ...], SpeedupChange | None]:
    """Return the change of each mean from a run to the shown one, by series."""
    over = data.over_runs(view.selection, run_ids)
    rows = data.rows(view.snapshot, "geomean_changes", view.selection, before=before, **over)
    return {key_of(row): answers.judged_change(view, row, (before, view.selection.run_id)) for row in iter_rows(rows)}


SAME_LABEL = "Label of the shown run"
EVERY_LABEL = "All labels"
LENGTHS = ("12", "30", "60", "120")
_LABEL_PX = 340


def _chosen_runs(view: View, place: DeltaGenerator) -> tuple[str, ...]:
    """Draw the boxes that choose the runs; return their ids, the oldest first."""
    runs = data.runs(view.snapshot)
    labels = [str(label) for label in dict.fromkeys(runs["run_label"].dropna())]
    offered = [SAME_LABEL, EVERY_LABEL, *labels]
    choosing.notice_unknown("Runs of", offered, "label")
    choosing.notice_unknown("Newest", LENGTHS, "last")
    with place:
        label = st.selectbox(
            "Runs of",
            offered,
            key="label",
            bind="query-params",
            help="Runs of one label repeat the same plan. None is newer than the shown run.",
            width=_LABEL_PX,
        )
        last = st.segmented_control(
            "Newest", LENGTHS, default="30", required=True, key="last", bind="query-params", help="Number of runs."
        )
    return _ids(view, runs, str(label or SAME_LABEL), int(last or "30"))


def _ids(view: View, runs: pd.DataFrame, label: str, limit: int) -> tuple[str, ...]:
    earlier = runs[runs["run_started"] <= view.run["run_started"]]
    run_label = view.run["run_label"] if label == SAME_LABEL else label
    labels = earlier["run_label"]
    rows = earlier
    if label != EVERY_LABEL:  # a missing label stands for all runs without one
        rows = earlier[labels.isna() if missing(run_label) else labels == run_label]
    if len(rows) == 1 < len(earlier) and label == SAME_LABEL:
        st.caption(f"No earlier run has the label **{escape(run_label or 'unnamed')}**: runs of all labels are shown.")
        rows = earlier
    return tuple(reversed(rows["run_id"].head(limit).tolist()))


def _show_changes(view: View, changes: pd.DataFrame, marks: pd.DataFrame) -> None:
    """Draw the confirmed changes and the users' marks."""
    st.subheader("Confirmed changes", anchor=False)
    if changes.empty:
        st.markdown(
            f"None. xlabench searches the newest {LAST_POINTS} runs of each series that has at least {MIN_POINTS} runs."
        )
    else:
        _changes_table(view, changes)
    if len(marks):
        st.subheader("Marks", anchor=False)
        _marks_table(view, marks)


def _changes_table(view: View, changes: pd.DataFrame) -> None:
    shown = with_series(changes)
    shown = shown.assign(
        verdict=[verdicts.appearance_of("slower" if ratio > 1 else "faster").text for ratio in changes["change_ratio"]],
        interval=[interval(row.change_low, row.change_high) for row in iter_rows(changes)],
        runs=[f"{row.before_n} → {row.after_n}" for row in iter_rows(changes)],
    )
    columns = tables.without_constant(
        {
            "started_after": TableColumn(
                "Since", "time", help="UTC; start of the first run after the change.", pinned=True
            ),
            "verdict": TableColumn("Verdict", "verdict"),
            **naming("model", "test", "series", "suite", "accelerator"),
            "change_ratio": measured("change_ratio", "After / before"),
            "interval": TableColumn("95 % CI", help="Confidence interval of the change."),
            "latency_before_s": measured("latency_before_s", "Before"),
            "latency_after_s": measured("latency_after_s", "After"),
            "runs": TableColumn("Runs", help="Runs before and after the change that the medians rest on."),
            "p_value": TableColumn("p", "decimal", help=metric("p_value").definition),
            "run_label": TableColumn("Label"),
        },
        shown,
        ["suite", "test", "accelerator", "run_label"],
    )
    selected = tables.show(
        shown,
        columns,
        data.source(view, "changes"),
        key="changes",
        alt="Confirmed changes of latencies",
        on_select="rerun",
    )
    st.caption(
        "Select a change to compare the runs before and after it. Two runs are less evidence than all of them, so the "
        "comparison may call the same change ambiguous."
    )
    if selected is not None:
        row = changes.iloc[selected]
        links.go(view, "compare", a=row["run_before"], b=row["run_after"], model=[row["model"]])


def _marks_table(view: View, marks: pd.DataFrame) -> None:
    shown = marks.assign(of=[_scope(row) for row in iter_rows(marks)])
    columns = {
        "marked_at": TableColumn("From", "time", help="UTC; latencies from before and after it are not compared."),
        "text": TableColumn("Why"),
        "of": TableColumn("Of"),
        "who": TableColumn("By"),
        "created_at": TableColumn("Written", "time", help="UTC"),
    }
    tables.show(shown, columns, data.source(view, "marks"), key="marks", alt="Marks set by users")


def _scope(row: object) -> str:
    named = [f"{name} {value}" for name in NAMES if not missing(value := getattr(row, name))]
    return ", ".join(named) or "all series"


PAGE = PageSpec(place=60, title="Trends", url_path="trends", icon=":material/timeline:", show=show)
