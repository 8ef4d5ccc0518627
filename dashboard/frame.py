"""What every page has above its charts: the answer in words, then where the numbers come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, doubts, filters, finder, links
from dashboard.selection import FILTER_WORDS
from dashboard.words import ago, count, escape, shortened, when

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from dashboard.view import View

ANSWERS_SHOWN = 4
_CHIP_VALUES = 3


def head(
    title: str,
    view: View,
    answers: Sequence[str],
    results: int,
    *,
    baseline: bool,
    more: str = "below",
    of_one_model: bool = False,
) -> None:
    """Draw title, answers and origin.

    Args:
        title: name of the page.
        view: what is shown.
        answers: sentences in markdown, the most important first.
        results: number of results behind the page.
        baseline: whether the page compares with the baseline.
        more: where the answers stand that do not fit.
        of_one_model: the page is about one model, so that there is no other is no doubt.
    """
    name(title, view, of_one_model=of_one_model)
    if answers:
        st.markdown(f"#### {answers[0]}")
    listed = [f"- {answer}" for answer in answers[1:ANSWERS_SHOWN]]
    if len(answers) > ANSWERS_SHOWN:
        listed.append(f"- {count(len(answers) - ANSWERS_SHOWN, 'more series', 'more series')} {more}")
    if listed:
        with st.container(key="answers"):
            st.markdown("\n".join(listed))
    with origin():
        st.caption(" · ".join(_origin(view, results, baseline=baseline)))


def origin() -> AbstractContextManager[object]:
    """Return the place of the line that says where the numbers come from; slides end with it."""
    return st.container(key="origin")


def name(title: str, view: View, run_id: str | None = None, *, of_one_model: bool = False) -> None:
    """Draw the title, beside it the address of the view, and below what speaks against its results.

    Args:
        title: name of the page.
        view: what is shown.
        run_id: the run whose results are shown, if it is another one than the selection's.
        of_one_model: as `head` takes it.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="head"):
        st.title(title, anchor=False)
        finder.button(view)
        _share(view)
    selection = replace(view.selection, run_id=run_id or view.selection.run_id)
    _chips(view)
    found = doubts.of_view(data.rows(view.snapshot, "doubts", selection))
    doubt = (found._replace(models=()) if of_one_model else found).line
    if doubt is not None:
        with st.container(key="doubt"):
            st.markdown(f":orange[:material/warning: {doubt}]")


def _chips(view: View) -> None:
    """Draw the filters in use, each taken off by a click."""
    used = {name: getattr(view.selection, name) for name in (*FILTER_WORDS, "only") if getattr(view.selection, name)}
    if not used:
        return
    with st.container(horizontal=True, gap="small", key="chips"):
        for name, values in used.items():
            said = ", ".join(shortened(value) for value in values[:_CHIP_VALUES])
            more = f" and {len(values) - _CHIP_VALUES} more" if len(values) > _CHIP_VALUES else ""
            label = f"{FILTER_WORDS.get(name, 'Only')}: {escape(said + more)}"
            st.button(label, icon=":material/close:", key=f"chip-{name}", on_click=filters.drop, args=(name,))


@st.fragment
def _share(view: View) -> None:
    """Offer the address of the view, to copy, its deck, and a name for it."""
    with st.popover(
        "Share", icon=":material/link:", type="tertiary", key="link", width="content", on_change="rerun"
    ) as part:
        if not part.open:
            return
        st.caption("It opens this view of this run, even when there are newer runs.")
        st.code(links.here(view), language=None, wrap_lines=True)
        st.caption("Its sentences and charts as slides, in one HTML file:")
        st.html('<button class="xl-deck" type="button">Save the deck</button>')
        finder.naming()


def _origin(view: View, results: int, *, baseline: bool) -> list[str]:
    parts = [
        f"{count(results, 'result')} of run **{escape(view.run_name)}**{' (newest)' if view.newest else ''}",
        when(view.started),
        f"torch {escape(view.fact('torch') or 'unknown')}",
        f"torch\\_xla {escape(view.fact('torch_xla') or 'none')}",
        escape(" ".join(filter(None, (view.fact("host"), view.fact("accelerator_model")))) or "unknown machine"),
    ]
    if baseline:
        parts.append(f"baseline {escape(view.baseline_text)}")
    parts.append(f"ingested {ago(view.ingested)}")
    if view.reruns_n:
        runs = count(view.reruns_n, "newer run")
        parts.append(
            f"{runs} measured a few cells again; the list of runs has {'it' if view.reruns_n == 1 else 'them'}"
        )
    return parts
