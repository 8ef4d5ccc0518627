"""Data of the pages: the store's queries and the SQL of `queries/`, cached per snapshot.

Values reach SQL only as bound parameters; statements with literal values are for people to copy, and are never run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.data import query_text, run_subsets, snapshot
from dashboard.data.frames import iter_rows
from dashboard.data.run_subsets import ByteLimitedCache
from dashboard.settings import KEPT_REVIEWS_BYTES, KEPT_ROWS_BYTES
from dashboard.view import FILTER_WORDS, Choices, View, ViewSelection, run_text
from store import query
from store.compare import Side
from store.compare.calibration import floor_for, floors_without
from store.paired.judged import process_intervals
from store.query import Filters
from store.report import hud, peer
from store.report.peer import PeerOptions
from store.report.table import Report
from store.review import Review
from store.review import review as review_of
from store.stats.floors import Floor
from store.weekly.lanes import WEEK

pd.options.mode.string_storage = "python"
"""Pages read a few hundred rows cell by cell; with Arrow's strings that took a quarter of a page's time."""

_OF_SERIES = tuple(name for name in FILTER_WORDS if name != "model")
_OF_RESULTS = tuple(FILTER_WORDS)
_FILTERED_LATER: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("attention", "changes", "doubts", "experiments", "failing", "operators", "results"), _OF_RESULTS),
    **dict.fromkeys(("fallback_calls", "fallback_coverage", "fallback_ops", "graph_breaks", "speedups"), _OF_RESULTS),
    "profiles_of_others": _OF_RESULTS,
    **dict.fromkeys(("cost_changes", "counts", "geomean_changes", "geomeans", "memory_ratios"), _OF_SERIES),
    **dict.fromkeys(("last_geomeans", "trend_geomeans", "trend_steps"), _OF_SERIES),
    **dict.fromkeys(("break_even_counts", "compile_medians"), ("backend", "test", "accelerator", "dtype")),
    "sides": tuple(name for name in _OF_RESULTS if name != "model"),
    "trend_history": ("backend", "dtype"),
    "trend_models": ("model",),
}
"""Query → filters that only select among its rows. The query runs once without them, so that another choice needs no
query; the statement that the page shows contains them and has the same rows."""


_RESULT = ("run_id", "experiment_id", "environment")
"""Columns that identify a result."""
_SPEEDUP = ("speedup", "speedup_low", "speedup_high")
_WITH_INTERVALS = {
    **dict.fromkeys(("attention", "break_evens", "operators", "sides", "speedup_curve", "speedups"), _SPEEDUP),
    "against": ("ratio", "ratio_low", "ratio_high"),
}
"""Query → its columns of a speedup and of the ends of its interval."""


def runs(snapshot_path: str) -> pd.DataFrame:
    """Return view `runs`, the newest run first."""
    return _runs(snapshot_path).copy(deep=False)  # as in `_rows`


@st.cache_resource(max_entries=8, show_spinner=False)
def _runs(snapshot_path: str) -> pd.DataFrame:
    return query.runs(snapshot.connection(snapshot_path))


@st.cache_resource(max_entries=8, show_spinner=False)
def labels(snapshot_path: str) -> tuple[str, ...]:
    """Return the labels of runs, that of the newest run first."""
    return tuple(runs(snapshot_path)["run_label"].dropna().unique())


@st.cache_resource(max_entries=16, show_spinner=False)
def choices(snapshot_path: str, label: str | None = None) -> Choices:
    """Return the options of the filters; the boxes of runs offer the runs of a label."""
    every = runs(snapshot_path)
    labelled = every[every["run_label"] == label] if label in labels(snapshot_path) else every
    texts = _named_runs(every)
    newest = newest_run(snapshot_path, labelled)
    newer = labelled.iloc[: labelled["run_id"].tolist().index(newest)]
    verifying = newer["verify_only_n"] >= newer["planned_n"]
    values, devices = _values(snapshot_path)
    return Choices(
        runs=tuple(texts.items()),
        listed=tuple(texts[run_id] for run_id in labelled["run_id"]),
        values=values,
        devices=devices,
        newest=newest,
        reruns=tuple(newer.loc[~verifying, "run_id"]),
        verifying=tuple(newer.loc[verifying, "run_id"]),
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _values(snapshot_path: str) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the values of each filter, and the devices."""
    con = snapshot.connection(snapshot_path)
    facets = query.facets(con)
    values = {name: tuple(facets.loc[facets["facet"] == name, "value"]) for name in FILTER_WORDS}
    return values, tuple(query.select(con, query_text.sql("devices"))["device"])


