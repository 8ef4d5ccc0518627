"""What a page says when there is nothing to show: an empty store, or filters that no row passes."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import filters, settings
from dashboard.words import count, error_text, escape, listed

if TYPE_CHECKING:
    from pathlib import Path

    from dashboard.selection import Selection


def store(title: str, store_dir: Path, imports: int) -> None:
    """Show how to fill a store without a run; say it where numbers of others were imported.

    Args:
        title: of the page.
        store_dir: where the store lies.
        imports: how many files of published numbers it has.
    """
    st.title(title, anchor=False)
    if imports:
        st.markdown(
            f"**{count(imports, 'import')} of published numbers, and no run measured here.** Published numbers have no "
            "samples, so this page cannot judge them; they are listed below as published. The page shows results "
            "as soon as one of these commands has stored a run:"
        )
    else:
        st.markdown("**No results yet.** This page shows results as soon as one of these commands has stored a run:")
    home = shlex.quote(str(settings.home()))
    with st.container(width=720):
        st.markdown("1. Measure the small models that need no download, under every backend this machine has:")
        st.code(f"make run HOME_DIR={home}", language="bash", wrap_lines=True)
        st.markdown("2. Measure models of your choice:")
        st.code(
            f"xlabench run --home {home} --suite-name timm_models --filter resnet18", language="bash", wrap_lines=True
        )
        st.markdown(
            "3. Read results that exist already: run folders, or a `results.jsonl` of PyTorch/XLA's benchmark runner:"
        )
        st.code(f"xlabench ingest --home {home} PATH", language="bash", wrap_lines=True)
        st.caption("The page looks for new results every few seconds; no restart is needed. Store folder:")
        st.code(str(store_dir), language=None, wrap_lines=True)


def unreadable(title: str, why: str) -> None:
    """Show why the index cannot be read, and what to do."""
    st.title(title, anchor=False)
    st.warning(error_text(why), icon=":material/database_off:")


def no_rows(selection: Selection, what: str) -> None:
    """Say which filters leave nothing, and offer to clear them."""
    active = selection.active()
    if not active:
        st.info(f"This run has no {what}.", icon=":material/info:")
        return
    named = " · ".join(f"{word}: {escape(listed(values, 4))}" for word, values in active.items())
    st.info(f"No {what} in this run pass the filters ({named}).", icon=":material/filter_alt:")
    st.button("Clear filters", on_click=filters.clear, key="clear-here", type="primary")
