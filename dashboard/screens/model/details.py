"""One result of the model in detail: the choice of the result and of the part that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import access, data
from dashboard.data.frames import each
from dashboard.launch import rerun
from dashboard.screens.model import files, result, samples
from dashboard.screens.model.result import ModelResult
from dashboard.ui import downloads, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import choosing, links
from dashboard.words import CLASSES, GAINS, STATUS_WORDS, count, escape, interval, missing
from store.charts import history
from store.paired.report import SOURCE_RULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.view import View


def _show_history(view: View, result: ModelResult) -> None:
    """Draw the latency over the runs and the table of the runs; a selected row shows its run."""
    series = {"series": str(result.row["series_id"])}
    runs = data.rows(view.snapshot, "model_history", view.selection, **series)
    ran = runs[runs["ran"] & runs["latency_s"].notna()]
    st.caption(
        f"{count(len(runs), 'run')} of this series, {count(len(ran), 'run')} with a latency. A series is one model, "
        "test, variant, environment, dtype, batch size and machine. The ring marks the shown run."
    )
    if result.row["suite"] == "own":
        st.caption(SOURCE_RULE)
    if len(ran):
        points = pd.DataFrame(
            {
                "started": ran["run_started"],
                "run": ran["run_label"],
                "ms": ran["latency_s"] * 1e3,
                "low": ran["latency_low_s"] * 1e3,
                "high": ran["latency_high_s"] * 1e3,
                "n": ran["steady_n"],
                "torch": ran["torch"],
                "shown": ran["run_id"] == view.selection.run_id,
            }
        )
        chart = history.past_line(points, str(result.row["backend"]))
        st.altair_chart(chart, key="past", alt="Latency of this series over its runs")
    newest_first = runs.sort_values("run_started", ascending=False)
    selected = tables.show(
        newest_first.assign(status=[STATUS_WORDS.get(status, status) for status in newest_first["status"]]),
        _history_columns(),
        key="history",
        alt="Runs of this series; select one to show that run",
        file_name=view.file_name("history"),
        sql=data.statement("model_history", view.selection, **series),
        on_select="rerun",
    )
    if selected is not None and selected < len(runs):
        chosen = str(newest_first.iloc[selected]["run_id"])
        if chosen != view.selection.run_id:
            links.go(view, "model", run=chosen)


def _history_columns() -> dict[str, TableColumn]:
    return {
        "run_label": TableColumn("Run", pinned=True),
        "run_started": TableColumn("Started (UTC)", "time"),
        "status": TableColumn("Status"),
        "latency_s": measured("latency_s"),
        "latency_low_s": measured("latency_low_s"),
        "latency_high_s": measured("latency_high_s"),
        "steady_n": TableColumn("n", "number", help="Steady samples behind the latency."),
        "verification_code": TableColumn("Verification", "code"),
        "first_iteration_s": measured("first_iteration_s"),
        "fallback_ops_n": measured("fallback_ops_n"),
        "torch": TableColumn("torch"),
        "torch_xla": TableColumn("torch_xla"),
        "reason": TableColumn("Why no number"),
    }


def _show_ops(view: View, result: ModelResult) -> None:
    """Draw the fallback ops, then the places where dynamo split the graph."""
    _ops(view, result)
    breaks = data.rows(view.snapshot, "model_breaks", view.selection, **result.keys)
    st.markdown("**Graph breaks**")
    if breaks.empty:
        st.caption("None: dynamo captured one graph, or this backend captures none.")
        return
    tables.show(
        breaks,
        {"reason": TableColumn("Reason"), "count": measured("count")},
        key="breaks",
        alt="Graph breaks of the result",
        file_name=view.file_name("graph-breaks"),
        sql=data.statement("model_breaks", view.selection, **result.keys),
    )


def _ops(view: View, result: ModelResult) -> None:
    st.markdown("**Fallback ops**")
    if not str(result.row["backend"]).startswith(("openxla", "torchxla")):
        st.caption(f"{escape(result.row['backend'])} runs no XLA program: it has no fallback ops.")
        return
    ops = data.rows(view.snapshot, "model_fallbacks", view.selection, **result.keys)
    if ops.empty:
        st.caption("None: XLA lowered every operation." if result.row["ran"] else "Not known: the result did not run.")
        return
    listed = ops.assign(
        klass=[CLASSES.get(klass, (klass, ""))[0] for klass in ops["klass"]],
        payoff_said=[_payoff(row) for row in each(ops)],
    )
    selected = tables.show(
        listed,
        _ops_columns(ops),
        key="ops",
        alt="Fallback ops of the result; select one for all its models",
        file_name=view.file_name("model-fallback-ops"),
        sql=data.statement("model_fallbacks", view.selection, **result.keys),
        on_select="rerun",
    )
    if selected is not None and selected < len(ops):
        links.go(view, "fallback-ops", op=str(ops.iloc[selected]["op"]), model=None, suite=None, test=None)


def _payoff(row: Any) -> str:
    """Return the measured payoff of lowering the op for this model, or why it is not known."""
    if missing(row.payoff) and missing(row.payoff_reason):
        return "" if row.klass == "host_read" else "not measured"
    if missing(row.payoff):
        return f"no payoff: {row.payoff_reason}"
    known = interval(row.payoff_low, row.payoff_high) if not missing(row.payoff_low) else "one process"
    return f"{known}, {GAINS[int(row.gain)]}" if not missing(row.gain) else known


def _ops_columns(ops: pd.DataFrame) -> dict[str, TableColumn]:
    columns = {
        "op": TableColumn("Op", pinned=True),
        "klass": TableColumn("Class", help=" ".join(f"{name}: {what}" for name, what in CLASSES.values())),
        "calls_per_iteration": measured("calls_per_iteration"),
        "calls_compile": measured("calls_compile"),
        "time_s": measured("time_s"),
        "payoff": measured("payoff"),
        "payoff_said": TableColumn("Measured without it"),
        "call_site": TableColumn("Called from"),
    }
    if ops["time_s"].isna().all():
        st.caption("No profile was taken, so the time of the ops is not known: --profile-cuda-cpu-individual-ops.")
    return columns


_KINDS = {
    "fx": "captured by dynamo (fx)",
    "hlo": "HLO before XLA's passes",
    "hlo_optimized": "HLO after XLA's passes",
    "inductor": "inductor's code",
}


def _show_programs(view: View, result: ModelResult) -> None:
    """Draw a table of the compiled programs, or that none is known."""
    programs = data.rows(view.snapshot, "model_graphs", view.selection, **result.keys)
    if programs.empty:
        st.caption("No compiled program is known: the backend compiles none, or the record came without them.")
        return
    listed = programs.assign(kind=[_KINDS.get(kind, kind) for kind in programs["kind"]])
    columns = {
        "kind": TableColumn("Program", pinned=True),
        "position": TableColumn("No.", "number", help="In the order of the record, from 0."),
        "ops": TableColumn("Operations", "number", help="Operations in the program."),
        "fusions": TableColumn("Fusions", "number", help="Groups of operations that became one kernel."),
        "flops": TableColumn("FLOPs", "decimal", help="Of one execution, as far as they are known."),
        "bytes_accessed": TableColumn("Memory traffic, MiB", "MiB", help="Bytes read and written by one execution."),
        "operations": TableColumn("Which operations"),
        "fingerprint": TableColumn("Fingerprint", help="Equal programs have equal fingerprints; names do not count."),
    }
    tables.show(
        listed,
        columns,
        key="programs",
        alt="Compiled programs of the result",
        file_name=view.file_name("programs"),
        sql=data.statement("model_graphs", view.selection, **result.keys),
    )


PARTS: dict[str, Callable[[View, ModelResult], None]] = {
    "Samples": samples.show,
    "Verification": samples.show_verification,
    "Metrics": result.show_metrics,
    "Fallback ops": _show_ops,
    "Programs": _show_programs,
    "History": _show_history,
    "Files": files.show,
    "Identity and record": result.show_identity,
}


def show(view: View, rows: pd.DataFrame, beside: tuple[str, ...]) -> None:
    """Draw the choices of a result and a part, both bound to the URL, and the chosen part.

    Args:
        view: what is shown.
        rows: the results to choose from.
        beside: records of all results of the model and test, also of those that the filters leave out.
    """
    st.subheader("One result", anchor=False)
    names = list(rows["series"])
    choosing.notice_unknown("Result", names, "result")
    choosing.notice_unknown("Part", list(PARTS), "part")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Result",
            names,
            index=_first(rows),
            key="result",
            bind="query-params",
            width=380,
        )
        part = st.segmented_control(
            "Part", list(PARTS), default="Samples", required=True, key="part", bind="query-params"
        )
    result = ModelResult(view, rows.iloc[names.index(name)], beside)
    result.reproduce()
    downloads.draft_of_record(view, result.document)
    _rerun_buttons(view, rows.iloc[[names.index(name)]])
    if not result.row["ran"]:
        files.end_of_log(view, result)
    PARTS[part or "Samples"](view, result)


def _rerun_buttons(view: View, row: pd.DataFrame) -> None:
    """Draw the button that measures the result again, in turns with the model's baseline if that is another result."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="result-again"):
        for cell in rerun.of_rows(row):
            rerun.one(view, cell, "Measure it again", key="again-result", beside=(view.selection.baseline,))
        access.ask_name("result-name")


def _first(rows: pd.DataFrame) -> int:
    """Return the position of the result to show at first: a failed one, else the first on XLA, else the first."""
    failed = [
        not ran and status not in ("skipped", "not_run")
        for ran, status in zip(rows["ran"], rows["status"], strict=True)
    ]
    on_xla = [str(backend).startswith("openxla") for backend in rows["backend"]]
    return next((flags.index(True) for flags in (failed, on_xla) if True in flags), 0)
