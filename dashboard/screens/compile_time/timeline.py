"""The first blocks of one model under each backend, in time: what was traced, compiled and executed while one waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, pruned, tables
from dashboard.charts import timelines
from dashboard.rows import each, with_series
from dashboard.screens import choosing
from dashboard.tables import Column, measured
from dashboard.words import count, escape, missing, seconds
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

MOST_BLOCKS = 10


@st.fragment
def show(view: View) -> None:
    """Draw the choice of a model, its blocks and their table; another model draws only this part anew."""
    rows = data.results(view.snapshot, view.selection)
    names = _models(rows)
    if not names:
        st.info("No result of this view has timed blocks.", icon=":material/info:")
        return
    choosing.notice_unknown("Model", list(names), "timeline")
    name = st.selectbox("Model", list(names), key="timeline", bind="query-params", help="The longest wait is first.")
    suite, model, test = names[str(name)]
    asked = {"of_suite": suite, "of_model": model, "of_test": test, "most_blocks": MOST_BLOCKS}
    blocks = with_series(data.rows(view.snapshot, "blocks", view.selection, **asked))
    if blocks.empty:
        st.info(pruned.sentence(view) or "The results of this model came without their blocks.", icon=":material/info:")
        return
    st.altair_chart(
        timelines.blocks(_bars(blocks)),
        key="blocks",
        alt=f"The first blocks of {name} in time, by backend",
    )
    st.caption(
        "Within a block, only durations are known, not their order, so each bar begins where its block begins. "
        "The durations overlap and do not add up to the block: tracing waits for the compiler, and the device executes "
        "while the host goes on. A dash in the table means that the backend does not report the number per block."
    )
    st.caption(" ".join(_unknown(blocks)))
    _table(view, blocks, asked)


def _models(rows: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return what can be chosen, the longest wait first: text → suite, model, test."""
    if rows.empty:
        return {}
    ran = rows[rows["ran"].astype(bool)]
    longest = ran.groupby(["suite", "model", "test"])["time_to_steady_s"].max().sort_values(ascending=False)
    return {f"{model} · {test} · {suite}": (suite, model, test) for suite, model, test in longest.index}


def _bars(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per bar: the block itself, and what is known of it."""
    bars = []
    for lane, column in timelines.LANES.items():
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
                    "block": [f"{int(row.block) + 1}, {row.kind}" for row in each(known)],
                    "compiles": [_number(row.compiles) for row in each(known)],
                    "compiled": [lane == timelines.BLOCK and _compiled(row) for row in each(known)],
                }
            )
        )
    return pd.concat(bars, ignore_index=True)


def _compiled(row: Any) -> bool:
    return not missing(row.compiles) and row.compiles > 0


def _number(value: Any) -> str:
    return "unknown" if missing(value) else f"{int(value)}"


def _unknown(blocks: pd.DataFrame) -> list[str]:
    """Say what is known only as a whole, and whose process is shown."""
    texts = []
    for row in each(blocks.drop_duplicates("series")):
        mine = blocks[blocks["series"] == row.series]
        if mine["compile_s"].isna().all() and not missing(row.compiler_time_s):
            texts.append(
                f"{escape(row.series)}: {escape(row.compiler_source or 'the compiler')} reports "
                f"{seconds(row.compiler_time_s)} of compiling in all, not in which block."
            )
    most = blocks["replicas_n"].max()
    if not missing(most) and most > 1:
        texts.append(f"Of up to {count(int(most), 'process', 'processes')} of a result the first is shown.")
    return texts


def _table(view: View, blocks: pd.DataFrame, asked: dict[str, Any]) -> None:
    columns = {
        "series": Column("Backend", pinned=True),
        "block": Column("Block", "number", help="Timed blocks in order, from 0."),
        "kind": Column("Kind", help="first, warmup, or the first steady one."),
        "begin_s": Column("Begin, ms", "ms", help="Time since the first block began."),
        "total_s": Column("Block, ms", "ms", help="Wall time of the block."),
        "trace_s": Column("Trace, ms", "ms", help="Host time in which lazy tensors were traced."),
        "compile_s": Column("Compile, ms", "ms", help="Time in XLA's compiler, as XLA reports it."),
        "execute_s": Column("Execute, ms", "ms", help="Time of executions, as XLA reports it."),
        "compiles": Column("Compilations", "number", help="Programs that were compiled in the block."),
        "executions": Column("Executions", "number", help="Programs that were executed in the block."),
        "graphs_number": measured("graphs_number"),
        "cache": Column("Cache", help=metric("first_iteration_s").definition),
    }
    tables.show(
        blocks,
        tables.without_constant(columns, blocks, ["cache"]),
        key="blocks-table",
        alt="The first blocks by backend",
        file_name=view.file_name("first-blocks"),
        sql=data.statement("blocks", view.selection, **asked),
    )
