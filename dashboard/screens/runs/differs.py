"""What differs between the shown run and another one: versions, machine, settings, command, plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, filters, links, tables
from dashboard.screens import choosing
from dashboard.tables import Column
from dashboard.words import count

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


def show(view: View, rows: pd.DataFrame) -> None:
    """Let the reader choose the other run (in the URL), and list the facts that are not the same."""
    del rows
    runs = [(run_id, text) for run_id, text in data.choices(view.snapshot).runs if run_id != view.selection.run_id]
    if not runs:
        st.caption("There is no other run to compare with.")
        return
    texts = [text for _, text in runs[: filters.RUNS_LISTED]]
    choosing.notice_unknown("Other run", texts, "with_run")
    chosen = st.selectbox("Other run", texts, index=_before(view, runs), key="with_run", bind="query-params", width=520)
    other = next(run_id for run_id, text in runs if text == chosen)
    found = data.rows(view.snapshot, "run_differs", view.selection, other=other)
    st.markdown(
        f"**{count(len(found), 'setting')}** of the two runs not the same."
        if len(found)
        else "Nothing differs, as far as it is known."
    )
    links.link(
        view,
        "compare",
        "Compare their results",
        key="compare-these",
        icon=":material/compare_arrows:",
        a=other,
        b=view.selection.run_id,
    )
    if len(found):
        columns = {
            "scope": Column("Of", help="The environment, the settings of the measurement, or the run itself."),
            "environment": Column("Environment"),
            "field": Column("Field", pinned=True),
            "value_a": Column("Other run"),
            "value_b": Column("Shown run"),
        }
        tables.show(
            found,
            tables.without_constant(columns, found, ["environment"]),
            key="differs",
            alt="Facts in which the two runs differ",
            file_name=view.file_name("what-differs"),
            sql=data.statement("run_differs", view.selection, other=other),
        )


def _before(view: View, runs: list[tuple[str, str]]) -> int:
    """Return the position of the run before the shown one: of its label, else of any; runs begin with the newest."""
    known = data.runs(view.snapshot)
    earlier = known[known["run_started"] < view.run["run_started"]]
    of_label = earlier[earlier["run_label"] == view.run["run_label"]]
    wanted = next(iter([*of_label["run_id"], *earlier["run_id"]]), None)
    listed = [run_id for run_id, _ in runs[: filters.RUNS_LISTED]]
    return listed.index(wanted) if wanted in listed else 0
