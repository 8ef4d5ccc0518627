"""What every page has above its charts: the answer in words, then where the numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.words import ago, count, escape, when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.view import View

ANSWERS_SHOWN = 4


def head(title: str, view: View, answers: Sequence[str], records: int, *, baseline: bool) -> None:
    """Draw title, answers and origin.

    Args:
        title: name of the page.
        view: what is shown.
        answers: sentences in markdown, the most important first.
        records: number of results behind the page.
        baseline: whether the page compares with the baseline.
    """
    st.title(title)
    shown = answers[:ANSWERS_SHOWN]
    if len(shown) == 1:
        st.markdown(f"#### {shown[0]}")
    else:
        st.markdown("\n".join(f"- {answer}" for answer in shown))
    if len(answers) > ANSWERS_SHOWN:
        with st.expander(f"{len(answers) - ANSWERS_SHOWN} more"):
            st.markdown("\n".join(f"- {answer}" for answer in answers[ANSWERS_SHOWN:]))
    st.caption(" · ".join(_origin(view, records, baseline=baseline)))


def _origin(view: View, records: int, *, baseline: bool) -> list[str]:
    run = view.run
    parts = [
        f"{count(records, 'result')} of run **{escape(view.run_name)}**{' (newest)' if view.newest else ''}",
        when(view.started),
        f"torch {escape(run['torch'] or 'unknown')}",
        f"torch\\_xla {escape(run['torch_xla'] or 'none')}",
        escape(" ".join(str(run[name]) for name in ("host", "accelerator_model") if run[name]) or "unknown machine"),
    ]
    if baseline:
        parts.append(f"baseline {escape(view.baseline_text)}")
    parts.append(f"ingested {ago(view.ingested)}")
    return parts
