"""Reports of `xlabench report` on a page: any report, and the summaries under the rules of other harnesses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data import query_text
from dashboard.formatting import error_text, escape
from dashboard.ui import tables
from dashboard.ui.tables import TableColumn
from dashboard.view import View, ViewSelection
from store.errors import UsageError
from store.query import named
from store.report.peer import PeerOptions
from store.report.table import Column as ReportColumn
from store.report.table import Report, Table, name_column


def show(report: Report, *, key: str, file_name: str, sql: Sequence[str | Mapping[str, str]]) -> None:
    """Draw the tables of a report that have rows, then its notes.

    `sql` is the statement behind each table, or the statements from which it is computed.
    """
    for number, (table, statement) in enumerate(zip(report.tables, sql, strict=True)):
        if table.rows:
            st.markdown(f"**{escape(table.title.removesuffix(', peer rule'))}**")  # the switch names the rule
            _report_table(table, key=f"{key}-{number}", file_name=file_name, sql=statement)
    st.caption("  \n".join(error_text(note) for note in report.notes))


def _report_table(table: Table, *, key: str, file_name: str, sql: str | Mapping[str, str]) -> None:
    names = _names(table.columns)
    frame = pd.DataFrame(list(table.rows), columns=names)
    row_name = names[name_column(table.columns)]
    columns = {
        name: replace(_report_column(column, frame[name]), hidden=name in _RARE, pinned=name == row_name)
        for name, column in zip(names, table.columns, strict=True)
    }
    tables.show(frame, columns, data.TableSource(file_name, sql), key=key, alt=table.title)


def _names(columns: tuple[ReportColumn, ...]) -> list[str]:
    """Return the titles as distinct names of columns; an equal title, such as n, gets the name of the column before."""
    names: list[str] = []
    for column in columns:
        name = column.title if column.title not in names else f"{column.title} of {names[-1]}"
        names.append(name if name not in names else f"{name} {len(names)}")
    return names


_RARE = ("Mean peak", "n of Mean peak")
"""Names of columns that are hidden at first."""
_SHORT = {
    "variant": "Backend",
    "Mean compilation": "Compiling",
    "Mean execution": "Execution",
    "Mean compression": "Memory",
    "Absolute latency": "Latency",
    "Compilation latency": "Compiling",
    "Memory compression": "Memory",
    "Eager latency": "Eager",
}
"""Title of a report's column → shorter label, for tables that would be wider than the window."""


def _report_label(title: str) -> str:
    """Return the label of a report's column: short, and with the words of other tables."""
    inner = title.removeprefix("Speedup(").removesuffix(")") if title.startswith("Speedup(") else title
    short = _SHORT.get(inner, re.sub(r"(?i)^geomean vs ", "vs ", inner))
    return short if len(short) == 1 or short.startswith("vs ") else short[:1].upper() + short[1:]


def _report_column(column: ReportColumn, values: pd.Series) -> TableColumn:
    short = _report_label(column.title)
    label = f"{short}, {column.unit}" if column.unit not in ("", "x") else short
    help_text = (
        column.definition if short == column.title else ": ".join(filter(None, (column.title, column.definition)))
    )
    if not column.numeric:
        kind: tables.Kind = "time" if pd.api.types.is_datetime64_any_dtype(values) else "text"
        return TableColumn(label, kind, help=help_text or None)
    kind = "ratio" if column.unit == "x" else "decimal"
    return TableColumn(label, kind, help=help_text or None, scale=1.0)


def show_rule(view: View) -> None:
    """Draw the summary under the chosen rule, which is another harness's."""
    if view.selection.only or view.selection.cross_device:
        st.caption("This rule ignores the filter “Only models with” and a baseline on another device.")
    try:
        if view.selection.rule == "hud":
            _hud(view)
        else:
            _peer(view)
    except UsageError as error:
        st.info(error_text(error), icon=":material/info:")


def _hud(view: View) -> None:
    selection = view.selection
    at = None if selection.baseline_point == "same" else selection.baseline_run
    params: dict[str, Any] = selection.parameters() | {"baseline_run": at}
    show(
        data.hud_report(view.snapshot, selection),
        key="hud",
        file_name=view.file_name("hud"),
        sql=[query_text.written_out(named(name), params) for name in ("hud_summary", "hud_rows")],
    )


def _peer(view: View) -> None:
    """Draw one table per test and accelerator with every timestamp of the store, as PyTorch/XLA's aggregator does."""
    places = data.rows(view.snapshot, "counts", view.selection)[["test", "accelerator", "accelerator_model"]]
    for number, place in enumerate(places.drop_duplicates().itertuples(index=False)):
        model = place.accelerator_model if isinstance(place.accelerator_model, str) else place.accelerator
        st.subheader(f"{escape(place.test)} · {escape(model)}", anchor=False)
        options = _options(view.selection, str(place.test), str(model))
        text = query_text.written_out(named("peer_datapoints"), _datapoint_params(options))
        report = data.peer_report(view.snapshot, options)
        show(report, key=f"peer-{number}", file_name=view.file_name("peer"), sql=[text for _ in report.tables])


def _options(selection: ViewSelection, test: str, accelerator: str) -> PeerOptions:
    ours = ("inductor", "openxla+dynamo", "openxla+lazytensor", "eager")
    others = selection.backend or ours
    return PeerOptions(
        test=test,
        baseline="oldest" if selection.baseline_point == "oldest" else "latest",
        accelerator=f"^{re.escape(accelerator)}$",
        backends=(selection.baseline, *(name for name in others if name != selection.baseline)),
        suite=selection.suite,
        include=tuple(f"^{re.escape(name)}$" for name in selection.model),
    )


def _datapoint_params(options: PeerOptions) -> dict[str, Any]:
    return {
        "metric": options.metric,
        "test": options.test,
        "accelerator": options.accelerator,
        "suite": list(options.suite),
        "files": [],
    }
