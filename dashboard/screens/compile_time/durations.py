"""Charts of compile times: one measure of every model as dots, and the first blocks of one model over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, most_first, sections, unit, with_series
from dashboard.formatting import count, escape, missing, seconds
from dashboard.settings import CHART_MODELS
from dashboard.ui import answers, charts, doubts, empty, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, choosing
from store.charts import axes, drawing
from store.charts.drawing import Drawing, layered
from store.metrics import Metric, metric

NAMES = ("first_iteration_s", "compiler_time_s", "time_to_steady_s", "compile_peer_s", "graphs_number")
MEASURES: dict[str, str] = {metric(name).label: name for name in NAMES}
"""Label of each measure in the metric registry → its column; the first one is the default."""


def metric_of(label: str | None) -> Metric:
    """Return the metric of a label, or the default for an unknown label."""
    return metric(MEASURES.get(label or "", NAMES[0]))


def is_time(measure: Metric) -> bool:
    """Tell whether a measure is a time; the others are counts."""
    return measure.unit == "s"


def parts(rows: pd.DataFrame, measure: Metric) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the rows with positive values, which a log axis needs, by test, accelerator and suite, largest first."""
    return most_first(dict(sections(rows[rows[measure.name] > 0], ["test", "accelerator", "suite"])))


def show_models(
    view: View, rows: pd.DataFrame, measure: Metric, charted: Mapping[tuple[str, ...], pd.DataFrame]
) -> None:
    """Draw the chart of each chosen test, accelerator and suite."""
    st.caption(measure.definition)
    for keys, part in charted.items():
        _models_chart(view, keys, part, measure)
    unseen = int((rows[measure.name] <= 0).sum())
    if unseen:
        noise = " s (noise)" if is_time(measure) else ""
        st.caption(f"{count(unseen, 'value')} at or below 0{noise} cannot be drawn on a log axis; the table has them.")


def _models_chart(view: View, keys: tuple[str, ...], part: pd.DataFrame, measure: Metric) -> None:
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(part.groupby("model")[measure.name].max().sort_values(ascending=False).index)
    if len(models) > CHART_MODELS:
        every = count(len(models), unit([keys[2]]))
        st.caption(f"The {CHART_MODELS} of {every} with the largest values; the table has all.")
        models = models[:CHART_MODELS]
    points = _dots(part[part["model"].isin(models)], measure)
    selected = charts.selectable(
        duration_dots(points, models, measure.label, in_seconds=is_time(measure)),
        key="durations-" + "-".join(keys),
        text=f"{measure.label} by model, {' '.join(keys)}",
    )
    charts.open_model(view, selected)
    if points["warm"].any():
        st.caption("A hollow mark had a warm compile cache.")
    doubts.legend(points["doubt"])


def _dots(shown: pd.DataFrame, measure: Metric) -> pd.DataFrame:
    values = shown[measure.name]
    return pd.DataFrame(
        {
            "model": shown["model"],
            "suite": shown["suite"],
            "test": shown["test"],
            "variant": shown["series"],
            "backend": shown["backend"],
            "value": values,
            "label": [seconds(value) if is_time(measure) else f"{int(value)}" for value in values],
            "warm": shown["cache"] == "warm",
            "cache": shown["cache"].fillna("unknown"),
            "doubt": doubts.on_points(iter_rows(shown)),
            "graphs": ["unknown" if pd.isna(number) else f"{int(number)}" for number in shown["graphs_number"]],
        }
    )


MOST_BLOCKS = 10


@st.fragment
def show_first_blocks(view: View) -> None:
    """Draw the choice of a model, the chart of its first blocks and their table; a new choice reruns only this part."""
    chosen = choose_model(data.rows(view.snapshot, "results", view.selection))
    if chosen is None:
        st.info("No result of this view has timed blocks.", icon=":material/info:")
        return
    name, (suite, model, test) = chosen
    params = {"of_suite": suite, "of_model": model, "of_test": test, "most_blocks": MOST_BLOCKS}
    blocks = with_series(data.rows(view.snapshot, "blocks", view.selection, **params))
    if blocks.empty:
        st.info(
            empty.pruned_sentence(view) or "The results of this model have no recorded blocks.",
            icon=":material/info:",
        )
        return
    st.altair_chart(
        blocks_in_time(_bars(blocks)),
        key="blocks",
        alt=f"The first blocks of {name} in time, by backend",
    )
    st.caption(
        "Within a block, only durations are known, not their order, so each bar begins where its block begins. "
        "The durations overlap and do not add up to the block: tracing waits for the compiler, and the device executes "
        "while the host goes on. A dash in the table means that the backend does not report the number per block."
    )
    st.caption(" ".join(_unknown(blocks)))
    _blocks_table(view, blocks, params)


