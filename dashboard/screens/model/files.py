"""Files: what the processes left beside the record, shown in place; each can be opened raw and downloaded."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from dashboard import artifacts, data, settings, snapshot, tables
from dashboard.routes.artifact import PATH
from dashboard.rows import each
from dashboard.screens import choosing
from dashboard.screens.model import viewers
from dashboard.tables import Column
from dashboard.viewers.text import last_lines
from dashboard.words import count, escape, missing, size

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.screens.model.result import Result
    from dashboard.view import View

_REPORT = re.compile(r"-(buffer-assignment|memory-usage-report|buffer-live-range)\.txt$")
"""What XLA writes about a program beside it."""

KINDS = {
    "log": "Logs",
    "hlo": "HLO",
    "ir": "IR",
    "inductor": "Inductor",
    "pytorch_xla_metrics": "XLA metrics",
    "dynamo_counters": "Dynamo counters",
    "pytorch_profile": "Profile",
    "chrome_trace": "Trace",
    "xplane": "XPlane",
    "output": "Output",
    "memory_snapshot": "Memory",
    "minify": "Minified",
}
"""Kind of an artifact → its words, in the order of the buttons."""


def show(view: View, result: Result) -> None:
    """Let the reader choose a kind and a file, both in the URL; show the file."""
    listed = data.rows(view.snapshot, "model_artifacts", view.selection, **result.keys)
    if listed.empty:
        st.info(
            "No file lies beside this record. Dumps and profiles are made on request: docs/runner.md, Artifacts.",
            icon=":material/info:",
        )
        return
    kinds = _kinds(listed)
    choosing.notice_unknown("Kind", list(kinds), "kind")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "Kind", list(kinds), default=next(iter(kinds)), required=True, key="kind", bind="query-params"
        )
    kind = kinds[chosen or next(iter(kinds))]
    some = listed[listed["kind"] == kind].reset_index(drop=True)
    names = _names(some)
    choosing.notice_unknown("File", names, "file")
    name = st.selectbox("File", names, key="file", bind="query-params", index=_first(some))
    _draw(view, kind, some.iloc[names.index(name)])
    with st.expander(f"All {count(len(listed), 'file')} of this result"):
        _table(view, result, listed)


def end_of_log(view: View, result: Result) -> None:
    """Draw the end of what the measuring process printed, where its log is still there."""
    listed = data.rows(view.snapshot, "model_artifacts", view.selection, **result.keys)
    logs = listed[(listed["kind"] == "log") & (listed["bytes"] > 0)]
    timed = logs[logs["file"].str.contains("timed", regex=False)]
    for row in each(timed if len(timed) else logs):
        with contextlib.suppress(artifacts.NotServed):
            place = artifacts.locate(snapshot.connection(view.snapshot), str(row.record_id), str(row.path))
            with st.expander(f"End of the log {escape(row.file)}", icon=":material/terminal:"):
                st.code(last_lines(place), language=None, height=320)
            return


def _kinds(listed: pd.DataFrame) -> dict[str, str]:
    """Return the kinds that there are by their words, in a fixed order; a kind that is not known is its own word."""
    there = set(listed["kind"])
    known = {word: kind for kind, word in KINDS.items() if kind in there}
    return known | {kind: kind for kind in sorted(there - set(KINDS))}


def _names(some: pd.DataFrame) -> list[str]:
    """Return names that tell the files apart; of processes beside the first one, with the process."""
    several = len(some["record_id"].unique()) > 1
    return [
        f"{file} · process {replica}, attempt {attempt}" if several else str(file)
        for file, replica, attempt in zip(some["file"], some["replica"], some["attempt"], strict=True)
    ]


def _first(some: pd.DataFrame) -> int:
    """Return the position of the file that says most: the largest readable one, a program before its reports."""
    ranks = [
        (not viewers.is_binary(Path(file)), not _REPORT.search(file), 0 if missing(length) else int(length))
        for file, length in zip(some["file"], some["bytes"], strict=True)
    ]
    return ranks.index(max(ranks))


def _draw(view: View, kind: str, chosen: pd.Series) -> None:
    record, path = str(chosen["record_id"]), str(chosen["path"])
    note = "" if missing(chosen["note"]) else f" · {escape(chosen['note'])}"
    try:
        place = artifacts.locate(snapshot.connection(view.snapshot), record, path)
    except artifacts.NotServed as error:
        st.warning(f"{escape(path)}{note}: {escape(error)}.", icon=":material/folder_off:")
        return
    address = f"{settings.base_path()}{PATH}?{urlencode({'record': record, 'path': path})}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{escape(path)} · {size(place.stat().st_size)}{note}", width="content")
        st.link_button("Raw", address, type="tertiary", icon=":material/open_in_new:")
        st.link_button("Download", f"{address}&download=1", type="tertiary", icon=":material/download:")
    viewers.show(kind, place, record, path)


def _table(view: View, result: Result, listed: pd.DataFrame) -> None:
    columns = {
        "kind": Column("Kind"),
        "file": Column("File"),
        "bytes": Column("Bytes", "number", help="Size of the file in the run folder."),
        "repeat": Column("Block", "number", help="Number of the instrumented block that wrote the file."),
        "replica": Column("Process", "number", help="Measuring process that wrote it, from 0."),
        "attempt": Column("Attempt", "number", help="Attempt of the experiment that wrote it, from 1."),
        "note": Column("Note"),
        "path": Column("Path in the run folder"),
    }
    tables.show(
        listed,
        tables.without_constant(columns, listed, ["note", "attempt", "replica"]),
        key="files",
        alt="Files beside the records of this result",
        file_name=view.file_name("files"),
        sql=data.statement("model_artifacts", view.selection, **result.keys),
    )