def newest_run(snapshot_path: str, candidates: pd.DataFrame) -> str:
    """Return the newest run that is no rerun of a few results of a larger run of its week.

    Such a rerun says nothing about the other results. A small run of something else, as of the user's own model, is
    what its user looks for. A run that only verifies answers counts only if there is no other run.

    Args:
        snapshot_path: the snapshot.
        candidates: rows of view `runs` from the newest on, at least one.
    """
    timed = candidates[candidates["verify_only_n"] < candidates["planned_n"]]
    counted = timed if len(timed) else candidates
    week = counted[counted["run_started"] > counted["run_started"].iloc[0] - WEEK]
    text = query_text.sql("reruns_of_few")
    reruns = query.select(snapshot.connection(snapshot_path), text, {"runs": list(week["run_id"])})
    return str(week.loc[~week["run_id"].isin(reruns["run_id"]), "run_id"].iloc[0])


def rows(snapshot_path: str, name: str, selection: ViewSelection, **more: Any) -> pd.DataFrame:
    """Return the rows of a query in `queries/` or `store/queries/`; `more` holds its further parameters."""
    outside = _FILTERED_LATER.get(name, ())
    narrowed = selection.without(outside)
    frame = _rows(snapshot_path, name, narrowed, more)
    if name in _WITH_INTERVALS:
        frame = _with_process_intervals(snapshot_path, frame, _over(selection, more), _WITH_INTERVALS[name])
    if name == "attention":
        frame = _with_slower(snapshot_path, frame, narrowed)
    return filtered_rows(frame, selection, outside)


def _over(selection: ViewSelection, more: Mapping[str, Any]) -> ViewSelection:
    """Return a selection of only the run and the baseline, as intervals depend on nothing else."""
    alone = replace(selection.unfiltered(), rule="paired")
    return ViewSelection(run_id=alone.run_id, baseline=str(more["series_a"])) if "series_a" in more else alone


def _with_process_intervals(
    snapshot_path: str, rows: pd.DataFrame, over: ViewSelection, names: tuple[str, str, str]
) -> pd.DataFrame:
    """Add intervals over processes to speedups with too few blocks for an interval, as reports do."""
    speedup, low, high = names
    if not _lacks_interval(rows, speedup, low).any():
        return rows
    intervals = _process_intervals(snapshot_path, over)
    keys = zip(*(rows[name] for name in _RESULT), strict=True)
    ends = [intervals.get(key, (math.nan, math.nan)) for key in keys]
    filled = {
        name: rows[name].fillna(pd.Series([pair[side] for pair in ends], index=rows.index, dtype=float))
        for side, name in enumerate((low, high))
    }
    return _judged_operators(rows.assign(**filled)) if "verdict_reason" in rows.columns else rows.assign(**filled)


def _lacks_interval(rows: pd.DataFrame, speedup: str = "speedup", low: str = "speedup_low") -> pd.Series:
    """Tell which rows have a speedup without an interval; that of the baseline itself is 1 and needs none."""
    return rows[speedup].notna() & (rows[speedup] != 1) & rows[low].isna()