def choose_model(rows: pd.DataFrame) -> tuple[str, tuple[str, str, str]] | None:
    """Draw the choice of the model whose blocks are shown; return it as text and as suite, model and test."""
    names = _models(rows)
    if not names:
        return None
    choosing.notice_unknown("Model", list(names), "blocks_of")
    name = str(
        st.selectbox("Model", list(names), key="blocks_of", bind="query-params", help="The longest wait is first.")
    )
    return name, names[name]


def _models(rows: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return the options of the choice as text → suite, model and test; the longest wait is first."""
    if rows.empty:
        return {}
    ran = rows[rows["ran"].astype(bool)]
    longest = ran.groupby(["suite", "model", "test"])["time_to_steady_s"].max().sort_values(ascending=False)
    return {f"{model} · {test} · {suite}": (suite, model, test) for suite, model, test in longest.index}


def _bars(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per bar: one of the block itself, and one for each of its known durations."""
    bars = []
    for lane, column in LANES.items():
        known = blocks[blocks[column] > 0]
        bars.append(
            pd.DataFrame(
                {
                    "variant": known["series"],
                    "backend": known["backend"],
                    "lane": lane,
                    "begin": known["begin_s"],
                    "end": known["begin_s"] + known[column],
                    "label": [seconds(value) for value in known[column]],
                    "block": [f"{int(row.block) + 1}, {row.kind}" for row in iter_rows(known)],
                    "compiles": [_number(row.compiles) for row in iter_rows(known)],
                    "compiled": [lane == BLOCK and not missing(n) and n > 0 for n in known["compiles"]],
                }
            )
        )
    return pd.concat(bars, ignore_index=True)


def _number(value: Any) -> str:
    return "unknown" if missing(value) else f"{int(value)}"


def _unknown(blocks: pd.DataFrame) -> list[str]:
    """Return which compile times are known only in total, and which process is shown."""
    texts = []
    for row in iter_rows(blocks.drop_duplicates("series")):
        series_blocks = blocks[blocks["series"] == row.series]
        if series_blocks["compile_s"].isna().all() and not missing(row.compiler_time_s):
            texts.append(
                f"{escape(row.series)}: {escape(row.compiler_source or 'the compiler')} reports "
                f"{seconds(row.compiler_time_s)} of compilation in total; it does not report the blocks."
            )
    most = blocks["replicas_n"].max()
    if not missing(most) and most > 1:
        texts.append(f"A result has up to {count(int(most), 'process', 'processes')}; the first one is shown.")
    return texts


def _blocks_table(view: View, blocks: pd.DataFrame, params: dict[str, Any]) -> None:
    columns = {
        "series": TableColumn("Backend", pinned=True),
        "block": TableColumn("Block", "number", help="Timed blocks in order, from 0."),
        "kind": TableColumn("Kind", help="first, warmup, or the first steady one."),
        "begin_s": TableColumn("Begin, ms", "ms", help="Time since the first block began."),
        "total_s": TableColumn("Block, ms", "ms", help="Wall time of the block."),
        "trace_s": TableColumn("Trace, ms", "ms", help="Host time in which lazy tensors were traced."),
        "compile_s": TableColumn("Compile, ms", "ms", help="Time in XLA's compiler, as XLA reports it."),
        "execute_s": TableColumn("Execute, ms", "ms", help="Time of executions, as XLA reports it."),
        "compiles": TableColumn("Compilations", "number", help="Programs that were compiled in the block."),
        "executions": TableColumn("Executions", "number", help="Programs that were executed in the block."),
        "graphs_number": measured("graphs_number"),
        "cache": TableColumn("Cache", help=metric("first_iteration_s").definition),
    }
    tables.show(
        blocks,
        tables.without_constant(columns, blocks, ["cache"]),
        data.source(view, "first-blocks", "blocks", **params),
        key="blocks-table",
        alt="The first blocks by backend",
    )


def duration_dots(frame: pd.DataFrame, models: Sequence[str], title: str, *, in_seconds: bool = True) -> Drawing:
    """Draw one dot per result.

    Args:
        frame: columns model, suite, test, variant, backend, value (> 0), warm, label, graphs, cache, doubt.
        models: order of the rows.
        title: the metric's name.
        in_seconds: what the values are; else they are counts.
    """
    pairs = drawing.pairs(frame)
    row_px = axes.row_px(len(models), len(pairs))
    spec = _dots_spec(
        pairs,
        axes.round_domain(frame["value"]),
        row_px,
        title,
        axes.side_of_axis(len(models), row_px),
        in_seconds=in_seconds,
        marked=bool(frame["doubt"].any()),
    )
    return Drawing(spec, drawing.placed(frame, models))


@lru_cache(maxsize=256)
def _dots_spec(
    pairs: tuple[tuple[str, str], ...],
    domain: tuple[float, float],
    row_px: int,
    title: str,
    side: axes.Side,
    *,
    in_seconds: bool,
    marked: bool,
) -> dict[str, Any]:
    colour, shape, row = axes.looks(pairs)
    labels = axes.SECONDS if in_seconds else axes.NUMBERS
    across = axes.log_axis(domain, f"{title} (log scale; left is better)", labels, side)
    dots = (
        drawing.points()
        .mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(
            x=across,
            y=axes.model_axis(),
            yOffset=row,
            color=colour,
            shape=shape,
            fill=axes.filled("!datum.warm", colour),
            tooltip=drawing.tooltip(model="Model", variant="Backend", label=title, graphs="Graphs", cache="Cache"),
        )
    )
    doubts = [axes.doubt_marks(across, y=axes.model_axis(), yOffset=row, color=colour)] if marked else []
    return drawing.specified(layered(dots.add_params(axes.pick()), *doubts, height=axes.steps(row_px)))


BLOCK = "Block"
LANES: dict[str, str] = {BLOCK: "total_s", "Trace": "trace_s", "Compile": "compile_s", "Execute": "execute_s"}
"""Lane, from the top → its column in seconds."""
_COLOURS = ("#8A8A8A", "#9A7BD0", "#D2492A", "#1BA37D")
LANE_PX = 15
CHROME_PX = 110


def blocks_in_time(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw one bar per block and lane; a triangle marks a block in which a program was compiled.

    Args:
        frame: columns variant, backend, lane, begin, end (seconds), label, block, compiles, compiled.
    """
    lanes = list(LANES)
    variants = list(dict.fromkeys(frame["variant"]))
    end = float(frame["end"].max()) if len(frame) else 1.0
    across = alt.X(
        "begin:Q",
        scale=alt.Scale(domain=[0, end * 1.02], nice=False),
        axis=alt.Axis(title="Seconds since the first block began", tickCount=10, labelFontSize=12, titleFontSize=12),
    )
    base = alt.Chart(frame).encode(
        x=across,
        y=alt.Y(
            "variant:N",
            sort=variants,
            scale=alt.Scale(domain=variants, paddingInner=0.25),
            axis=alt.Axis(
                title=None,
                labelLimit=axes.names_px(axes.LABEL_PX),
                labelFontSize=12,
                minExtent=axes.names_px(axes.LABEL_PX),
                ticks=False,
            ),
        ),
        yOffset=alt.YOffset("lane:N", sort=lanes, scale=alt.Scale(domain=lanes, paddingInner=0.15)),
    )
    bars = base.mark_bar(stroke="white", strokeWidth=0.6, minBandSize=LANE_PX - 4).encode(
        x2="end:Q", color=_lane_colour(lanes), tooltip=_block_tooltip()
    )
    marks = (
        base.transform_filter("datum.compiled")
        .mark_point(shape="triangle-down", size=55, filled=True, color="#D2492A", opacity=1, yOffset=-4)
        .encode(tooltip=_block_tooltip())
    )
    return layered(bars, marks, height=CHROME_PX + LANE_PX * len(LANES) * max(1, len(variants)) * 5 // 4)


def _lane_colour(lanes: list[str]) -> alt.Color:
    return alt.Color(
        "lane:N",
        scale=alt.Scale(domain=lanes, range=list(_COLOURS)),
        legend=alt.Legend(title=None, orient="top", labelFontSize=12),
    )


def _block_tooltip() -> list[alt.Tooltip]:
    return drawing.tooltip(
        variant="Backend", block="Block", lane="What", label="Duration", compiles="Programs compiled in the block"
    )
