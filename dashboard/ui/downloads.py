"""What readers take along: rows with the SQL behind them, texts to copy, and drafts of issues."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from html import escape as html
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import settings
from dashboard.data import TableSource, snapshot
from dashboard.formatting import count, missing, placed
from dashboard.ui import updating
from dashboard.view import View
from store.metrics.text import significant
from store.record import FAILED
from store.repro.find import FOLDER_NAME, drafts

MARKDOWN_ROWS = 100


def copyable(text: str, *, height: int | None = None) -> None:
    """Draw a command, an address or the lines of a log as they are, with a button that copies them (`page.js`).

    `st.code` makes the browser fetch 1.6 MB that colour programs, whatever the text is: it is for programs and SQL.

    Args:
        text: the text; it is escaped.
        height: largest height in pixels, beyond which the text scrolls; None: it is shown whole.
    """
    style = "" if height is None else f' style="max-height:{height}px"'
    _copied(html(text.strip("\n")), style, "stretch")


def command(text: str, *, width: Literal["stretch", "content"] = "stretch") -> None:
    """Draw a command to copy, or several, one a line; commands of xlabench name the home of these pages.

    Without it, results would be stored in the folder `xlabench-data` of whoever pastes the command. Each word is
    escaped, and an element of its own (`look.css`), as browsers would also break a line after the hyphens of a flag.
    """
    flags = f" {shlex.join(settings.home_flags())}"
    lines = [line + flags * _lacks_home(line) for line in text.strip("\n").splitlines()]
    _copied("\n".join(" ".join(f"<span>{html(word)}</span>" for word in line.split(" ")) for line in lines), "", width)


def _lacks_home(line: str) -> bool:
    return line.startswith("xlabench ") and "--home" not in line


def _copied(markup: str, style: str, width: Literal["stretch", "content"]) -> None:
    button = '<button type="button" title="Copy the text">Copy</button>'
    st.html(f'<div class="xl-copy"><pre{style}>{markup}</pre>{button}</div>', width=width)


def as_csv(frame: pd.DataFrame) -> bytes:
    """Return RFC 4180 lines with a header; a missing value is an empty field."""
    return frame.to_csv(index=False).encode()


def as_parquet(frame: pd.DataFrame) -> bytes:
    """Return one Parquet file."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def as_json(frame: pd.DataFrame) -> bytes:
    """Return an array of objects; a missing value is null, a time ISO 8601 in UTC."""
    return frame.to_json(orient="records", date_format="iso", double_precision=15, force_ascii=False).encode()


FORMS: dict[str, tuple[Callable[[pd.DataFrame], bytes], str, str]] = {
    "CSV": (as_csv, "csv", "text/csv"),
    "Parquet": (as_parquet, "parquet", "application/vnd.apache.parquet"),
    "JSON": (as_json, "json", "application/json"),
}
"""Label → function that makes the bytes, suffix, and media type."""


def as_markdown(frame: pd.DataFrame) -> str:
    """Return a table for a comment or a wiki page: numbers with four digits, missing values empty, no sparklines."""
    frame = frame[[name for name in frame.columns if not frame[name].map(_is_line).any()]]
    lines = [list(map(str, frame.columns)), ["---"] * len(frame.columns)]
    lines += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _is_line(value: Any) -> bool:
    """Tell whether a cell holds the numbers of a sparkline."""
    return isinstance(value, (list, np.ndarray)) and len(value) > 0 and all(isinstance(item, float) for item in value)


def _cell(value: Any) -> str:
    if isinstance(value, (list, np.ndarray)):
        return _cell(", ".join(map(str, value)))
    if isinstance(value, float):
        return "" if missing(value) else significant(value, 4).replace(",", "")
    return "" if value is None or value is pd.NaT else str(value).replace("|", "\\|").replace("\n", " ")


def below(frame: pd.DataFrame, key: str, source: TableSource) -> None:
    """Draw a button with the number of rows; it opens the files and the SQL behind them.

    Its content is created only when it is opened: on a page with six tables it was half of all elements.
    """
    updating.fragment(_offer, frame, key, source)


def _offer(frame: pd.DataFrame, key: str, source: TableSource) -> None:
    label = f"{count(len(frame), 'row')} · {'files, SQL' if source.sql else 'files'}"
    with st.popover(
        label, icon=":material/download:", type="tertiary", key=f"{key}-files", width="content", on_change="rerun"
    ) as part:
        if part.open:
            _files(frame, key, source.file_name)
            _markdown(frame)
            if source.sql:
                _statements(source.sql)


def _files(frame: pd.DataFrame, key: str, file_name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for label, (make, suffix, kind) in FORMS.items():
            st.download_button(
                label,
                data=partial(make, frame),
                file_name=f"{file_name}.{suffix}",
                mime=kind,
                key=f"{key}-{suffix}",
                on_click="ignore",
                icon=":material/download:",
                type="tertiary",
                help="These rows with the store's column names, in seconds and bytes, with every digit.",
            )


def _markdown(frame: pd.DataFrame) -> None:
    first = f" (the first {MARKDOWN_ROWS} rows)" if len(frame) > MARKDOWN_ROWS else ""
    st.caption(f"As Markdown, to copy{first}.")
    st.code(as_markdown(frame.head(MARKDOWN_ROWS)), language="markdown", height=120)


def _statements(sql: str | Mapping[str, str]) -> None:
    if isinstance(sql, str):
        st.caption(placed("The statement behind these rows. `xlabench sql` and any DuckDB client run it."))
        st.code(sql, language="sql", height=320)
        return
    st.caption(
        placed(
            "These rows are computed from the results of these statements, as docs/measurement.md describes. "
            "`xlabench sql` and any DuckDB client run each of them."
        )
    )
    for title, statement in sql.items():
        st.markdown(f"**{title}**")
        st.code(statement, language="sql", height=160)


_DRAFT_HELP = (
    "Markdown: what happens, how often and since which run, versions, all models with the same fault, and the script "
    "that shows it, if `xlabench repro` has written one."
)


def draft_of_record(view: View, document: dict[str, Any] | None) -> None:
    """Draw the button if the record has a fault; the draft is written when the button is clicked."""
    if document is not None and is_faulty(document):
        _draft_button(view, "issue-drafts", record=str(document["record_id"]))


def draft_of_op(view: View, op: str) -> None:
    """Draw the button for a fallback op."""
    _draft_button(view, "op-issue-draft", op=op)


def is_faulty(document: dict[str, Any]) -> bool:
    """Tell whether a record has a fallback op, a graph break, a failure after loading or a wrong answer."""
    failed = document.get("status") in FAILED and (document.get("error") or {}).get("phase") != "load"
    wrong = document.get("verification_code") == "FAIL"
    return bool(failed or wrong or document.get("fallback_ops") or document.get("graph_breaks"))


def _draft_button(view: View, name: str, **subject: str) -> None:
    st.download_button(
        "Draft of an issue",
        data=_draft_maker(view.snapshot, subject),
        file_name=f"{view.file_name(name)}.md",
        mime="text/markdown",
        key=name,
        on_click="ignore",
        icon=":material/bug_report:",
        type="tertiary",
        help=_DRAFT_HELP,
    )


def _draft_maker(opened: str, subject: dict[str, str]) -> Callable[[], bytes]:
    return lambda: drafts(snapshot.connection(opened), settings.state_path().parent / FOLDER_NAME, **subject).encode()
