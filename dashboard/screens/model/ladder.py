"""The overhead ladder: what recording, retracing, capture and transfers cost, from rung to rung."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, pruned, tables
from dashboard.charts import drawing
from dashboard.charts import ladder as chart
from dashboard.rows import each, sections
from dashboard.tables import Column, measured
from dashboard.words import DASH, escape, missing, seconds

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

EAGER, LAZY, TRACED, ONCE, TRANSFERS = range(1, 6)
_FEWEST = 2
"""Rungs on XLA from which there is something to climb."""

RUNGS = {
    EAGER: "Eager",
    LAZY: "Lazy tensors",
    TRACED: "Captured, traced every time",
    ONCE: "Traced once",
}
_STEPS = {
    (EAGER, LAZY): "XLA's program in place of eager's kernels, and recording it anew at each iteration",
    (EAGER, ONCE): "XLA's program in place of eager's kernels",
    (LAZY, TRACED): "Python's work on the model, which dynamo's capture replaces by guards",
    (TRACED, ONCE): "tracing the captured graph at every call",
    (LAZY, ONCE): "Python's work and retracing, which capture and one trace replace",
    (ONCE, TRANSFERS): "bringing inputs to the device and the result back",
}


def show(view: View, suite: str, model: str, test: str) -> None:
    """Draw a ladder per setting; nothing where fewer than two rungs on XLA were measured."""
    named = {"of_suite": suite, "of_model": model, "of_test": test}
    rungs = data.rows(view.snapshot, "overhead_ladder", view.selection, **named)
    found = [(keys, part) for keys, part in sections(rungs, ["ladder"]) if _climbs(part)]
    if not found:
        return
    st.subheader("Overhead ladder", anchor=False)
    sql = data.statement("overhead_ladder", view.selection, **named)
    for keys, part in found:
        _one(view, "-".join(keys), part, sql, several=len(found) > 1)
    if rungs["execute_s"].isna().any() and (why := pruned.sentence(view)):
        st.caption(why)


def _climbs(part: pd.DataFrame) -> bool:
    return int(part["rung"].between(LAZY, ONCE).sum()) >= _FEWEST


def _one(view: View, key: str, part: pd.DataFrame, sql: str, *, several: bool) -> None:
    if several:
        first = part.iloc[0]
        st.markdown(" · ".join(escape(first[name]) for name in ("accelerator", "environment", "dtype") if first[name]))
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences(part)))
    every = list(each(part))
    listed = part.assign(name=[name_of(row) for row in every], step=[_step(row) for row in every])
    drawing.draw(chart.bars(listed), key=f"ladder-chart-{key}", text="Latency of each rung of the overhead ladder")
    with st.expander("Rungs as a table", key=f"rungs-{key}", on_change="rerun") as opened:
        if opened.open:
            _table(view, key, listed, sql)


def _table(view: View, key: str, listed: pd.DataFrame, sql: str) -> None:
    tables.show(
        listed,
        tables.without_constant(_columns(), listed, ["run_label"]),
        key=f"ladder-{key}",
        alt="Rungs of the overhead ladder with the difference to the one before",
        file_name=view.file_name("ladder"),
        sql=sql,
        whole=True,
    )


def sentences(part: pd.DataFrame) -> list[str]:
    """Return what each step costs, the dearest first, and what remains on the last rung."""
    steps = [row for row in each(part) if (row.rung_before, row.rung) in _STEPS and row.rung_before != EAGER]
    ordered = sorted(steps, key=lambda row: -abs(row.change_s))
    said = [f"**{seconds(abs(row.change_s))}** of an iteration: {_step(row)}{_doubt(row, part)}" for row in ordered]
    last = next((row for row in each(part) if row.rung == ONCE), None)
    if last is not None and not missing(last.execute_s):
        rest = max(0.0, last.latency_s - last.execute_s)
        said.append(
            f"**{seconds(last.execute_s)}** on the rung “traced once” is the program itself, "
            f"{seconds(rest)} guards and calls around it"
        )
    return said


def _doubt(row: Any, part: pd.DataFrame) -> str:
    """Say so where a step went the other way than its words suggest, or may be noise."""
    expected = row.change_s > 0 if row.rung == TRANSFERS and row.transfers else row.change_s <= 0
    if not expected:
        return " (the wrong way round here: noise, or another program)"
    before = next(each_ for each_ in each(part) if each_.rung == row.rung_before)
    ends = (row.latency_low_s, row.latency_high_s, before.latency_low_s, before.latency_high_s)
    if any(missing(end) for end in ends):
        return " (without an interval: too few samples)"
    apart = row.latency_high_s < before.latency_low_s or before.latency_high_s < row.latency_low_s
    return "" if apart else " (the 95 % intervals of the two rungs overlap)"


def name_of(row: Any) -> str:
    """Return the rung in words."""
    if row.rung == TRANSFERS:
        return f"{RUNGS[ONCE]}, {'with' if row.transfers else 'without'} transfers"
    return RUNGS[row.rung]


def _step(row: Any) -> str:
    before = None if missing(row.rung_before) else int(row.rung_before)
    return _STEPS.get((before, row.rung), DASH) if before is not None else DASH


def _columns() -> dict[str, Column]:
    return {
        "name": Column("Rung", pinned=True),
        "variant": Column("Backend"),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "change_s": Column("Change, ms", "ms", help="Its latency less that of the rung before."),
        "step": Column("What the difference is"),
        "trace_s": measured("trace_s", note="Part of the latency, beside the execution of the program."),
        "execute_s": Column(
            "Execution, ms",
            "ms",
            help="Median over steady blocks of the time that PyTorch/XLA counts for executing programs, per iteration. "
            "It may overlap with the host's work.",
        ),
        "run_label": Column("Run", help="The choice about transfers is a run's; the last rung is of another run."),
    }