def _judged_operators(rows: pd.DataFrame) -> pd.DataFrame:
    """Set the verdicts of operators from their intervals, as macro operator_speedups does."""
    filled = rows["verdict"].isna() & rows["speedup_low"].notna()
    words = [
        "faster" if row.speedup_low > 1 else "slower" if row.speedup_high < 1 else "same"
        for row in iter_rows(rows[filled])
    ]
    verdicts, reasons = rows["verdict"].astype(object), rows["verdict_reason"].astype(object)
    verdicts[filled], reasons[filled] = words, None
    return rows.assign(verdict=verdicts, verdict_reason=reasons)


@st.cache_data(max_entries=20, show_spinner="Reading the store…")
def _process_intervals(snapshot_path: str, over: ViewSelection) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Return the intervals over processes of a run's speedups, by run, experiment and environment."""
    text = query_text.sql("sides")
    con = snapshot.connection(snapshot_path)
    return process_intervals(con, query.fetch(con, text, _bound(text, over, {})))


def _with_slower(snapshot_path: str, findings: pd.DataFrame, selection: ViewSelection) -> pd.DataFrame:
    """Add the results whose interval over processes is below 1, as the query sees only intervals over blocks."""
    speedups = rows(snapshot_path, "speedups", selection)
    slower = speedups[(speedups["speedup_high"] < 1) & (speedups["backend"] != "eager")]
    keys = [pd.MultiIndex.from_frame(frame[list(_RESULT)]) for frame in (slower, findings)]
    added = slower[~keys[0].isin(keys[1])].assign(finding="slower than baseline").sort_values("speedup")
    return pd.concat([findings, added.reindex(columns=findings.columns)], ignore_index=True) if len(added) else findings


def filtered_rows(frame: pd.DataFrame, selection: ViewSelection, names: Iterable[str]) -> pd.DataFrame:
    """Return the rows that pass these filters of a selection."""
    passing = [frame[name].isin(values) for name in names if (values := getattr(selection, name))]
    return frame[np.logical_and.reduce(passing)].reset_index(drop=True) if passing else frame


