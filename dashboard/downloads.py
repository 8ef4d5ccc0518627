"""Under each table: its rows as CSV, Parquet and JSON, and the SQL that they come from."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import streamlit as st

from dashboard.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd


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
"""Label → how the bytes are made, the suffix and the type."""


@st.fragment
def below(frame: pd.DataFrame, key: str, file_name: str, sql: str | Mapping[str, str] | None) -> None:
    """Draw how many rows there are, on a button that opens them as files and the SQL behind them.

    What it opens is made when it is opened, and alone: of a page with six tables that was half of all elements.

    Args:
        frame: the rows.
        key: of the widgets, unique on the page.
        file_name: without a suffix.
        sql: the statement behind the rows; several by what they give, where the rows are computed from theirs.
    """
    label = f"{count(len(frame), 'row')} · {'files, SQL' if sql else 'files'}"
    with st.popover(
        label, icon=":material/download:", type="tertiary", key=f"{key}-files", width="content", on_change="rerun"
    ) as part:
        if part.open:
            _files(frame, key, file_name)
            if sql:
                _statements(sql)


def _files(frame: pd.DataFrame, key: str, file_name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for label, (_, suffix, kind) in FORMS.items():
            st.download_button(
                label,
                data=_maker(frame, label),
                file_name=f"{file_name}.{suffix}",
                mime=kind,
                key=f"{key}-{suffix}",
                on_click="ignore",
                icon=":material/download:",
                type="tertiary",
                help="These rows with the store's column names, in seconds and bytes, with every digit.",
            )


def _statements(sql: str | Mapping[str, str]) -> None:
    if isinstance(sql, str):
        st.caption("The statement behind these rows. `xlabench sql` and any DuckDB client run it.")
        st.code(sql, language="sql", height=320)
        return
    st.caption(
        "These rows are made, as docs/measurement.md says, from what these statements give. "
        "`xlabench sql` and any DuckDB client run each of them."
    )
    for what, statement in sql.items():
        st.markdown(f"**{what}**")
        st.code(statement, language="sql", height=160)


def _maker(frame: pd.DataFrame, label: str) -> Callable[[], bytes]:
    return lambda: FORMS[label][0](frame)
