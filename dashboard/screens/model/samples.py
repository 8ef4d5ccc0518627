"""Samples of one result, by block and by process, and the outcome of its verification."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt
import pandas as pd
import streamlit as st

from dashboard.data.frames import each
from dashboard.screens.model.result import ModelResult
from dashboard.ui import charts, downloads, empty, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, choosing
from dashboard.words import DASH, STATUS_WORDS, count, escape, missing, seconds
from store import advice
from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered
from store.verification import is_smaller_batch

_EVERY = "All processes"


def show(view: View, result: ModelResult) -> None:
    """Draw the chart, and tables of processes and blocks in expanders; without samples, draw why there are none."""
    _findings(result)
    blocks = result.rows("model_samples")
    if blocks.empty:
        why = empty.pruned_sentence(view) or "No block was timed, or the record came without its samples."
        st.info(why, icon=":material/info:")
        return
    _chart(blocks, result)
    with st.expander("Processes", key="processes-of-result", on_change="rerun") as part:
        if part.open:
            _processes(view, result)
    with st.expander("Blocks as a table", key="blocks-as-table", on_change="rerun") as part:
        if part.open:
            _table(view, result, blocks)


def _findings(result: ModelResult) -> None:
    """Draw the measurement warnings of all processes of the result, each with its next step."""
    findings = result.rows("model_findings")
    for row in each(findings):
        where = f" ({count(int(row.processes_n), 'process', 'processes')})"
        st.markdown(
            f":material/help: **{escape(advice.summary(row.code))}**: {escape(row.text)}{where}. "
            f"{escape(row.next_step[:1].upper() + row.next_step[1:])}."
        )


def _chart(blocks: pd.DataFrame, result: ModelResult) -> None:
    st.caption(_summary(blocks, result))
    processes = sorted(blocks["replica"].unique())
    chosen = _EVERY
    if len(processes) > 1:
        options = [_EVERY, *(str(int(number)) for number in processes)]
        choosing.notice_unknown("Process", options, "process")
        chosen = st.segmented_control(
            "Process",
            options,
            default=_EVERY,
            required=True,
            key="process",
            bind="query-params",
        )
    shown_blocks = blocks if chosen in (None, _EVERY) else blocks[blocks["replica"] == int(chosen)]
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


def _processes(view: View, result: ModelResult) -> None:
    processes = result.rows("model_processes")
    listed = processes.assign(status=[STATUS_WORDS.get(status, status) for status in processes["status"]])
    columns: dict[str, TableColumn] = {
        "replica": TableColumn("Process", "number", pinned=True, help="Measuring processes of the result, from 0."),
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
        key="processes",
        alt="Measuring processes of the result",
        file_name=view.file_name("processes"),
        sql=result.statement("model_processes"),
    )


def _table(view: View, result: ModelResult, blocks: pd.DataFrame) -> None:
    columns: dict[str, Any] = {
        "replica": TableColumn("Process", "number", help="Measuring process, from 0."),
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
        blocks,
        columns,
        key="blocks-table",
        alt="Timed blocks of the result",
        file_name=view.file_name("blocks"),
        sql=result.statement("model_samples"),
    )


_WORDS = {
    "decided_by": ("Decided by", "The check that gave the verdict."),
    "tolerance": ("Tolerance", "Largest difference that passes."),
    "reference": ("Reference", "float64, or eager where float64 could not run: a weaker check."),
    "tensors": ("Tensors compared", "Outputs in eval; loss, gradients and buffers in train."),
    "judged": ("Tensors judged", "Tensors that decide the verdict: the check would notice a wrong one."),
    "first_failed": ("First that failed", "Name of the first tensor outside the tolerance."),
    "failed_iteration": ("Failed in iteration", "The first iteration in which that tensor failed."),
    "max_abs_error": ("Largest absolute error", "Against the reference."),
    "max_rel_error": ("Largest relative error", "Against the reference."),
    "rmse": ("RMSE of the backend", "Root of the mean square error against the reference."),
    "rmse_eager": ("RMSE of eager", "The same for eager, whose error is rounding alone."),
    "cosine": ("Cosine similarity", "1 is the same direction."),
    "control": ("Control", "`noticed`: zeros, rotated rows, another sign or 5 % more would have failed."),
    "batch_size": ("Batch size", "Samples that were compared; fewer than the timed batch do not count as PASS."),
    "timed_batch_size": ("Timed batch size", "Samples of a timed iteration."),
    "iterations": ("Iterations", "Each was compared."),
    "timed_results": ("Timed process", "Whether the results of the timed process itself agree, too."),
    "seconds": ("Took, s", "Time of the verification process."),
}
"""Field of the record's verification → its label and its description."""


