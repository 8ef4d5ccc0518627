"""Samples: every block that was timed, what the processes found, and what speaks against the number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import pruned, tables
from dashboard.charts import drawing
from dashboard.charts import samples as chart
from dashboard.rows import each
from dashboard.screens import choosing
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, count, escape, missing, seconds
from store import advice

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.screens.model.result import Result
    from dashboard.view import View

_EVERY = "All processes"


def show(view: View, result: Result) -> None:
    """Draw the chart; processes and blocks stand in tables that open. Or say that nothing was timed."""
    _findings(result)
    blocks = result.rows("model_samples")
    if blocks.empty:
        why = pruned.sentence(view) or "No block was timed, or the record came without its samples."
        st.info(why, icon=":material/info:")
        return
    _chart(blocks, result)
    with st.expander("Processes", key="processes-of-result", on_change="rerun") as part:
        if part.open:
            _processes(view, result)
    with st.expander("Blocks as a table", key="blocks-as-table", on_change="rerun") as part:
        if part.open:
            _table(view, result, blocks)


def _findings(result: Result) -> None:
    """List every reason to doubt the number, of whatever process, each with what to do."""
    found = result.rows("model_findings")
    for row in each(found):
        where = f" ({count(int(row.processes_n), 'process', 'processes')})"
        st.markdown(
            f":material/help: **{escape(advice.summary(row.code))}**: {escape(row.text)}{where}. "
            f"{escape(row.next_step)}."
        )


def _chart(blocks: pd.DataFrame, result: Result) -> None:
    st.caption(_words(blocks, result))
    processes = sorted(blocks["replica"].unique())
    chosen = _EVERY
    if len(processes) > 1:
        options = [_EVERY, *(str(int(each)) for each in processes)]
        choosing.notice_unknown("Process", options, "process")
        chosen = st.segmented_control(
            "Process",
            options,
            default=_EVERY,
            required=True,
            key="process",
            bind="query-params",
        )
    drawn = blocks if chosen in (None, _EVERY) else blocks[blocks["replica"] == int(chosen)]
    latency = result.row["latency_s"]
    drawing.draw(
        chart.blocks(_points(drawn), None if missing(latency) else float(latency) * 1e3),
        key="blocks",
        text="Time per iteration of each timed block, with its phase and what it compiled",
    )


def _points(blocks: pd.DataFrame) -> pd.DataFrame:
    known = blocks[blocks["per_iter_s"] > 0]
    return known[["block", "kind", "round", "executions"]].assign(
        process=known["replica"].astype(str),
        ms=known["per_iter_s"] * 1e3,
        trace_ms=known["trace_s"] * 1e3,
        compiles=known["compiles"].fillna(0),
    )


def _words(blocks: pd.DataFrame, result: Result) -> str:
    """Say how many blocks of which phase there are, and where something was compiled late."""
    kinds = [f"{int((blocks['kind'] == kind).sum())} {kind}" for kind in chart.PHASES if (blocks["kind"] == kind).any()]
    said = f"{count(len(blocks), 'block')} ({', '.join(kinds)})"
    steady = blocks[blocks["kind"] == "steady"]
    late = int((steady["compiles"].fillna(0) > 0).sum())
    if late:
        said += f" · {count(late, 'steady block')} compiled again: the program depends on something that changes"
    if not missing(result.row["latency_s"]):
        said += f" · median of the steady ones {seconds(result.row['latency_s'])}"
    return said


def _processes(view: View, result: Result) -> None:
    processes = result.rows("model_processes")
    listed = processes.assign(status=[STATUS_WORDS.get(status, status) for status in processes["status"]])
    columns: dict[str, Column] = {
        "replica": Column("Process", "number", pinned=True, help="Measuring processes of the result, from 0."),
        "status": Column("Status"),
        "latency_s": measured("latency_s"),
        "latency_low_s": measured("latency_low_s"),
        "latency_high_s": measured("latency_high_s"),
        "steady_n": Column("n", "number", help="Steady blocks of the process."),
        "latency_spread": measured("latency_spread"),
        "first_iteration_s": measured("first_iteration_s"),
        "start": Column("Start", help="A fork of a warm server, or a new interpreter: compile times differ by it."),
        "finished_at": Column("Finished (UTC)", "time"),
        "reason": Column("Why no number"),
    }
    columns = tables.without_constant(columns, listed, ["reason", "start"])
    tables.show(
        listed,
        columns,
        key="processes",
        alt="Measuring processes of the result",
        file_name=view.file_name("processes"),
        sql=result.statement("model_processes"),
    )


def _table(view: View, result: Result, blocks: pd.DataFrame) -> None:
    columns: dict[str, Any] = {
        "replica": Column("Process", "number", help="Measuring process, from 0."),
        "block": Column("Block", "number", help="Timed blocks in order, from 0."),
        "kind": Column("Phase"),
        "round": Column("Turn", "number", help="Turn of the process in which the block was timed, from 0."),
        "per_iter_s": Column("Per iteration, ms", "ms", help="Wall time of the block over its iterations."),
        "trace_s": Column("Tracing, ms", "ms", help="Host time per iteration spent tracing lazy tensors."),
        "compile_s": Column("Compiling, s", "seconds", help="Compile time of the block, as PyTorch/XLA counts it."),
        "execute_s": Column("Executing, ms", "ms", help="Time of executing in the block, as PyTorch/XLA counts it."),
        "compiles": Column("Compilations", "number", help="Programs that were compiled in the block."),
        "executions": Column("Executions", "number", help="Programs that were executed in the block."),
    }
    tables.show(
        blocks,
        columns,
        key="blocks-table",
        alt="Timed blocks of the result",
        file_name=view.file_name("blocks"),
        sql=result.statement("model_samples"),
    )
