"""Operators by arguments, time and verdict of each backend in a row; then every result with all its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, rerun
from dashboard.rows import each
from dashboard.screens import opening
from dashboard.tables import Column, measured
from dashboard.verdicts import LOOKS
from dashboard.words import STATUS_WORDS, TIMES, count, escape, interval, missing, ratio
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

_US = 1e6
KEYS = ["operator", "arguments", "test", "accelerator", "suite", "model"]
"""What is one row of the table: a call of an operator, forward or with its backward."""


def show(view: View, rows: pd.DataFrame, operator: str | None) -> None:
    """Draw both tables; a row opens its operator as a model."""
    st.subheader("Operators by backend", anchor=False)
    st.caption(
        f"Median time of one call in µs; beside it the speedup over {escape(view.baseline_text)}: ▲ faster, ▼ slower, "
        "≈ no difference seen by its 95 % interval; without a sign no verdict, and the note says why. eval is the "
        "forward, train forward and backward."
    )
    listed, columns = abreast(rows), _abreast_columns(view, rows)
    opening.table(
        view,
        listed,
        columns if listed["note"].notna().any() else {name: columns[name] for name in columns if name != "note"},
        key="operators",
        alt="Time of each operator under each backend, with its speedup over the baseline",
        file_name="operators",
        sql=data.statement("operators", view.selection, named=operator),
        told_once=("accelerator",),
    )
    rerun.offer(view, rerun.of_rows(rows), key="operators")
    _every(view, rows, operator)


def abreast(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per call of an operator; time and verdict of each series are columns of it."""
    found = []
    for keys, part in rows.groupby(KEYS, sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(KEYS, keys, strict=True))
        of_series = list(each(part))
        ran = [int(one.steady_n) for one in of_series if not missing(one.latency_s) and not missing(one.steady_n)]
        row["steady_n"] = min(ran) if ran else None
        for one in of_series:
            row[f"latency_s {one.series}"] = one.latency_s
            row[f"speedup {one.series}"] = _verdict(one)
        row["note"] = _note(of_series)
        found.append(row)
    return pd.DataFrame(found)


def _note(rows: list[Any]) -> str | None:
    """Return why results have no verdict, each reason once; whose it is where it is not that of all."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if not missing(row.verdict_reason) and not _is_baseline(row):
            reasons.setdefault(str(row.verdict_reason), []).append(str(row.series))
    texts = [why if len(names) == len(rows) else f"{', '.join(names)}: {why}" for why, names in reasons.items()]
    return "; ".join(texts) or None


def _is_baseline(row: Any) -> bool:
    return not missing(row.record_id) and bool(row.record_id == row.baseline_record_id)


def _verdict(row: Any) -> str | None:
    """Return sign and ratio; a ratio alone where there is no verdict, nothing where there is no ratio."""
    if missing(row.speedup) or _is_baseline(row):
        return None
    return ratio(row.speedup) if missing(row.verdict) else f"{LOOKS[row.verdict].sign} {ratio(row.speedup)}"


def _abreast_columns(view: View, rows: pd.DataFrame) -> dict[str, Column]:
    columns = {
        "operator": Column("Operator", pinned=True),
        "arguments": Column("Arguments", pinned=True),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
    }
    of_latency, of_speedup = metric("latency_s").definition, metric("speedup").definition
    every = list(dict.fromkeys(rows["series"]))
    for series in every:
        told = f"{series}: {of_latency}"
        columns[f"latency_s {series}"] = Column(f"{short(series)}, µs", "decimal", help=told, scale=_US)
    for series in every:
        if series != view.selection.baseline:
            told = f"{series}: {of_speedup} Baseline: {view.baseline_text}."
            columns[f"speedup {series}"] = Column(f"{short(series)} {TIMES}", "verdict", help=told)
    return columns | {
        "steady_n": Column("n", "number", help=f"{metric('steady_n').definition} Of the backend with fewest."),
        "note": Column("No verdict because"),
    }


def _every(view: View, rows: pd.DataFrame, operator: str | None) -> None:
    verdicts: list[Any] = [_in_words(row) for row in each(rows)]
    listed = rows.assign(
        status=[STATUS_WORDS.get(status, status) for status in rows["status"]],
        verdict=verdicts,
        interval=[interval(row.speedup_low, row.speedup_high) for row in each(rows)],
        verdict_reason=[row.reason if missing(row.latency_s) else row.verdict_reason for row in each(rows)],
    )
    with st.expander(f"Each result, {count(len(rows), 'row')}", key="each-operator"):
        opening.table(
            view,
            listed,
            _every_column(view),
            key="each-operators",
            alt="Each result of an operator: times, floor, speedup, bytes, FLOP",
            file_name="operator-results",
            sql=data.statement("operators", view.selection, named=operator),
            told_once=("accelerator", "dtype"),
        )


def _in_words(row: Any) -> str | None:
    if missing(row.verdict):
        return None
    return f"{LOOKS[row.verdict].sign} {'no difference seen' if row.verdict == 'same' else LOOKS[row.verdict].word}"


def _every_column(view: View) -> dict[str, Column]:
    return {
        "operator": Column("Operator", pinned=True),
        "arguments": Column("Arguments", pinned=True),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "latency_s": micro("latency_s"),
        "steady_n": Column("n", "number", help=metric("steady_n").definition),
        "floor_s": micro("floor_s", hidden=True),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": Column("95 %", help="Interval of the speedup; needs 6 samples on both sides."),
        "verdict": Column("Verdict", "verdict"),
        "verdict_reason": Column("Note", help="Why there is no verdict, or no time."),
        "forward_s": micro("forward_s", hidden=True),
        "forward_speedup": measured("forward_speedup", hidden=True),
        "backward_s": micro("backward_s", hidden=True),
        "backward_speedup": measured("backward_speedup", hidden=True),
        "input_bytes": measured("input_bytes", hidden=True),
        "bytes_per_s": Column(
            "Bytes given, GB/s", "decimal", help=metric("bytes_per_s").definition, scale=1e-9, hidden=True
        ),
        "flops": Column("MFLOP", "decimal", help=metric("flops").definition, scale=1e-6, hidden=True),
        "flops_per_s": Column("GFLOP/s", "decimal", help=metric("flops_per_s").definition, scale=1e-9, hidden=True),
        "status": Column("Status", hidden=True),
        "dtype": Column("Dtype", hidden=True),
    }


def short(series: str) -> str:
    """Return the name of a series for the head of a narrow column, whose help has all of it."""
    return series.removeprefix("openxla+")


def micro(name: str, *, hidden: bool = False) -> Column:
    """Return the column of a time of the registry in microseconds: an operator's is often below a millisecond."""
    known = metric(name)
    return Column(f"{known.label}, µs", "decimal", help=known.definition, scale=_US, hidden=hidden)
