"""One result with its record, and its samples by block and by process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data import TableSource
from dashboard.data.frames import iter_rows
from dashboard.formatting import STATUS_WORDS, count, error_text, escape, missing, seconds
from dashboard.ui import charts, downloads, empty, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, choosing
from store import advice
from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered


@dataclass(frozen=True)
class ModelResult:
    """A row of `speedups`, with its record."""

    view: View
    row: pd.Series
    record_ids: tuple[str, ...]
    """Records of all results of its model and test in the run, including its own. One query reads all of them, because
    the result of another backend is usually shown next."""

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The record as its line was read, or None where the run ended before it was written."""
        records = self.rows("model_records")
        if records.empty or missing(text := records["record"].iloc[0]) or not text:
            return None
        document: dict[str, Any] = json.loads(text) if isinstance(text, str) else dict(text)
        return document

    def rows(self, name: str) -> pd.DataFrame:
        """Return the result's rows of a query that has parameter `records` and column `result`."""
        all_rows = data.rows(self.view.snapshot, name, self.view.selection, records=list(self.record_ids))
        return all_rows[all_rows["result"] == self.fact("record_id")].reset_index(drop=True)

    def source(self, what: str, name: str) -> TableSource:
        """Return the source of the rows of that query, whose SQL is of this result's record alone."""
        return data.source(self.view, what, name, records=[self.fact("record_id")])

    @property
    def keys(self) -> dict[str, Any]:
        """Parameters of queries over the experiment of this result."""
        return {"experiment": str(self.row["experiment_id"]), "environment": self.fact("environment")}

    def of_experiment(self, name: str) -> pd.DataFrame:
        """Return the rows of a query that has these parameters."""
        return data.rows(self.view.snapshot, name, self.view.selection, **self.keys)

    def experiment_source(self, what: str, name: str) -> TableSource:
        """Return the source of the rows of that query."""
        return data.source(self.view, what, name, **self.keys)

    def fact(self, name: str) -> str | None:
        """Return a column of the row as text, or None where it is unknown."""
        value = self.row[name]
        return None if missing(value) or value == "" else str(value)

    def reproduce(self) -> None:
        """Draw why the result has no number, if it has none, and the command that measures it again."""
        status = str(self.row["status"])
        if not self.row["ran"] and self.fact("reason"):
            phase = f" in phase {escape(self.row['failure_phase'])}" if self.fact("failure_phase") else ""
            st.markdown(f"**{escape(STATUS_WORDS.get(status, status))}**{phase}:")
            st.text(str(self.row["reason"]))
            traceback = ((self.document or {}).get("error") or {}).get("traceback")
            if traceback:
                with st.expander("Traceback", icon=":material/bug_report:"):
                    downloads.copyable(str(traceback), height=320)
        command = self.fact("reproduce")
        if command:
            st.caption("Measure this again:")
            downloads.command(command)


_EVERY = "All processes"


def show(result: ModelResult) -> None:
    """Draw the chart, and tables of processes and blocks in expanders; without samples, draw why there are none."""
    _findings(result)
    blocks = result.rows("model_samples")
    if blocks.empty:
        why = empty.pruned_sentence(result.view) or "No block was timed, or the record has no samples."
        st.info(why, icon=":material/info:")
        return
    _chart(blocks, result)
    with st.expander("Processes", key="processes-of-result", on_change="rerun") as part:
        if part.open:
            _processes(result)
    with st.expander("Blocks as a table", key="blocks-as-table", on_change="rerun") as part:
        if part.open:
            _table(result, blocks)


def _findings(result: ModelResult) -> None:
    """Draw the measurement warnings of all processes of the result, each with its next step."""
    findings = result.rows("model_findings")
    for row in iter_rows(findings):
        where = f" ({count(int(row.processes_n), 'process', 'processes')})"
        st.markdown(
            f":material/help: **{escape(advice.summary(row.code))}**: {escape(row.text)}{where}. "
            f"{error_text(row.next_step[:1].upper() + row.next_step[1:])}."
        )


