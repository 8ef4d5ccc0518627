"""What the pages read: the store's queries and the SQL of `queries/`, cached per snapshot.

Values reach SQL only as bound parameters; a statement with its values written out is for people to copy, never run.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import literals, run_subsets, snapshot
from dashboard.filters import Choices, run_text
from dashboard.rows import each
from dashboard.selection import FILTER_WORDS, ViewSelection
from dashboard.settings import KEPT_ROWS_BYTES
from store import query
from store.compare.calibration import floor_for, floors_without
from store.paired.judged import process_intervals
from store.query import Filters
from store.report import hud, peer
from store.report.peer import PeerOptions
from store.weekly.lanes import WEEK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from store.report.table import Report
    from store.stats.floors import Floor

pd.options.mode.string_storage = "python"
"""Pages take a few hundred rows apart cell by cell: as Arrow's strings that took a quarter of a page's time."""

_FOLDER = Path(__file__).with_name("queries")
_FILTERS = "/*filters*/"
_OF_SERIES = tuple(name for name in FILTER_WORDS if name != "model")
_OF_RESULTS = tuple(FILTER_WORDS)
_PICKED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "attention",
            "changes",
            "doubts",
            "experiments",
            "failing",
            "fallback_calls",
            "fallback_ops",
            "graph_breaks",
            "operators",
            "results",
            "speedups",
        ),
        _OF_RESULTS,
    ),
    **dict.fromkeys(
        (
            "cost_changes",
            "counts",
            "geomean_changes",
            "geomeans",
            "last_geomeans",
            "memory_ratios",
            "trend_geomeans",
        ),
        _OF_SERIES,
    ),
    "fallback_coverage": ("backend",),
    "sides": tuple(name for name in _OF_RESULTS if name != "model"),
    "trend_history": ("backend", "dtype"),
    "trend_models": ("model",),
}
"""Query → the filters that only choose among its rows: it is asked for all of them once, and another choice costs no
query. Its statement has them, and gives the same rows."""


_RESULT = ("run_id", "experiment_id", "environment")
"""Columns that name a result."""
_SPEEDUP = ("speedup", "speedup_low", "speedup_high")
_WITH_INTERVALS = {
    **dict.fromkeys(("attention", "break_evens", "operators", "sides", "speedup_curve", "speedups"), _SPEEDUP),
    "against": ("ratio", "ratio_low", "ratio_high"),
}
"""Query → its columns of a speedup and the ends of its interval."""


@st.cache_data(max_entries=8, show_spinner=False)
def runs(shown: str) -> pd.DataFrame:
    """Return view `runs` from the newest on."""
    return query.runs(snapshot.connection(shown))


def labels(shown: str) -> tuple[str, ...]:
    """Return the labels of runs, from that of the newest run on."""
    return tuple(runs(shown)["run_label"].dropna().unique())


@st.cache_data(max_entries=16, show_spinner=False)
def choices(shown: str, label: str | None = None) -> Choices:
    """Return what the filters offer; the boxes of runs offer those of a label."""
    every = runs(shown)
    known = every[every["run_label"] == label] if label in labels(shown) else every
    texts = _named_runs(every)
    newest = newest_run(known)
    newer = known.iloc[: known["run_id"].tolist().index(newest)]
    verifying = newer["verify_only_n"] >= newer["planned_n"]
    values, devices = _values(shown)
    return Choices(
        runs=tuple(texts.items()),
        listed=tuple(texts[run_id] for run_id in known["run_id"]),
        values=values,
        devices=devices,
        newest=newest,
        reruns_n=int((~verifying).sum()),
        verifying_n=int(verifying.sum()),
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _values(shown: str) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the values of each filter, and the devices."""
    con = snapshot.connection(shown)
    facets = query.facets(con)
    values = {name: tuple(facets.loc[facets["facet"] == name, "value"]) for name in FILTER_WORDS}
    return values, tuple(query.select(con, sql("devices"))["device"])


def newest_run(known: pd.DataFrame) -> str:
    """Return the newest run that is no rerun of a few cells: one that plans half of what others of its week do there.

    It is the rule of the weekly review. What measures some cells again says nothing of all others. A run that only
    verifies, as that after a first look does, is the newest where no other one is.

    Args:
        known: rows of view `runs` from the newest on, at least one.
    """
    week = known[known["run_started"] > known["run_started"].iloc[0] - WEEK]
    most = week.groupby("machine_id", dropna=False)["planned_n"].transform("max")
    whole = week[2 * week["planned_n"] >= most]
    timed = whole[whole["verify_only_n"] < whole["planned_n"]]
    return str((timed if len(timed) else whole)["run_id"].iloc[0])


