"""A finding's series over the last runs, and the changes of speed of all findings as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.charts import changes, drawing, history
from dashboard.rows import each
from dashboard.words import interval, ratio, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.view import View
    from store.review import Finding

_MOST = 16
"""Changes that the picture shows; the table has all."""
_MS = 1000.0


def small(view: View, finding: Finding) -> None:
    """Draw the latency of the finding's series over its last runs, where it has more than two."""
    if not finding.experiment_id:
        return
    rows = data.rows(view.snapshot, "history_one", view.selection, series=finding.subject.series)
    rows = rows[rows["latency_s"].notna()]
    if len(rows) <= 2:  # noqa: PLR2004 - two points are the comparison itself
        return
    drawing.draw(
        history.lines(_points(rows), "Latency, ms", height=history.SMALL_PX, legend=False),
        key="finding-history",
        text=f"Latency of {finding.model} over its last runs",
    )


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return latencies as points in milliseconds."""
    labels = [f"{seconds(row.latency_s)}, n = {row.steady_n:.0f}" for row in each(rows)]
    return history.points(rows, rows["latency_s"].astype(float) * _MS, labels).assign(
        low=rows["latency_low_s"].astype(float) * _MS, high=rows["latency_high_s"].astype(float) * _MS
    )


def picture(findings: Sequence[Finding]) -> None:
    """Draw the first changes of speed with their intervals."""
    moved = [finding for finding in findings if finding.cell is not None]
    if not moved:
        return
    shown = moved[:_MOST]
    frame = pd.DataFrame([_dot(finding) for finding in shown])
    left = f"; the first {_MOST} of {len(moved)}, the table has all" if len(moved) > _MOST else ""
    st.altair_chart(changes.change_dots(frame, list(frame["name"])), key="changes", alt="Slower and faster, A over B")
    st.caption(f"Filled marks are confirmed, hollow ones suspected{left}.")


def _dot(finding: Finding) -> dict[str, object]:
    assert finding.cell is not None  # noqa: S101 - chosen by the caller
    verdict = finding.cell.verdict
    return {
        "name": f"{finding.model} {finding.test} {finding.variant}",
        "word": finding.word,
        "value": verdict.ratio,
        "low": verdict.low,
        "high": verdict.high,
        "certain": finding.certainty == "confirmed",
        "label": f"{ratio(verdict.ratio)} ({interval(verdict.low, verdict.high)}), {finding.certainty}",
    }