def _rows(snapshot_path: str, name: str, selection: ViewSelection, more: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a query; it runs again only if one of its parameters has changed."""
    text, subset = query_text.sql(name, only=bool(selection.only)), run_subsets.of(name)
    bound = _bound(text, selection, more)
    of_subset = {} if subset is None else _bound(run_subsets.text(subset), selection, more)

    def read() -> pd.DataFrame:
        with st.spinner("Reading the store…"):
            if subset is not None:
                return run_subsets.get(snapshot_path, subset, of_subset).select(text, bound)
            return query.select(snapshot.connection(snapshot_path), text, bound)

    key = (snapshot_path, text, subset, *(repr(sorted(values.items())) for values in (bound, of_subset)))
    # A shallow copy: pandas copies a column when somebody writes to it. `st.cache_data` would unpickle all of them.
    return _shared_rows().get(key, read).copy(deep=False)


_CELL_BYTES = 64
"""Size of a cell with a short text; pandas takes as long to measure it as the query takes."""


@st.cache_resource(show_spinner=False)
def _shared_rows() -> ByteLimitedCache[pd.DataFrame]:
    """Return the cache of query results that all sessions share."""
    return ByteLimitedCache(KEPT_ROWS_BYTES, lambda frame: _CELL_BYTES * frame.size)


class TableSource(NamedTuple):
    """Where the rows of a table come from, for its downloads."""

    file_name: str
    """Name of the files, without a suffix."""
    sql: str | Mapping[str, str] | None = None
    """Statement behind the rows with literal values, or several by title if the rows are computed from them."""


def source(view: View, what: str, query_name: str = "", **more: Any) -> TableSource:
    """Return the source of a query's rows in files named after `what`, the query's name if that is not given."""
    return TableSource(view.file_name(what), statement(query_name or what.replace("-", "_"), view.selection, **more))


def statement(name: str, selection: ViewSelection, **more: Any) -> str:
    """Return a query in `queries/` with its parameters as literals, to show and to copy."""
    text = query_text.sql(name, only=bool(selection.only))
    return query_text.written_out(text, _bound(text, selection, more))


def _bound(text: str, selection: ViewSelection, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a query names."""
    offered = selection.parameters() | dict(more)
    return {name: offered[name] for name in query_text.names(text)}


def base_run(snapshot_path: str, selection: ViewSelection) -> dict[str, Any] | None:
    """Return the run that the shown one is compared with: the newest earlier one of the same series."""
    earlier = earlier_runs(snapshot_path, selection)
    return None if earlier.empty else {str(name): value for name, value in earlier.iloc[0].items()}


def earlier_runs(snapshot_path: str, selection: ViewSelection) -> pd.DataFrame:
    """Return the newest earlier runs of the same series, without the filters."""
    return rows(snapshot_path, "earlier_runs", ViewSelection(run_id=selection.run_id, baseline=selection.baseline))


def last_runs(snapshot_path: str, selection: ViewSelection) -> dict[str, Any]:
    """Return the parameters of a query over the shown run and the newest earlier runs of the same series."""
    return over_runs(selection, [selection.run_id, *earlier_runs(snapshot_path, selection)["run_id"]])


def over_runs(selection: ViewSelection, run_ids: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of a query over several runs; a baseline of the same run is that of each run."""
    return {"runs": list(run_ids), "point": selection.parameters()["baseline_point"]}


@lru_cache(maxsize=100)  # `st.cache_data` takes a millisecond to look an entry up, and a page asks for each mean
def noise_floor(snapshot_path: str, runs_compared: tuple[str, ...], **measured: str | None) -> Floor:
    """Return the noise floor of a machine from runs other than the compared ones, of pairs `measured` in this way."""
    floors = floors_without(snapshot.connection(snapshot_path), runs_compared)
    return floor_for(floors, {"experiment_id": None, **measured})


@st.cache_data(max_entries=20, show_spinner="Reading the store…")
def hud_report(snapshot_path: str, selection: ViewSelection) -> Report:
    """Return the report under the HUD's rule, of the shown run."""
    filters = Filters(run=(selection.run_id,), **selection.chosen())
    at = None if selection.baseline_point == "same" else selection.baseline_run
    return hud.hud_report(
        snapshot.connection(snapshot_path), filters, baseline_backend=selection.baseline, baseline_run=at
    )


@st.cache_data(max_entries=20, show_spinner="Reading the store…", hash_funcs={PeerOptions: repr})
def peer_report(snapshot_path: str, options: PeerOptions) -> Report:
    """Return one of the reports under the rule of PyTorch/XLA's aggregator."""
    return peer.peer_report(snapshot.connection(snapshot_path), options)


def review(snapshot_path: str, old: Side, new: Side) -> Review:
    """Return the review of two sides, which is made once per snapshot.

    Raises:
        UsageError: the new side measured nothing.
    """
    return _reviews().get((snapshot_path, old, new), lambda: _new_review(snapshot_path, old, new))


@st.cache_resource(show_spinner=False)
def _reviews() -> ByteLimitedCache[Review]:
    """Return the cache of reviews that all sessions share. It is limited by bytes, because reviews differ in size."""
    return ByteLimitedCache(KEPT_REVIEWS_BYTES)


def _new_review(snapshot_path: str, old: Side, new: Side) -> Review:
    with st.spinner("Comparing…"):
        return review_of(snapshot.connection(snapshot_path), old, new)


def _named_runs(candidates: pd.DataFrame) -> dict[str, str]:
    """Return the text of each run; texts that would be equal end with the whole id."""
    texts = {str(row.run_id): run_text(row) for row in iter_rows(candidates)}
    several = Counter(texts.values())
    return {run_id: text if several[text] == 1 else f"{text} {run_id}" for run_id, text in texts.items()}
