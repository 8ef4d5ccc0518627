"""The overhead ladder: the cost of recording, retracing, capture and transfers, from rung to rung."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data import TableSource
from dashboard.data.frames import iter_rows, sections
from dashboard.formatting import DASH, escape, missing, seconds
from dashboard.ui import charts, empty, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View
from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered

EAGER, LAZY, TRACED, ONCE, TRANSFERS = range(1, 6)
_FEWEST = 2
"""Fewest rungs on XLA that make a ladder."""

RUNGS = {
    EAGER: "Eager",
    LAZY: "Lazy tensors",
    TRACED: "Captured, traced every time",
    ONCE: "Traced once",
}
_STEPS = {
    (EAGER, LAZY): "XLA's program in place of eager's kernels, and tracing it again at each iteration",
    (EAGER, ONCE): "XLA's program in place of eager's kernels",
    (LAZY, TRACED): "Python's work on the model, which dynamo's capture replaces by guards",
    (TRACED, ONCE): "tracing the captured graph at every call",
    (LAZY, ONCE): "Python's work and retracing, which capture and one trace replace",
    (ONCE, TRANSFERS): "bringing inputs to the device and the result back",
}


def show(view: View, suite: str, model: str, test: str) -> None:
    """Draw a ladder per setting; nothing where fewer than two rungs on XLA were measured."""
    params = {"of_suite": suite, "of_model": model, "of_test": test}
    rungs = data.rows(view.snapshot, "overhead_ladder", view.selection, **params)
    every = sections(rungs, ["ladder"])
    ladders = [(keys, part) for keys, part in every if part["rung"].between(LAZY, ONCE).sum() >= _FEWEST]
    if not ladders:
        return
    st.subheader("Overhead ladder", anchor=False)
    source = data.source(view, "ladder", "overhead_ladder", **params)
    for keys, part in ladders:
        _one("-".join(keys), part, source, several=len(ladders) > 1)
    if rungs["execute_s"].isna().any() and (why := empty.pruned_sentence(view)):
        st.caption(why)


def _one(key: str, part: pd.DataFrame, source: TableSource, *, several: bool) -> None:
    if several:
        first = part.iloc[0]
        st.markdown(" · ".join(escape(first[name]) for name in ("accelerator", "environment", "dtype") if first[name]))
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences(part)))
    rows = list(iter_rows(part))
    listed = part.assign(name=[name_of(row) for row in rows], step=[_step(row) for row in rows])
    charts.draw(ladder_bars(listed), key=f"ladder-chart-{key}", text="Latency of each rung of the overhead ladder")
    if (overlap := _overlap(part)) is not None:
        st.caption(escape(overlap))
    with st.expander("Rungs as a table", key=f"rungs-{key}", on_change="rerun") as opened:
        if opened.open:
            tables.show(
                listed,
                tables.without_constant(_columns(), listed, ["run_label"]),
                source,
                key=f"ladder-{key}",
                alt="Rungs of the overhead ladder with the difference to the one before",
                whole=True,
            )


def sentences(part: pd.DataFrame) -> list[str]:
    """Return a sentence of each step's cost, the largest first, and one of what remains on the last rung."""
    steps = [row for row in iter_rows(part) if (row.rung_before, row.rung) in _STEPS and row.rung_before != EAGER]
    ordered = sorted(steps, key=lambda row: -abs(row.change_s))
    texts = [_cost(row, part) for row in ordered]
    last = next((row for row in iter_rows(part) if row.rung == ONCE), None)
    if last is not None and not missing(last.execute_s):
        texts.append(_what_remains(last))
    return texts


def _what_remains(last: Any) -> str:
    """Return the parts of the last rung's latency: what PyTorch/XLA counts as execution, and the rest."""
    program = min(last.execute_s, last.latency_s)
    rest = f", {seconds(last.latency_s - program)} guards and calls around it" if program < last.latency_s else ""
    return (
        f"What remains is the rung “traced once” with **{seconds(last.latency_s)}**: {seconds(program)} is the program "
        f"itself{rest}"
    )


def _overlap(part: pd.DataFrame) -> str | None:
    """Return which rungs have more execution, as PyTorch/XLA counts it, than latency, and why; None without any."""
    counted = [
        f"{name_of(row)}: {seconds(row.execute_s)} in {seconds(row.latency_s)}"
        for row in iter_rows(part)
        if not missing(row.execute_s) and row.execute_s > row.latency_s
    ]
    if not counted:
        return None
    return (
        f"PyTorch/XLA counts more execution than an iteration takes ({'; '.join(counted)}): executions may overlap, "
        "and each number is a median of its own. The bars end at the latency."
    )


