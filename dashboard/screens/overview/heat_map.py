"""The heat map of Overview: the speedup of every model by backend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.data.frames import SYNTHETIC, iter_rows, order_of_backends, unit, with_series
from dashboard.formatting import DASH, STATUS_WORDS, WRONG, count, interval, missing, ratio
from dashboard.jobs import rerun
from dashboard.ui import answers, charts, doubts
from dashboard.view import View
from store.charts import heat

_ROWS_DRAWN = 700
"""Most rows that are drawn: 300 models in two tests, and the headings of their groups."""
_SCREEN_PX = 560


def show(view: View, speedups: pd.DataFrame) -> None:
    """Draw the heat map of models by backend from speedups with warnings; a cell opens its model."""
    rows = with_series(answers.compared(speedups, view.selection.baseline))
    planned_n = len(rows)
    rows = rows[rows["status"] != "skipped"]
    if rows.empty:
        return
    frame, order, series = heat_rows(rows, rerun.newest(view))
    models_n = len(rows[["suite", "model"]].drop_duplicates())
    st.subheader(f"{count(models_n, unit(rows['suite']))} by backend", anchor=False)
    if len(order) > _ROWS_DRAWN:
        st.caption(f"The first {_ROWS_DRAWN} of {len(order):,} rows are drawn; filter for others.")
        order = order[:_ROWS_DRAWN]
        frame = frame[frame["row"].isin(order)]
    scrolls = len(order) * heat.row_px(len(order)) > _SCREEN_PX
    with st.container(height=_SCREEN_PX if scrolls else "content", border=False):
        selected = charts.selectable(
            heat.speedup_heat(frame, order, series), key="models", text="Speedup of each model by backend"
        )
    shades = "Slowest first. Grey: the interval contains 1, so no difference is shown. ° not verified, ∅ not run. "
    warned = f"{doubts.WARNED} measurement warning. " if frame["label"].str.contains(doubts.WARNED).any() else ""
    alone = f"{DASH} without a speedup, although it ran. " if frame["label"].str.startswith(DASH).any() else ""
    skipped = "A missing cell was skipped by the plan. " if len(rows) < planned_n else ""
    again = f"{rerun.MARK} a newer run measured it again. " if frame["label"].str.contains(rerun.MARK).any() else ""
    shades = shades if frame["shade"].notna().any() else ""
    st.caption(f"{shades}{warned}{again}{alone}{skipped}Click a cell for its model.")
    rerun.show_runs(view, set(rows["series_id"]), "models")
    charts.open_model(view, selected)


def heat_rows(rows: pd.DataFrame, reruns: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the cells of the heat map, the order of its rows and that of its columns.

    Args:
        rows: of `speedups` with `series`, without the baseline's own.
        reruns: id of a series → its result in a newer run that measured it again.
    """
    cells = [_heat_cell(row, reruns.get(row.series_id)) for row in iter_rows(rows)]
    worst: dict[tuple[Any, ...], float] = {}
    for cell in cells:
        value = cell.pop("log_ratio")
        group = (cell["suite"] in SYNTHETIC, cell["group"], cell["row"])
        worst[group] = min(worst.get(group, math.inf), value)
    ordered = sorted(worst, key=lambda key: (key[0], key[1], worst[key], key[2]))
    columns = [name for name, _ in order_of_backends(set(zip(rows["series"], rows["backend"], strict=True)))]
    heads = list(dict.fromkeys(f"{heat.NAME_SPLIT}{group}" for _, group, _ in ordered))
    cells += [{"row": head, "series": columns[0], "shade": None, "label": ""} for head in heads]
    order = dict.fromkeys(name for _, group, row in ordered for name in (f"{heat.NAME_SPLIT}{group}", row))
    frame = pd.DataFrame(cells)
    return frame.assign(shade=pd.to_numeric(frame["shade"])), list(order), columns


def _heat_cell(row: Any, again: Any | None) -> dict[str, Any]:
    """Return a cell, with the outcome of the newer run that measured it again, if there is one."""
    group, doubt_texts = f"{row.suite} · {row.test}", doubts.in_words(row)
    if missing(row.speedup):
        word = STATUS_WORDS.get(row.status, str(row.status)) if not row.ran else DASH
        label = doubts.MARKS[WRONG] if WRONG in doubts.of_row(row) else word
        log_ratio, whys = math.inf, ["" if missing(row.speedup_reason) else str(row.speedup_reason)]
    else:
        shown = answers.ratio_of(row)
        log_ratio, label = 0.0 if shown.word == "same" else math.log2(shown.value), ratio(shown.value)
        bounds = "" if shown.low is None else f" (95 % CI {interval(shown.low, shown.high)})"
        why = {"same": "no difference shown", "unknown": "no interval"}.get(shown.word, shown.word)
        label, whys = f"{label}{doubts.marks(row)}", [why + bounds, *doubt_texts]
    if again is not None:
        label = f"{label} {rerun.MARK}"
        whys.append(f"measured again: {rerun.outcome(again)} in {rerun.run_of(again)}")
    return {
        "suite": row.suite,
        "model": row.model,
        "test": row.test,
        "series": row.series,
        "group": group,
        "row": f"{group} {row.accelerator}{heat.NAME_SPLIT}{row.model}",
        "log_ratio": log_ratio,
        "shade": None if log_ratio == math.inf else max(-1.0, min(1.0, log_ratio)),
        "label": label,
        "why": ", ".join(filter(None, whys)),
    }
