"""Time of a call against the bytes that it is given, or against its FLOP; dashed lines are equal rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers
from dashboard.answers import SECTION
from dashboard.charts import op_rates
from dashboard.rows import each, sections
from dashboard.words import count, seconds
from store.metrics import metric

if TYPE_CHECKING:
    from typing import Literal

_ABSENT = {
    "input_bytes": "No result of this view has its bytes: an older version of xlabench measured them.",
    "flops": "No result of this view has FLOP, which XLA's programs give for matrix products and convolutions.",
}


def show(rows: pd.DataFrame, column: Literal["input_bytes", "flops"]) -> None:
    """Draw one chart per test and accelerator."""
    known = rows[(rows[column] > 0) & (rows["latency_s"] > 0)]
    if known.empty:
        st.caption(_ABSENT[column])
        return
    for keys, part in sections(known, SECTION):
        st.subheader(answers.section_title(keys), anchor=False)
        st.altair_chart(
            op_rates.scatter(_points(part, column), column),
            key=f"rates-{'-'.join(keys)}",
            alt=f"Time of a call against {metric(column).label}, {' '.join(keys)}",
        )
    left_out = int(rows["latency_s"].notna().sum()) - len(known)
    without = f" {count(left_out, 'result')} without it are not drawn." if left_out else ""
    st.caption(f"{metric(column).definition} On a dashed line the rate is the same; lower is better.{without}")


def _points(part: pd.DataFrame, column: str) -> pd.DataFrame:
    every = list(each(part))
    rates = [getattr(row, column) / row.latency_s for row in every]
    unit = "GB/s" if column == "input_bytes" else "GFLOP/s"
    return pd.DataFrame(
        {
            "model": [row.model for row in every],
            "variant": [row.series for row in every],
            "backend": [row.backend for row in every],
            "work": [float(getattr(row, column)) for row in every],
            "value": [row.latency_s for row in every],
            "judged": [not row.near_floor for row in every],
            "time": [seconds(row.latency_s) for row in every],
            "rate": [f"{rate / 1e9:.3g} {unit}" for rate in rates],
        }
    )