def _chart(blocks: pd.DataFrame, result: ModelResult) -> None:
    st.caption(_summary(blocks, result))
    processes = sorted(blocks["replica"].unique())
    chosen = _EVERY
    if len(processes) > 1:
        chosen = choosing.segments("Process", [_EVERY, *(str(int(number)) for number in processes)], "process")
    shown_blocks = blocks if chosen == _EVERY else blocks[blocks["replica"] == int(chosen)]
    latency = result.row["latency_s"]
    charts.draw(
        blocks_chart(_points(shown_blocks), None if missing(latency) else float(latency) * 1e3),
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


def _summary(blocks: pd.DataFrame, result: ModelResult) -> str:
    """Return the number of blocks by phase, late compilations, and the median latency."""
    kinds = [f"{int((blocks['kind'] == kind).sum())} {kind}" for kind in PHASES if (blocks["kind"] == kind).any()]
    sentence = f"{count(len(blocks), 'block')} ({', '.join(kinds)})"
    steady = blocks[blocks["kind"] == "steady"]
    late = int((steady["compiles"].fillna(0) > 0).sum())
    if late:
        sentence += f" · {count(late, 'steady block')} compiled again: the program depends on something that changes"
    if not missing(result.row["latency_s"]):
        sentence += f" · median of the steady ones {seconds(result.row['latency_s'])}"
    return sentence


def _processes(result: ModelResult) -> None:
    processes = result.rows("model_processes")
    listed = processes.assign(status=[STATUS_WORDS.get(status, status) for status in processes["status"]])
    columns: dict[str, TableColumn] = {
        "replica": TableColumn("Process", "number", pinned=True, help="Benchmark processes of the result, from 0."),
        "status": TableColumn("Status"),
        "latency_s": measured("latency_s"),
        "latency_low_s": measured("latency_low_s"),
        "latency_high_s": measured("latency_high_s"),
        "steady_n": TableColumn("n", "number", help="Steady blocks of the process."),
        "latency_spread": measured("latency_spread"),
        "first_iteration_s": measured("first_iteration_s"),
        "start": TableColumn(
            "Start", help="A fork of a warm server, or a new interpreter: compile times differ by it."
        ),
        "finished_at": TableColumn("Finished (UTC)", "time"),
        "reason": TableColumn("Why no number"),
    }
    columns = tables.without_constant(columns, listed, ["reason", "start"])
    tables.show(
        listed,
        columns,
        result.source("processes", "model_processes"),
        key="processes",
        alt="Benchmark processes of the result",
    )


def _table(result: ModelResult, blocks: pd.DataFrame) -> None:
    columns: dict[str, Any] = {
        "replica": TableColumn("Process", "number", help="Benchmark process, from 0."),
        "block": TableColumn("Block", "number", help="Timed blocks in order, from 0."),
        "kind": TableColumn("Phase"),
        "round": TableColumn("Turn", "number", help="Turn of the process in which the block was timed, from 0."),
        "per_iter_s": TableColumn("Per iteration, ms", "ms", help="Wall time of the block over its iterations."),
        "trace_s": TableColumn("Tracing, ms", "ms", help="Host time per iteration spent tracing lazy tensors."),
        "compile_s": TableColumn(
            "Compiling, s", "seconds", help="Compile time of the block, as PyTorch/XLA counts it."
        ),
        "execute_s": TableColumn(
            "Executing, ms", "ms", help="Time of executing in the block, as PyTorch/XLA counts it."
        ),
        "compiles": TableColumn("Compilations", "number", help="Programs that were compiled in the block."),
        "executions": TableColumn("Executions", "number", help="Programs that were executed in the block."),
    }
    tables.show(
        blocks, columns, result.source("blocks", "model_samples"), key="blocks-table", alt="Timed blocks of the result"
    )


HEIGHT_PX = 320
PHASES = {"first": ("triangle-up", "#D2492A"), "warmup": ("square", "#B09A00"), "steady": ("circle", "#2563C9")}
"""Kind of a block → shape and colour of its mark."""


def blocks_chart(frame: pd.DataFrame, median_ms: float | None) -> Drawing:
    """Draw one mark per block, a rule at the result's latency, and a dashed one at each block that compiled.

    Args:
        frame: columns block, process, kind, ms (per iteration, > 0), compiles, executions, trace_ms, round.
        median_ms: the result's latency, None where it has none.
    """
    shown = tuple(kind for kind in PHASES if (frame["kind"] == kind).any())
    return Drawing(_spec(shown, _ticks(frame["ms"]), ruled=bool(median_ms)), frame.assign(latency=median_ms))


def _ticks(ms: pd.Series) -> tuple[float, ...]:
    """Return ticks of an axis that is wider than the data, so that similar data have the same ticks.

    There are none where no such tick is within the data: then the browser chooses finer ones.
    """
    if ms.empty:
        return ()
    ticks = axes.log_ticks(axes.round_domain(ms), wide=axes.is_wide(axes.log_domain(ms)))
    return tuple(ticks) if any(ms.min() <= tick <= ms.max() for tick in ticks) else ()


@lru_cache(maxsize=256)
def _spec(shown: tuple[str, ...], ticks: tuple[float, ...], *, ruled: bool) -> dict[str, Any]:
    across = alt.X("block:Q", axis=alt.Axis(title="Timed block, in order", tickMinStep=1, labelFontSize=12))
    down = alt.Y(
        "ms:Q",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(
            title="ms per iteration (log scale)",
            labelFontSize=12,
            labelExpr=axes.NUMBERS,
            values=list(ticks) or alt.Undefined,
        ),
    )
    legend = alt.Legend(title=None, orient="top", labelFontSize=12)
    kinds = alt.Scale(domain=list(shown), range=[PHASES[kind][1] for kind in shown])
    forms = alt.Scale(domain=list(shown), range=[PHASES[kind][0] for kind in shown])
    marks = (
        drawing.points()
        .mark_point(size=55, strokeWidth=1.6, opacity=0.9)
        .encode(
            x=across,
            y=down,
            color=alt.Color("kind:N", scale=kinds, legend=legend),
            shape=alt.Shape("kind:N", scale=forms, legend=legend),
            tooltip=_tooltip(),
        )
    )
    compiled = (
        drawing.points()
        .transform_filter("datum.compiles > 0")
        .mark_rule(color=palette.FAILED_COLOUR, strokeDash=[3, 3], opacity=0.6)
        .encode(x=across, tooltip=_tooltip())
    )
    layers = [compiled, marks]
    if ruled:
        rule = drawing.points().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
        layers.insert(0, rule.encode(y=alt.Y("latency:Q", aggregate="max", title="")))
    return drawing.specified(layered(*layers, height=HEIGHT_PX))


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("block:Q", title="Block"),
        alt.Tooltip("process:N", title="Process"),
        alt.Tooltip("kind:N", title="Phase"),
        alt.Tooltip("ms:Q", title="ms per iteration", format=",.4~g"),
        alt.Tooltip("compiles:Q", title="Compilations"),
        alt.Tooltip("executions:Q", title="Executions"),
        alt.Tooltip("trace_ms:Q", title="Tracing, ms", format=",.3~f"),
        alt.Tooltip("round:Q", title="Turn"),
    ]
