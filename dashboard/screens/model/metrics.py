"""Metrics: every number of the result with its unit and definition, and why one is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, downloads
from dashboard.rows import each
from dashboard.words import DASH, missing
from store.metrics import METRICS

if TYPE_CHECKING:
    from dashboard.screens.model.result import Result
    from dashboard.view import View

_NOT_KNOWN = "No definition: the value is as the record has it."


def show(view: View, result: Result) -> None:
    """Draw one table of all numbers, those of the record without a column last."""
    row = result.row
    known = [_known(name, row[name]) for name in METRICS if name in row.index]
    found = data.rows(view.snapshot, "model_metrics", view.selection, **result.keys)
    further = [_known(each_.name, each_.value) for each_ in each(found)]
    rows = pd.DataFrame([*known, *further], columns=["name", "label", "value", "unit", "definition"])
    st.dataframe(
        rows[["label", "value", "unit", "definition", "name"]],
        column_config={
            "label": st.column_config.TextColumn("Metric", pinned=True),
            "value": st.column_config.TextColumn("Value", alignment="right"),
            "unit": st.column_config.TextColumn("Unit"),
            "definition": st.column_config.TextColumn("What it is, or why it is missing", width="large"),
            "name": st.column_config.TextColumn("Column"),
        },
        hide_index=True,
        key="metrics",
        alt="Every metric of the result",
        height=560,
    )
    suite, model, test = (str(row[name]) for name in ("suite", "model", "test"))
    of = replace(view.selection, suite=(suite,), model=(model,), test=(test,))
    behind = {
        "Results of the model": data.statement("sides", of),
        "Numbers that have no column": data.statement("model_metrics", view.selection, **result.keys),
    }
    downloads.below(rows, "metrics", view.file_name("metrics"), behind)


def _known(name: str, value: Any) -> tuple[str, str, str, str, str]:
    metric = METRICS.get(name)
    if metric is None:
        return name, name, _digits(value), "", _NOT_KNOWN
    unit = metric.display_unit or metric.unit
    if missing(value):
        return name, metric.label, DASH, unit, f"{metric.definition} Missing: {metric.failure}."
    return name, metric.label, _digits(metric.shown(float(value))), unit, metric.definition


def _digits(value: Any) -> str:
    if missing(value):
        return DASH
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.5g}"
