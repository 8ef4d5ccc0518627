"""Results of the shown run: statuses by model and backend, experiments, measurement warnings and raw records."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, varies, with_unique_series
from dashboard.formatting import STATUS_WORDS, WRONG, count, escape, missing, shortened
from dashboard.jobs import rerun
from dashboard.ui import doubts, opening, tables
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, links
from store import advice


def show_experiments(view: View, rows: pd.DataFrame) -> None:
    """Draw the table of experiments; a name opens page Model, which has the samples, files and record."""
    st.caption("Experiments without a number are first. Click a name for samples, files, reproduce command and record.")
    _show_reasons(rows)
    rows = rows.sort_values("ran", kind="stable")
    listed = doubts.marked(rows).assign(status=[STATUS_WORDS.get(status, status) for status in rows["status"]])
    same = ["suite", "accelerator", "dtype", "attempt", "replicas_n", "failure_phase", "doubt"]
    columns = tables.without_constant(_experiments_columns(), listed, same)
    position = tables.show(
        listed,
        columns,
        data.source(view, "run", "experiments"),
        key="experiments",
        alt="Experiments of the run; select one to open it",
        on_select="rerun",
    )
    selected, opened = opening.chosen(rows, position, "experiments")
    rerun.offer(view, rerun.of_rows(rows), key="experiments", selected=selected)
    if opened is not None:
        where = {name: str(opened[name]) for name in ("suite", "model", "test")}
        links.go(view, "model", **where, result=_named(rows, opened))


_MOST_REASONS, _LONGEST = 5, 500


def _show_reasons(rows: pd.DataFrame) -> None:
    """Draw the most frequent reasons why there is no number, whole: a cell of the table cuts them."""
    reasons = rows.loc[~rows["ran"].astype(bool), "reason"].dropna()
    alike = reasons.groupby(reasons.str.replace(r"\d+", "", regex=True), sort=False)
    frequent = sorted(alike, key=lambda group: -len(group[1]))[:_MOST_REASONS]
    if frequent:
        lines = [
            f"- {count(len(texts), 'experiment')}{', for example' if varies(texts) else ''}: "
            f"{escape(shortened(texts.iloc[0], _LONGEST))}"
            for _, texts in frequent
        ]
        st.markdown("\n".join(lines))


def _named(rows: pd.DataFrame, row: pd.Series) -> str:
    """Return the name of the result on page Model: it has the settings in which the results of its model differ."""
    same = (rows["suite"] == row["suite"]) & (rows["model"] == row["model"]) & (rows["test"] == row["test"])
    of_model = rows[same].drop(columns="series").sort_values(["accelerator", "variant", "environment"])
    names = with_unique_series(of_model)
    return str(names["series"].to_dict()[row.name])


def _experiments_columns() -> dict[str, TableColumn]:
    return {
        "model": TableColumn("Model", "link", pinned=True),
        **naming("suite", "test", "accelerator", "series", pinned=("series",)),
        "doubt": doubts.COLUMN,
        "status": TableColumn("Status"),
        "failure_phase": TableColumn("Phase", help="Phase in which the experiment failed."),
        "reason": TableColumn("Why no number"),
        "latency_s": measured("latency_s"),
        "steady_n": TableColumn("n", "number", help="Steady samples behind the latency."),
        "verification_code": TableColumn("Verification code", "code", hidden=True),
        "dtype": TableColumn("Dtype"),
        "batch_size": measured("batch_size", hidden=True),
        "replicas_n": measured("replicas_n"),
        "attempt": measured("attempt", hidden=True),
        "reproduce": TableColumn("Reproduce", hidden=True),
    }


MOST_CELLS = 12_000
_ROWS = ("suite", "model", "test", "accelerator")


def show_matrix(view: View, rows: pd.DataFrame) -> None:
    """Draw the matrix of statuses by model and backend."""
    st.markdown("**Status by model and backend**")
    if len(rows) > MOST_CELLS:
        st.caption(
            f"{count(len(rows), 'result')} are too many for a matrix; filter by suite or model, or use the table below."
        )
        return
    wide, series = _matrix(rows)
    is_fine = (wide[series].isin([STATUS_WORDS["ok"], STATUS_WORDS["skipped"]]) | wide[series].isna()).all(axis=1)
    wide = wide.iloc[is_fine.argsort(kind="stable")].reset_index(drop=True)  # rows with a failure first
    columns = tables.without_constant(naming("model", "suite", "test", "accelerator"), wide, ["suite", "accelerator"])
    columns |= {name: TableColumn(name) for name in series}
    tables.show(
        wide,
        columns,
        data.TableSource(
            view.file_name("statuses"), {"Results, one row each": data.statement("experiments", view.selection)}
        ),
        key="matrix",
        alt="Status by model and backend",
        ink=tables.status_ink,
    )


def _matrix(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the statuses in words, a row for each model and a column for each series, and the names of the series.

    `pivot_table` takes six times as long.
    """
    cells: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for row in iter_rows(rows.dropna(subset=list(_ROWS))):
        of_model = cells.setdefault(tuple(getattr(row, name) for name in _ROWS), {})
        word = WRONG if row.verification_code == "FAIL" else STATUS_WORDS.get(row.status, row.status)
        of_model.setdefault(row.series, set()).add(word)
    series = sorted({name for of_model in cells.values() for name in of_model})
    texts = [
        [*names, *(" / ".join(sorted(of_model[name])) if name in of_model else None for name in series)]
        for names, of_model in sorted(cells.items())
    ]
    return pd.DataFrame(texts, columns=[*_ROWS, *series]), series


