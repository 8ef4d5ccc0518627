"""Operators that were recorded from a model: calls x time of each, and what they take together beside the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, tables
from dashboard.rows import each, sections
from dashboard.screens import opening
from dashboard.screens.operators.table import KEYS, short
from dashboard.tables import Column, measured
from dashboard.words import escape
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View


def show(view: View, rows: pd.DataFrame, operator: str | None) -> None:
    """Draw one part per model; nothing where operators are of none."""
    totals = data.rows(view.snapshot, "operator_totals", view.selection)
    for (model, test), part in sections(rows[rows["of_model"].notna()], ["of_model", "of_test"]):
        st.subheader(f"Of {escape(model)}, {escape(test)}", anchor=False)
        _sums(view, totals[(totals["of_model"] == model) & (totals["of_test"] == test)], f"{model}-{test}")
        _shares(view, part, operator, f"{model}-{test}")


def _sums(view: View, totals: pd.DataFrame, key: str) -> None:
    """Draw what all operators of the model take together, whatever is filtered."""
    st.caption(
        "All its operators together, whatever is filtered: calls x time of one, beside the model itself. What eager "
        "takes beyond the sum is Python, views and waiting; a compiler may take less than the sum, because in the "
        "model it fuses what is apart here."
    )
    columns = {
        "variant": Column("Backend", pinned=True),
        "accelerator": Column("Accelerator"),
        "environment": Column("Environment"),
        "calls_s": measured("calls_s"),
        "model_latency_s": measured("model_latency_s"),
        "model_share": measured("model_share"),
        "operators_n": measured("operators_n"),
        "measured_n": measured("measured_n"),
        "calls": measured("calls"),
    }
    tables.show(
        totals,
        tables.without_constant(columns, totals, ("accelerator", "environment")),
        key=f"sums-{key}",
        alt="Sum of calls x time of the model's operators by backend, beside the model's latency",
        file_name=view.file_name("operator-totals"),
        sql=data.statement("operator_totals", view.selection),
    )


def _shares(view: View, rows: pd.DataFrame, operator: str | None, key: str) -> None:
    opening.table(
        view,
        abreast(rows),
        _columns(rows),
        key=f"shares-{key}",
        alt="Calls x time of each operator of the model, and its share of the model's latency",
        file_name="operators-of-model",
        sql=data.statement("operators", view.selection, named=operator),
        told_once=("accelerator",),
    )


def abreast(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per operator, that with the largest share under any backend first."""
    found = []
    for keys, part in rows.groupby(KEYS, sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(KEYS, keys, strict=True)) | {"calls": part["calls"].iloc[0]}
        for one in each(part):
            row[f"calls_s {one.series}"] = one.calls_s
            row[f"model_share {one.series}"] = one.model_share
        row["most"] = part["calls_s"].max()
        found.append(row)
    return pd.DataFrame(found).sort_values("most", ascending=False, na_position="last", ignore_index=True)


def _columns(rows: pd.DataFrame) -> dict[str, Column]:
    columns = {
        "operator": Column("Operator", pinned=True),
        "arguments": Column("Arguments", pinned=True),
        "accelerator": Column("Accelerator"),
        "calls": measured("calls"),
    }
    for series in dict.fromkeys(rows["series"]):
        of_time, of_share = (f"{series}: {metric(name).definition}" for name in ("calls_s", "model_share"))
        columns[f"calls_s {series}"] = Column(f"{short(series)}, ms", "ms", help=of_time)
        columns[f"model_share {series}"] = Column(f"{short(series)}, %", "percent", help=of_share)
    return columns
