"""One measure of every model as dots; hollow ones had a warm cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, doubts
from dashboard.charts import drawing, durations
from dashboard.rows import each, most_first, sections
from dashboard.screens import opening
from dashboard.screens.compile_time.measures import is_time
from dashboard.settings import CHART_MODELS
from dashboard.words import count, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.view import View
    from store.metrics import Metric


def parts(rows: pd.DataFrame, chosen: Metric) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the rows that have a place on a log axis by test, accelerator and suite, those with most first."""
    return most_first(dict(sections(rows[rows[chosen.name] > 0], ["test", "accelerator", "suite"])))


def show(view: View, rows: pd.DataFrame, chosen: Metric, charted: Mapping[tuple[str, ...], pd.DataFrame]) -> None:
    """Draw one chart per test, accelerator and suite, of those that are asked for."""
    st.caption(chosen.definition)
    for keys, part in charted.items():
        _chart(view, keys, part, chosen)
    unseen = int((rows[chosen.name] <= 0).sum())
    if unseen:
        unit = " s (noise)" if is_time(chosen) else ""
        st.caption(f"{count(unseen, 'value')} at or below 0{unit} cannot be drawn on a log axis; the table has them.")


def _chart(view: View, keys: tuple[str, ...], part: pd.DataFrame, chosen: Metric) -> None:
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(part.groupby("model")[chosen.name].max().sort_values(ascending=False).index)
    if len(models) > CHART_MODELS:
        st.caption(f"The {CHART_MODELS} with most of {count(len(models), 'model')}; the table has all.")
        models = models[:CHART_MODELS]
    points = _points(part[part["model"].isin(models)], chosen)
    picked = drawing.selectable(
        durations.duration_dots(points, models, chosen.label, in_seconds=is_time(chosen)),
        key="durations-" + "-".join(keys),
        text=f"{chosen.label} by model, {' '.join(keys)}",
    )
    opening.from_chart(view, picked)
    if points["warm"].any():
        st.caption("A hollow mark had a warm compile cache.")
    doubts.legend(points["doubt"])


def _points(shown: pd.DataFrame, chosen: Metric) -> pd.DataFrame:
    values = shown[chosen.name]
    return pd.DataFrame(
        {
            "model": shown["model"],
            "suite": shown["suite"],
            "test": shown["test"],
            "variant": shown["series"],
            "backend": shown["backend"],
            "value": values,
            "label": [seconds(value) if is_time(chosen) else f"{int(value)}" for value in values],
            "warm": shown["cache"] == "warm",
            "cache": shown["cache"].fillna("unknown"),
            "doubt": doubts.on_points(each(shown)),
            "graphs": ["unknown" if pd.isna(number) else f"{int(number)}" for number in shown["graphs_number"]],
        }
    )
