"""One result of the model, looked at closely: a chosen part of what is known about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, drafts, rerun
from dashboard.screens import choosing
from dashboard.screens.model import files, history, identity, metrics, ops, programs, samples, verification
from dashboard.screens.model.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dashboard.view import View

PARTS: dict[str, Callable[[View, Result], None]] = {
    "Samples": samples.show,
    "Verification": verification.show,
    "Metrics": metrics.show,
    "Fallback ops": ops.show,
    "Programs": programs.show,
    "History": history.show,
    "Files": files.show,
    "Identity and record": identity.show,
}


def show(view: View, rows: pd.DataFrame, beside: tuple[str, ...]) -> None:
    """Let the reader choose a result and a part, both in the URL; draw what was chosen.

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
    result = Result(view, rows.iloc[names.index(name)], beside)
    result.reproduce()
    drafts.of_record(view, result.document)
    _again(view, rows.iloc[[names.index(name)]])
    if not result.row["ran"]:
        files.end_of_log(view, result)
    PARTS[part or "Samples"](view, result)


def _again(view: View, row: pd.DataFrame) -> None:
    """Offer to measure the result again, in turns with the baseline of the model where that is another one."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="result-again"):
        for cell in rerun.of_rows(row):
            rerun.one(view, cell, "Measure it again", key="again-result", beside=(view.selection.baseline,))
        access.ask_name("result-name")


def _first(rows: pd.DataFrame) -> int:
    """Return the position of the result that is most likely looked for: a failed one, else the first on XLA."""
    failed = [
        not ran and status not in ("skipped", "not_run")
        for ran, status in zip(rows["ran"], rows["status"], strict=True)
    ]
    on_xla = [str(backend).startswith("openxla") for backend in rows["backend"]]
    return next((flags.index(True) for flags in (failed, on_xla) if True in flags), 0)