def _cost(row: Any, part: pd.DataFrame) -> str:
    """Return what a step costs; where the rung without it is not the faster one, that its cost is not shown."""
    before = next(other for other in iter_rows(part) if other.rung == row.rung_before)
    size = f"**{seconds(abs(row.change_s))}**"
    expected = row.change_s > 0 if row.rung == TRANSFERS and row.transfers else row.change_s <= 0
    if expected:
        return f"{size} of an iteration is {_step(row)}{_doubt(row, before)}"
    word = "slower" if row.change_s > 0 else "faster"
    rungs = f"“{name_of(row).lower()}” is {size} {word} than “{name_of(before).lower()}”"
    return f"No cost is shown for {_step(row)}: {rungs}, which is noise or another program"


def _doubt(row: Any, before: Any) -> str:
    """Return a remark where the cost of a step may be noise, else an empty text."""
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


def _columns() -> dict[str, TableColumn]:
    return {
        "name": TableColumn("Rung", pinned=True),
        "variant": TableColumn("Backend"),
        "latency_s": measured("latency_s"),
        "steady_n": TableColumn("n", "number", help="Steady samples behind the latency."),
        "change_s": TableColumn("Change, ms", "ms", help="Its latency minus that of the rung before."),
        "step": TableColumn("What the difference is"),
        "trace_s": measured("trace_s", note="Part of the latency, in addition to the execution of the program."),
        "execute_s": TableColumn(
            "Execution, ms",
            "ms",
            help="Median over steady blocks of the time that PyTorch/XLA counts for executing programs, per iteration. "
            "It may overlap with the host's work.",
        ),
        "run_label": TableColumn("Run", help="The last rung is from a run with --include-transfers."),
    }


ROW_PX = 34
CHROME_PX = 56
ROOM = 1.4
"""Largest length of the axis, relative to the longest bar."""
_MARGIN = 1.02
LABEL_PX = 190


def ladder_bars(frame: pd.DataFrame) -> Drawing:
    """Draw the rungs in their order.

    Args:
        frame: columns name, variant, latency_s, latency_low_s, latency_high_s, execute_s, step; seconds.
    """
    ms = frame[["name", "variant", "step"]].assign(
        latency=frame["latency_s"] * 1e3,
        low=frame["latency_low_s"] * 1e3,
        high=frame["latency_high_s"] * 1e3,
        execution=frame["execute_s"] * 1e3,
        drawn=frame[["execute_s", "latency_s"]].min(axis=1, skipna=False) * 1e3,
    )
    longest = float(ms["latency"].max())
    end = min(ROOM * longest, _MARGIN * float(ms[["latency", "high"]].max().max()))
    return Drawing(_spec(tuple(frame["name"]), end), ms)


@lru_cache(maxsize=256)
def _spec(order: tuple[str, ...], end: float) -> dict[str, Any]:
    names = alt.Axis(title=None, labelLimit=axes.names_px(LABEL_PX), labelFontSize=12)
    base = drawing.points().encode(y=alt.Y("name:N", sort=list(order), axis=names), tooltip=_tooltip())
    title = "ms per iteration (full colour: execution; line: 95 % CI)"
    axis = alt.Axis(title=title, titleAnchor=axes.title_anchor(), labelFontSize=12)
    # An interval that outliers stretch must not squeeze the bars: it is clipped, and the tooltip has its end.
    reach = alt.Scale(domain=[0, end], nice=False)
    colour = palette.colour("openxla+lazytensor")
    whole = base.mark_bar(color=colour, opacity=0.45, height=18).encode(x=alt.X("latency:Q", axis=axis, scale=reach))
    inner = base.transform_filter("isValid(datum.drawn)").mark_bar(color=colour, height=18)
    ends = base.transform_filter("isValid(datum.low)").mark_rule(color=palette.NEUTRAL, strokeWidth=2, clip=True)
    return drawing.specified(
        layered(
            whole,
            inner.encode(x=alt.X("drawn:Q", axis=axis, scale=reach)),
            ends.encode(x=alt.X("low:Q", axis=axis, scale=reach), x2="high:Q"),
            height=CHROME_PX + ROW_PX * len(order),
        )
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="Rung"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("latency:Q", title="Latency, ms", format=",.3~f"),
        alt.Tooltip("low:Q", title="95 % low, ms", format=",.3~f"),
        alt.Tooltip("high:Q", title="95 % high, ms", format=",.3~f"),
        alt.Tooltip("execution:Q", title="Execution, ms", format=",.3~f"),
        alt.Tooltip("step:N", title="Against the rung before"),
    ]
