"""Runs: what each run planned and got, and one run's experiments with the reasons and records behind them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, empty, filters, frame, tables
from dashboard.rows import each, with_series
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, count, escape, missing

if TYPE_CHECKING:
    from dashboard.view import View

_MATRIX_CELLS = 12_000


def show(view: View) -> None:
    """Draw the page."""
    runs = data.runs(view.snapshot)
    rows = with_series(data.results(view.snapshot, view.selection))
    frame.head("Runs", view, [_answer(runs, view)], len(rows), baseline=False)
    _list(view, runs)
    st.subheader(f"Run {view.run_name}", anchor=False)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    _matrix(rows)
    _warnings(rows)
    _experiments(view, rows)


def _answer(runs: pd.DataFrame, view: View) -> str:
    unfinished = int((~runs["complete"].astype(bool)).sum())
    text = f"{count(len(runs), 'run')} in the store"
    text += f", {unfinished:,} of them not complete" if unfinished else ", all complete"
    run = view.run
    return (
        f"{text}. **{escape(view.run_name)}** ran {int(run['ran_n']):,} of {count(int(run['planned_n']), 'experiment')}"
    )


def _list(view: View, runs: pd.DataFrame) -> None:
    listed = runs.copy()
    listed["complete"] = ["yes" if done else "no" for done in runs["complete"]]
    listed["origin"] = [
        source if known else f"{source}, no plan recorded"
        for source, known in zip(runs["source"], runs["plan_known"], strict=True)
    ]
    columns = {
        "run_label": Column("Run", pinned=True),
        "run_id": Column("Run id"),
        "run_started": Column("Started (UTC)", "time"),
        "planned_n": Column("Planned", "number", help="Experiments of the plan; the denominator of every rate."),
        "ran_n": Column("Ran", "number", help="Finished with steady samples."),
        "failed_n": Column("Failed", "number"),
        "skipped_n": Column("Skipped", "number", help="Planned, with a reason not to run it."),
        "not_run_n": Column("Not run", "number", help="Planned, but the run ended before it was measured."),
        "complete": Column("Complete", help="Every planned experiment has a result or a reason to be skipped."),
        "torch": Column("torch"),
        "torch_xla": Column("torch_xla"),
        "host": Column("Host"),
        "accelerator_model": Column("Device"),
        "origin": Column("Origin"),
        "command": Column("Command", width="large"),
    }
    st.caption("Select a run to show it on every page.")
    tables.show(
        listed,
        columns,
        key="runs-list",
        alt="Runs of the store",
        file_name="xlabench-runs",
        on_select=lambda: _choose(view.snapshot, list(runs["run_id"])),
    )


def _choose(shown: str, run_ids: list[str]) -> None:
    """Put the run of the selected row into the filter of the sidebar, and thereby into the URL."""
    picked = st.session_state["runs-list"]["selection"]["rows"]
    if picked:
        filters.choose_run(run_ids[picked[0]], data.choices(shown))


def _matrix(rows: pd.DataFrame) -> None:
    """Draw models down and backends across; each cell is a status."""
    st.markdown("**Status by model and backend**")
    keys = ["suite", "model", "test", "accelerator"]
    if len(rows) > _MATRIX_CELLS:
        st.caption(
            f"{count(len(rows), 'result')} are too many for a matrix; filter by suite or model, or use the table below."
        )
        return
    cells = rows.assign(text=[STATUS_WORDS.get(status, status) for status in rows["status"]])
    wide = cells.pivot_table(
        index=keys, columns="series", values="text", aggfunc=lambda found: " / ".join(sorted(set(found)))
    )
    wide = wide.reset_index()
    wide.columns = [str(name) for name in wide.columns]
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
    }
    columns = tables.without_constant(columns, wide, ["suite", "accelerator"])
    columns |= {name: Column(name) for name in wide.columns if name not in keys}
    tables.show_statuses(wide, columns, key="matrix", alt="Status by model and backend")


def _warnings(rows: pd.DataFrame) -> None:
    noted = [(row.model, row.series, row.test, text) for row in each(rows) for text in _texts(row.warnings)]
    if not noted:
        return
    with st.expander(
        f"{count(len(noted), 'warning')} in {count(len({n[:3] for n in noted}), 'result')}", icon=":material/warning:"
    ):
        table = pd.DataFrame(noted, columns=["Model", "Backend", "Test", "Warning"])
        st.dataframe(table, hide_index=True, key="warnings")


def _texts(value: Any) -> list[str]:
    return [] if value is None or isinstance(value, float) else [str(text) for text in value]


def _experiments(view: View, rows: pd.DataFrame) -> None:
    st.markdown(
        "**Experiments** · those without a number first; select a row for its reproduce command, environment and record"
    )
    rows = rows.sort_values("ran", kind="stable")
    listed = rows.copy()
    listed["status"] = [STATUS_WORDS.get(status, status) for status in rows["status"]]
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "series": Column("Backend", pinned=True),
        "status": Column("Status", width=95),
        "failure_phase": Column("Phase", width=75, help="How far a failed experiment came."),
        "reason": Column("Why no number", width=320),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "verification_code": Column("Verification", width=155),
        "dtype": Column("Dtype"),
        "batch_size": Column("Batch size", "number"),
        "attempt": Column("Attempt", "number"),
        "reproduce": Column("Reproduce", width="large"),
    }
    columns = tables.without_constant(columns, listed, ["suite", "accelerator", "dtype", "attempt"])
    position = tables.show(
        listed,
        columns,
        key="experiments",
        alt="Experiments of the run",
        file_name=view.file_name("run"),
        on_select="rerun",
    )
    if position is not None and position < len(rows):
        _detail(view, rows.iloc[position])


def _detail(view: View, row: pd.Series) -> None:
    """Show one experiment: what to type to repeat it, where it ran, and its record as it was read."""
    with st.container(border=True, key="detail"):
        status = STATUS_WORDS.get(row["status"], row["status"])
        st.markdown(f"**{escape(row['model'])}** · {escape(row['variant'])} · {escape(row['test'])} · {escape(status)}")
        if isinstance(row["reason"], str) and row["reason"]:
            st.text(row["reason"])
        environment = None if missing(row["environment"]) else str(row["environment"])
        found = data.record(view.snapshot, str(row["run_id"]), str(row["experiment_id"]), environment)
        document = _document(found)
        if not missing(row["reproduce"]) and row["reproduce"]:
            st.markdown("Reproduce")
            st.code(str(row["reproduce"]), language="bash", wrap_lines=True)
        if document is None:
            st.caption("The run ended before this experiment was measured: there is no record.")
            return
        with st.expander("Environment"):
            st.json(document.get("environment") or {"environment": "unknown: the record does not say"})
        with st.expander("Record (JSON)"):
            st.json(document, expanded=1)


def _document(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None or missing(found["record"]) or not found["record"]:
        return None
    text = found["record"]
    document: dict[str, Any] = json.loads(text) if isinstance(text, str) else dict(text)
    return document