def speedups(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the speedups of the shown run."""
    return rows(shown, "speedups", selection)


def sides(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the speedups of the shown run with every column of the results."""
    return rows(shown, "sides", selection)


def geomeans(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the geometric means of the shown run over the filtered models."""
    return rows(shown, "geomeans", selection)


def results(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the results of the shown run with their compile numbers."""
    return rows(shown, "results", selection)


def experiments(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the results of the shown run with how each was measured and is measured again."""
    return rows(shown, "experiments", selection)


def fallback_ops(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the fallback ops of the shown run."""
    return rows(shown, "fallback_ops", selection)


def graph_breaks(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the graph breaks of the shown run."""
    return rows(shown, "graph_breaks", selection)


def rows(shown: str, name: str, selection: ViewSelection, **more: Any) -> pd.DataFrame:
    """Return the rows of a query of `queries/`, or of `store/queries/`.

    Args:
        shown: the snapshot.
        name: of the file, without its suffix.
        selection: gives the filters and the baseline.
        more: further parameters of the query.
    """
    outside = _PICKED.get(name, ())
    asked = selection.without(outside)
    text = sql(name, only=bool(selection.only))
    frame = _rows(shown, text, _bound(text, asked, more), _excerpt(name, asked, more))
    if name in _WITH_INTERVALS:
        frame = _with_process_intervals(shown, frame, _over(selection, more), _WITH_INTERVALS[name])
    if name == "attention":
        frame = _with_slower(shown, frame, asked)
    return filtered_rows(frame, selection, outside)


def _over(selection: ViewSelection, more: Mapping[str, Any]) -> ViewSelection:
    """Return the run and the baseline of a query, which are all that its intervals depend on."""
    alone = replace(selection.unfiltered(), rule="paired")
    return ViewSelection(run_id=alone.run_id, baseline=str(more["series_a"])) if "series_a" in more else alone


def _with_process_intervals(
    shown: str, rows: pd.DataFrame, over: ViewSelection, names: tuple[str, str, str]
) -> pd.DataFrame:
    """Fill in the intervals of speedups that have too few blocks for one: those of the processes, as reports have."""
    speedup, low, high = names
    if not _lacks_interval(rows, speedup, low).any():
        return rows
    known = _process_intervals(shown, over)
    keys = zip(*(rows[name] for name in _RESULT), strict=True)
    ends = [known.get(key, (math.nan, math.nan)) for key in keys]
    filled = {
        name: rows[name].fillna(pd.Series([pair[side] for pair in ends], index=rows.index, dtype=float))
        for side, name in enumerate((low, high))
    }
    return _judged_operators(rows.assign(**filled)) if "verdict_reason" in rows.columns else rows.assign(**filled)


def _lacks_interval(rows: pd.DataFrame, speedup: str = "speedup", low: str = "speedup_low") -> pd.Series:
    """Tell which rows have a speedup without an interval; of the baseline itself it is 1 and has none."""
    return rows[speedup].notna() & (rows[speedup] != 1) & rows[low].isna()


def _judged_operators(rows: pd.DataFrame) -> pd.DataFrame:
    """Give operators the verdict that belongs to their interval, as macro operator_speedups does."""
    filled = rows["verdict"].isna() & rows["speedup_low"].notna()
    words = [
        "faster" if row.speedup_low > 1 else "slower" if row.speedup_high < 1 else "same" for row in each(rows[filled])
    ]
    verdicts, reasons = rows["verdict"].astype(object), rows["verdict_reason"].astype(object)
    verdicts[filled], reasons[filled] = words, None
    return rows.assign(verdict=verdicts, verdict_reason=reasons)


@st.cache_data(max_entries=20, show_spinner="Reading the store…")
def _process_intervals(shown: str, over: ViewSelection) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Return the intervals over processes of a run's speedups, by run, experiment and environment."""
    text = sql("sides")
    con = snapshot.connection(shown)
    return process_intervals(con, query.fetch(con, text, _bound(text, over, {})))


def _with_slower(shown: str, findings: pd.DataFrame, selection: ViewSelection) -> pd.DataFrame:
    """Add the results whose interval over processes lies below 1: the query sees intervals over blocks alone."""
    rows = speedups(shown, selection)
    rows = rows[(rows["speedup_high"] < 1) & (rows["backend"] != "eager")]
    keys = [pd.MultiIndex.from_frame(frame[list(_RESULT)]) for frame in (rows, findings)]
    added = rows[~keys[0].isin(keys[1])].assign(finding="slower than baseline").sort_values("speedup")
    return pd.concat([findings, added.reindex(columns=findings.columns)], ignore_index=True) if len(added) else findings


def filtered_rows(frame: pd.DataFrame, selection: ViewSelection, names: Iterable[str]) -> pd.DataFrame:
    """Return the rows that pass these filters of a selection."""
    wanted = {name: values for name in names if (values := getattr(selection, name))}
    for column, values in wanted.items():
        frame = frame[frame[column].isin(values)]
    return frame.reset_index(drop=True) if wanted else frame


@st.cache_data(max_entries=200, max_size=KEPT_ROWS_BYTES, show_spinner="Reading the store…")
def _rows(shown: str, text: str, bound: dict[str, Any], among: tuple[str, dict[str, Any]] | None) -> pd.DataFrame:
    """Return the rows of a statement: asked again only where a parameter that it names has changed.

    Args:
        shown: the snapshot.
        text: the statement.
        bound: its parameters.
        among: the excerpt that it is asked of, with its parameters; None for the snapshot.
    """
    if among is not None:
        return run_subsets.get(shown, *among).select(text, bound)
    return query.select(snapshot.connection(shown), text, bound)


def _excerpt(name: str, selection: ViewSelection, more: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    excerpt = run_subsets.of(name)
    return None if excerpt is None else (excerpt, _bound(run_subsets.text(excerpt), selection, more))


def statement(name: str, selection: ViewSelection, **more: Any) -> str:
    """Return a query of `queries/` with its parameters as literals, to show and to copy."""
    text = sql(name, only=bool(selection.only))
    return literals.written_out(text, _bound(text, selection, more))


def _bound(text: str, selection: ViewSelection, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a query names."""
    offered = selection.parameters() | dict(more)
    return {name: offered[name] for name in literals.names(text)}


def base_run(shown: str, selection: ViewSelection) -> dict[str, Any] | None:
    """Return the run that the shown one is compared with: the newest earlier one of the same series."""
    earlier = earlier_runs(shown, selection)
    return None if earlier.empty else {str(name): value for name, value in earlier.iloc[0].items()}


def earlier_runs(shown: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the newest earlier runs of the same series, whatever the filters say."""
    return rows(shown, "earlier_runs", ViewSelection(run_id=selection.run_id, baseline=selection.baseline))


@st.cache_data(max_entries=100, show_spinner=False)
def noise_floor(shown: str, runs_compared: tuple[str, ...], machine_id: str | None) -> Floor:
    """Return the noise floor of a machine, from other runs than those that are compared."""
    floors = floors_without(snapshot.connection(shown), runs_compared)
    return floor_for(floors, {"machine_id": machine_id, "experiment_id": None})


@st.cache_data(max_entries=20, show_spinner="Reading the store…")
def hud_report(shown: str, selection: ViewSelection) -> Report:
    """Return the report under the HUD's rule, of the shown run."""
    filters = Filters(run=(selection.run_id,), **selection.chosen())
    at = None if selection.baseline_point == "same" else selection.baseline_run
    return hud.hud_report(snapshot.connection(shown), filters, baseline_backend=selection.baseline, baseline_run=at)


@st.cache_data(max_entries=20, show_spinner="Reading the store…", hash_funcs={PeerOptions: repr})
def peer_report(shown: str, options: PeerOptions) -> Report:
    """Return one of the reports under the rule of PyTorch/XLA's aggregator."""
    return peer.peer_report(snapshot.connection(shown), options)


@cache
def sql(name: str, *, only: bool = False) -> str:
    """Return the text of a query file, with the shared filters in place of their mark.

    Args:
        name: of the file, without its suffix.
        only: whether models with fallback ops or graph breaks may be left out.
    """
    filters = _read("filters") + (f"\n{_read('filters_only')}" if only else "")
    return _read(name).replace(_FILTERS, filters)


def _read(name: str) -> str:
    """Return a query of ours; of the store, where a page and a report ask the same."""
    path = _FOLDER / f"{name}.sql"
    return (path.read_text(encoding="utf-8") if path.is_file() else query.marked(name)).rstrip()


def _named_runs(known: pd.DataFrame) -> dict[str, str]:
    """Return the text of each run; two runs whose ids begin alike are told apart by the whole ids."""
    texts = {str(row.run_id): run_text(row) for row in each(known)}
    several = Counter(texts.values())
    return {run_id: text if several[text] == 1 else f"{text} {run_id}" for run_id, text in texts.items()}