_PROCESSES = "Benchmark processes of the result that have this warning."


def show_warnings(view: View, rows: pd.DataFrame) -> None:
    """Draw the measurement warnings with their next steps, then the runner's other warnings."""
    findings = data.rows(view.snapshot, "run_findings", view.selection)
    if findings.empty:
        st.markdown(f"There are no measurement warnings for these {count(len(rows), 'result')}.")
    else:
        _sums(findings, len(rows))
        columns = _warnings_columns("text", "What was found") | {"next_step": TableColumn("What to do")}
        _table(view, findings, "run_findings", columns)
    warnings = data.rows(view.snapshot, "run_warnings", view.selection)
    if len(warnings):
        st.markdown("**Other warnings**")
        _table(view, warnings, "run_warnings", _warnings_columns("warning", "Warning"))


def _sums(findings: pd.DataFrame, results: int) -> None:
    """Draw the number of results by code; a result counts once, whatever number of its processes has the code."""
    numbers = findings["code"].value_counts()
    lines = [
        f"- **{escape(advice.summary(str(code)))}**: {int(number)} of {count(results, 'result')}"
        for code, number in numbers.items()
    ]
    st.markdown("\n".join(lines))


def _table(view: View, frame: pd.DataFrame, name: str, columns: dict[str, TableColumn]) -> None:
    shown = frame
    if "code" in frame.columns:
        shown = frame.assign(code=[advice.summary(row.code) for row in iter_rows(frame)])
    tables.show(
        shown,
        tables.without_constant(columns, shown, ["suite", "accelerator", "environment"]),
        data.source(view, name.replace("_", "-"), name),
        key=name,
        alt="Measurement warnings of the results of the run",
    )


def _warnings_columns(text: str, label: str) -> dict[str, TableColumn]:
    return {
        "code": TableColumn("Kind", pinned=True),
        **naming("model", "suite", "test", "accelerator", "variant", "environment"),
        text: TableColumn(label),
        "processes_n": TableColumn("Processes", "number", help=_PROCESSES),
    }


_LONGEST_ID = 80


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the table of records, and the one that is selected, typed or linked."""
    del rows
    records = data.rows(view.snapshot, "run_records", view.selection)
    listed = records.assign(status=[STATUS_WORDS.get(status, status) for status in records["status"]])
    position = tables.show(
        listed,
        tables.without_constant(_columns(), listed, ["suite", "accelerator", "environment", "twin_of", "reason"]),
        data.source(view, "records", "run_records"),
        key="records",
        alt="Records of the run; select one to read it",
        on_select="rerun",
    )
    typed = st.text_input("Record id", key="record", bind="query-params", max_chars=_LONGEST_ID, width=320)
    if position is not None and position < len(records):
        _one(view, str(records.iloc[position]["record_id"]))
    elif typed:
        _one(view, typed.strip())


def _one(view: View, record: str) -> None:
    lines = data.rows(view.snapshot, "one_record", view.selection, record=record)
    if lines.empty:
        st.warning(f"The store has no record “{escape(record)}”.", icon=":material/search_off:")
        return
    first = lines.iloc[0]
    text = first["record"] if isinstance(first["record"], str) else json.dumps(first["record"])
    st.markdown(f"**{escape(record)}** · {escape(first['purpose'])} · by {escape(first['source'])}")
    for path, offset in zip(lines["path"], lines["byte_offset"], strict=True):
        if not missing(path):
            st.caption(f"{escape(path)}, byte {int(offset):,}")
    st.json(text, expanded=1)
    st.download_button(
        "The record as JSON",
        data=text,
        file_name="record.json",
        mime="application/json",
        key="record-json",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def _columns() -> dict[str, TableColumn]:
    return {
        **naming("model", "suite", "test", "accelerator", "variant", "environment"),
        "purpose": TableColumn(
            "Purpose", help="benchmark, calibration, confirmation, payoff, reported by another tool."
        ),
        "replica": TableColumn("Process", "number", help="Benchmark process of the experiment, from 0."),
        "attempt": measured("attempt"),
        "twin_of": TableColumn(
            "A/A control of", help="The experiment that this A/A control measures again; no rate counts it."
        ),
        "status": TableColumn("Status"),
        "latency_s": measured("latency_s"),
        "steady_n": TableColumn("n", "number", help="Steady samples behind the latency."),
        "verification_code": TableColumn("Verification code", "code", hidden=True),
        "finished_at": TableColumn("Finished (UTC)", "time"),
        "reason": TableColumn("Why no number"),
        "record_id": TableColumn("Record id", hidden=True),
    }