def show_verification(view: View, result: ModelResult) -> None:
    """Draw the code with its meaning, then the figures of the check."""
    del view
    code = result.fact("verification_code")
    if code is None:
        st.info("The record says nothing about verification.", icon=":material/info:")
        return
    meaning = verification(code)
    st.markdown(f"**{escape(code)}** · {meaning.says}")
    st.markdown(f":material/arrow_forward: {meaning.to_do}")
    document = result.document or {}
    if document.get("verification_code", code) != code and result.fact("record_id") == result.fact("detail_record_id"):
        st.caption(
            "A later run compared these results without timing them, and found this; its record has the figures."
        )
    check: dict[str, Any] = document.get("verification") or {}
    for note in check.get("notes") or []:
        st.markdown(f"- {escape(note)}")
    _error(check.get("error"))
    if check:
        rows = [(label, _text(check.get(name)), what) for name, (label, what) in _WORDS.items()]
        table = pd.DataFrame(rows, columns=["Check", "Value", "What it is"])
        st.dataframe(table, hide_index=True, key="verification", alt="Figures of the verification", height="content")
    with st.expander("Meaning of the other codes"):
        rows = [(name, other.says, other.to_do) for name, other in VERIFICATION.items() if name != code]
        st.dataframe(
            pd.DataFrame(rows, columns=["Code", "Meaning", "What to do"]),
            hide_index=True,
            key="codes",
            alt="Verification codes",
            row_height=70,
        )


def _error(error: dict[str, Any] | None) -> None:
    if error:
        st.markdown(f"**{escape(error.get('type', 'error'))}** in phase {escape(error.get('phase', 'unknown'))}")
        downloads.copyable(str(error.get("traceback") or error.get("message") or ""), height=240)


def _text(value: Any) -> str:
    if value is None:
        return DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Meaning(NamedTuple):
    """The meaning of a verification code."""

    says: str
    to_do: str


VERIFICATION: dict[str, Meaning] = {
    "PASS": Meaning(
        "The results agree with eager's within the tolerance.",
        "Nothing, unless the control below says vacuous: then the check would not have noticed other weights.",
    ),
    "PASS (batch N)": Meaning(
        "The results agree at a batch of N; the larger timed batch was not compared: not a PASS.",
        "Read the note that says why: memory or time for the reference, or preset peer's own cap. A machine with more "
        "memory, a longer `--subprocess-timeout` or a smaller `--batch-size` gives a verdict.",
    ),
    "FAIL": Meaning(
        "The results differ from eager's by more than the tolerance.",
        "Do not use this speedup. Look at the first tensor that failed and at the errors below: far above "
        "eager's own error is a wrong program, near it a tolerance that is too strict.",
    ),
    "NONDETERMINISTIC_EAGER_RUN": Meaning(
        "Eager differs from itself when it is run twice, so nothing can be compared with it.",
        "Look for random numbers that the seed does not reach, or for kernels without a fixed order of additions.",
    ),
    "EAGER_FAILED": Meaning(
        "Eager itself raised: the model or its inputs do not work here, whatever compiles it.",
        "Read the error and the log; a smaller batch size helps where memory ran out.",
    ),
    "EXCEPTION_RAISED": Meaning(
        "The backend raised while its answer was computed; eager did not.",
        "Read the error and the log; `--minify` makes a small program that still fails.",
    ),
    "VERIFIER_SKIPPED": Meaning(
        "The answer was not compared: it was not requested, a table excludes this model with a reason, or nothing in "
        "it could be judged (constants, random numbers, noise).",
        "Run with `--verify`. Where a check is below, its notes say why. The speed is known and the answer is not.",
    ),
    "VERIFIER_DIDNT_RUN": Meaning(
        "The process ended before it could compare.",
        "Read why the experiment failed, and the log of its verify process.",
    ),
}
"""Code → meaning, in the order of docs/verify.md."""
UNKNOWN = Meaning("A code of a later version, or of another tool.", "Read the record.")


def verification(code: str) -> Meaning:
    """Return the meaning of a code; all codes of a smaller batch have the same meaning."""
    return VERIFICATION.get("PASS (batch N)" if is_smaller_batch(code) else code, UNKNOWN)


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
