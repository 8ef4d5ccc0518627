"""Medians over models per series, cold and warm apart: as sentences and as a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, tables
from dashboard.answers import SECTION
from dashboard.rows import each, sections, with_series
from dashboard.screens.compile_time.measures import is_time
from dashboard.tables import Column, measured
from dashboard.words import escape, missing, seconds

if TYPE_CHECKING:
    from dashboard.view import View
    from store.metrics import Metric

_OVER = "Median over models."


def sentences(view: View, chosen: Metric) -> list[str]:
    """Return one sentence per test and accelerator, the longest series first."""
    found = with_series(data.rows(view.snapshot, "compile_medians", view.selection))
    known = found[found[chosen.name].notna()] if len(found) else found
    if known.empty:
        return [f"No result of this view has a value for “{chosen.label}”"]
    beyond = "beyond a steady one, " if chosen.name == "first_iteration_s" else ""
    how = f"{beyond}median over models" if is_time(chosen) else "most of any model"
    texts = []
    for keys, part in sections(known, SECTION):
        ordered = each(part.sort_values(chosen.name, ascending=False))
        words = ", ".join(f"**{escape(row.series)}** {_value(row, chosen)}" for row in ordered)
        texts.append(f"{chosen.label} ({how}) in {escape(' on '.join(keys))}: {words}")
    return texts


def show(view: View) -> None:
    """Draw the table."""
    rows = with_series(data.rows(view.snapshot, "compile_medians", view.selection))
    columns = {
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "cache": Column("Cache", help="cold: every compile cache was empty; warm: filled by an earlier process."),
        "first_iteration_s": measured("first_iteration_s", note=_OVER),
        "first_iteration_n": Column("n", "number", help="Models behind the median of the first iteration."),
        "compiler_time_s": measured("compiler_time_s", note=_OVER),
        "compiler_time_n": Column("n, compiler", "number", help="Models behind the median of the compiler time."),
        "time_to_steady_s": measured("time_to_steady_s", note=_OVER),
        "time_to_steady_n": Column("n, steady", "number", help="Models behind the median of the time to steady."),
        "graphs_number": measured("graphs_number", "Graphs (most)", note="Those of the model with most."),
        "without_n": Column("Did not run", "number", help="Results without a number."),
        "main_reason": Column("Most frequent reason"),
    }
    tables.show(
        rows,
        tables.without_constant(columns, rows, ["accelerator", "cache", "without_n", "main_reason"]),
        key="medians",
        alt="Median compile times by test and backend",
        file_name=view.file_name("compile-medians"),
        sql=data.statement("compile_medians", view.selection),
    )
    st.caption(
        "Medians are over different models where n differs; the measures overlap, so they are never added. "
        "A dash: no model of the row has the number, as eager compiles nothing and not every backend counts graphs."
    )


def _value(row: Any, chosen: Metric) -> str:
    value = getattr(row, chosen.name)
    if not is_time(chosen):
        return f"{int(value)} (n = {int(row.graphs_n)})"
    number = getattr(row, f"{chosen.name.removesuffix('_s')}_n")
    warm = "" if missing(row.cache) or row.cache == "cold" or "cache=" in row.series else f" {escape(row.cache)}"
    noise = "about 0 s" if value <= 0 else seconds(value)
    return f"{noise}{warm} (n = {int(number)})"
