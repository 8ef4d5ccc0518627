"""Parts of one result: identity, metrics, fallback ops, programs, history, and the outcome of its verification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import differing_settings, iter_rows, with_settings_key
from dashboard.formatting import CLASSES, DASH, GAINS, STATUS_WORDS, count, escape, interval, missing
from dashboard.ui import downloads, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import links
from dashboard.viewers.samples import ModelResult
from store.charts import history
from store.identity import XLA
from store.metrics import METRICS
from store.paired.report import SOURCE_RULE
from store.verification import MEANINGS, UNKNOWN, UNVERIFIED, meaning

_IDENTITY = (
    *("run_id", "experiment_id", "record_id", "series_id", "suite", "model", "test", "variant", "accelerator"),
    *("accelerator_model", "environment", "machine_id", "host", "dtype", "batch_size", "requested_batch_size"),
    *("optimizer", "loss", "matmul_precision", "workload", "cache", "attempt", "replicas_n", "threads"),
)


def show_identity(result: ModelResult) -> None:
    """Draw three tables of names and values, then the record."""
    left, right = st.columns(2)
    with left:
        st.markdown("**Identity**")
        _facts({name: result.row[name] for name in _IDENTITY if name in result.row.index}, "identity")
    document = result.document
    if document is None:
        st.caption("There is no record, because the run has not measured this experiment so far.")
        return
    with right:
        st.markdown("**Environment**")
        _facts(_flat(document.get("environment") or {}), "environment")
    with st.expander("Configuration and measurement"):
        _facts(_flat(document.get("experiment") or {}), "experiment")
        measurement = {name: value for name, value in (document.get("measurement") or {}).items() if name != "blocks"}
        _facts(_flat(measurement), "measurement")
    with st.expander("State of the machine during the measurement"):
        _facts(_flat(document.get("machine") or {}), "machine")
    with st.expander("Record (JSON)"):
        st.json(document, expanded=1)


def _facts(facts: dict[str, Any], key: str) -> None:
    if not facts:
        st.caption("The record has none of these facts.")
        return
    rows = pd.DataFrame([(name, _fact_text(value)) for name, value in facts.items()], columns=["Field", "Value"])
    _plain_table(rows, f"facts-{key}", f"Facts: {key}")


def _plain_table(rows: pd.DataFrame, key: str, alt: str, row_height: int | None = None) -> None:
    """Draw names and texts; the names in the first column stay visible where the table is scrolled sideways."""
    names = {str(rows.columns[0]): st.column_config.TextColumn(pinned=True)}
    st.dataframe(rows, column_config=names, hide_index=True, height="content", row_height=row_height, key=key, alt=alt)


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": inner_value for inner, inner_value in value.items()}
        else:
            flat[name] = value
    return flat


def _fact_text(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return DASH
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


_NOT_KNOWN = "No definition; this is the value in the record."


def show_metrics(result: ModelResult) -> None:
    """Draw one table of all numbers, those of the record without a column last."""
    row = result.row
    known = [_metric_row(name, row[name]) for name in METRICS if name in row.index]
    recorded = result.of_experiment("model_metrics")
    further = [_metric_row(metric.name, metric.value) for metric in iter_rows(recorded)]
    rows = pd.DataFrame([*known, *further], columns=["name", "label", "value", "unit", "definition"])
    st.dataframe(
        rows[["label", "value", "unit", "definition", "name"]],
        column_config={
            "label": st.column_config.TextColumn("Metric", pinned=True),
            "value": st.column_config.TextColumn("Value", alignment="right"),
            "unit": st.column_config.TextColumn("Unit"),
            "definition": st.column_config.TextColumn("What it is, or why it is missing", width="large"),
            "name": st.column_config.TextColumn("Column"),
        },
        hide_index=True,
        key="metrics",
        alt="Every metric of the result",
        height=560,
    )
    view, (suite, model, test) = result.view, (str(row[name]) for name in ("suite", "model", "test"))
    of = replace(view.selection, suite=(suite,), model=(model,), test=(test,))
    behind = {
        "Results of the model": data.statement("sides", of),
        "Numbers that have no column": data.statement("model_metrics", view.selection, **result.keys),
    }
    downloads.below(rows, "metrics", data.TableSource(view.file_name("metrics"), behind))


def _metric_row(name: str, value: Any) -> tuple[str, str, str, str, str]:
    metric = METRICS.get(name)
    if metric is None:
        return name, name, _digits(value), "", _NOT_KNOWN
    unit = metric.display_unit or metric.unit
    if missing(value):
        return name, metric.label, DASH, unit, f"{metric.definition} Missing: {metric.failure}."
    return name, metric.label, _digits(metric.shown(float(value))), unit, metric.definition


def _digits(value: Any) -> str:
    if missing(value):
        return DASH
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.5g}"


def show_history(result: ModelResult) -> None:
    """Draw the latency over the runs and the table of the runs; a selected row shows its run."""
    view, series = result.view, {"series": str(result.row["series_id"])}
    runs = data.rows(view.snapshot, "model_history", view.selection, **series)
    ran = with_settings_key(runs[runs["valid"] & runs["latency_s"].notna()])
    st.caption(
        f"{count(len(runs), 'run')} of this series, {count(len(ran), 'run')} with a latency and no wrong answer. A "
        "series is one model, test, variant, environment, dtype, batch size and machine. The ring marks the shown run. "
        f"{differing_settings(ran)}"
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
                "way": ran["way"],
                "shown": ran["run_id"] == view.selection.run_id,
            }
        )
        chart = history.past_line(points, str(result.row["backend"]))
        st.altair_chart(chart, key="past", alt="Latency of this series over its runs")
    newest_first = runs.sort_values("run_started", ascending=False)
    words: list[Any] = [verification_text(row) for row in iter_rows(newest_first)]
    selected = tables.show(
        newest_first.assign(
            status=[STATUS_WORDS.get(status, status) for status in newest_first["status"]],
            verification=words,
        ),
        _history_columns(),
        data.source(view, "history", "model_history", **series),
        key="history",
        alt="Runs of this series; select one to show that run",
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
        "verification": TableColumn("Verification"),
        "verification_code": TableColumn("Verification code", "code", hidden=True),
        "first_iteration_s": measured("first_iteration_s"),
        "fallback_ops_n": measured("fallback_ops_n"),
        "torch": TableColumn("torch"),
        "torch_xla": TableColumn("torch_xla"),
        "threads": TableColumn("Threads", "number", help="Threads that torch computed with.", hidden=True),
        "iterations_per_run": TableColumn(
            "Iterations per block", "number", help="Iterations of a timed block.", hidden=True
        ),
        "batch_size": TableColumn("Batch size", "number", help="Samples of one iteration.", hidden=True),
        "reason": TableColumn("Why no number"),
    }


def show_ops(result: ModelResult) -> None:
    """Draw the fallback ops, then the places where dynamo split the graph."""
    _ops(result)
    breaks = result.of_experiment("model_breaks")
    st.markdown("**Graph breaks**")
    if breaks.empty:
        none = "None: dynamo captured one graph, or this backend captures none."
        st.caption(_why_unknown(result, "graph_breaks_n") or none)
        return
    tables.show(
        breaks,
        {"reason": TableColumn("Reason"), "count": measured("count")},
        result.experiment_source("graph-breaks", "model_breaks"),
        key="breaks",
        alt="Graph breaks of the result",
    )


def _why_unknown(result: ModelResult, counted: str) -> str | None:
    """Return why a result does not say how many there are; None where it does. Other tools do not count them."""
    if result.fact(counted) is not None:
        return None
    return f"Not known: {'another tool measured the result' if result.row['ran'] else 'the result did not run'}."


def _ops(result: ModelResult) -> None:
    st.markdown("**Fallback ops**")
    if not str(result.row["backend"]).startswith(XLA):
        st.caption(f"{escape(result.row['backend'])} runs no XLA program: it has no fallback ops.")
        return
    ops = result.of_experiment("model_fallbacks")
    if ops.empty:
        st.caption(_why_unknown(result, "fallback_ops_n") or "None: XLA lowered every operation.")
        return
    listed = ops.assign(
        klass=[CLASSES.get(klass, (klass, ""))[0] for klass in ops["klass"]],
        payoff_said=[_payoff(row) for row in iter_rows(ops)],
    )
    selected = tables.show(
        listed,
        _ops_columns(ops),
        result.experiment_source("model-fallback-ops", "model_fallbacks"),
        key="ops",
        alt="Fallback ops of the result; select one for all its models",
        on_select="rerun",
    )
    if selected is not None and selected < len(ops):
        links.go(result.view, "fallback-ops", op=str(ops.iloc[selected]["op"]), model=None, suite=None, test=None)


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


def show_programs(result: ModelResult) -> None:
    """Draw a table of the compiled programs, or that none is known."""
    programs = result.of_experiment("model_graphs")
    if programs.empty:
        st.caption("No compiled program is known: the backend compiles none, or the record does not contain them.")
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
        result.experiment_source("programs", "model_graphs"),
        key="programs",
        alt="Compiled programs of the result",
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


def verification_text(row: Any) -> str | None:
    """Return the verification code of a result in words; None where it failed before anything could be compared."""
    code = row.verification_code
    if missing(code) or (code in UNVERIFIED and not row.ran and row.status != "verify_only"):
        return None
    known = meaning(code)
    return str(code) if known is UNKNOWN else known.short


def show_verification(result: ModelResult) -> None:
    """Draw the code with its meaning, then the figures of the check."""
    code = result.fact("verification_code")
    if code is None:
        st.info("The record says nothing about verification.", icon=":material/info:")
        return
    words = meaning(code)
    st.markdown(f"**{escape(words.short)}** ({escape(code)}): {words.says}")
    if result.row["source"] == "xlabench":  # what another tool measured cannot be verified here
        st.markdown(f":material/arrow_forward: {words.to_do}")
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
        _plain_table(table, "verification", "Figures of the verification")
    with st.expander("Meaning of the other codes"):
        rows = [(name, other.says, other.to_do) for name, other in MEANINGS.items() if name != code]
        codes = pd.DataFrame(rows, columns=["Code", "Meaning", "What to do"])
        _plain_table(codes, "codes", "Verification codes", row_height=70)


def _error(error: dict[str, Any] | None) -> None:
    if error:
        st.markdown(f"**{escape(error.get('type', 'error'))}** in phase {escape(error.get('phase', 'unknown'))}")
        downloads.copyable(str(error.get("traceback") or error.get("message") or ""), height=240)


def _text(value: Any) -> str:
    if value is None:
        return DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)
