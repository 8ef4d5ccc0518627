"""Drafts of issues to download, about a result or an op, with a script if one was proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import settings, snapshot
from store.record import FAILED
from store.repro.find import FOLDER_NAME, drafts

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.view import View

_HELP = (
    "Markdown: what happens, how often and since which run, versions, all models with the same fault, and the script "
    "that shows it, if `xlabench repro` has written one."
)


def of_record(view: View, document: dict[str, Any] | None) -> None:
    """Draw the button if the record has a fault; the draft is written when the button is clicked."""
    if document is not None and is_faulty(document):
        _button(view, "issue-drafts", record=str(document["record_id"]))


def of_op(view: View, op: str) -> None:
    """Draw the button for a fallback op."""
    _button(view, "op-issue-draft", op=op)


def is_faulty(document: dict[str, Any]) -> bool:
    """Tell whether a record has a fallback op, a graph break, a failure after loading or a wrong answer."""
    failed = document.get("status") in FAILED and (document.get("error") or {}).get("phase") != "load"
    wrong = document.get("verification_code") == "FAIL"
    return bool(failed or wrong or document.get("fallback_ops") or document.get("graph_breaks"))


def _button(view: View, name: str, **subject: str) -> None:
    st.download_button(
        "Draft of an issue",
        data=_maker(view.snapshot, subject),
        file_name=f"{view.file_name(name)}.md",
        mime="text/markdown",
        key=name,
        on_click="ignore",
        icon=":material/bug_report:",
        type="tertiary",
        help=_HELP,
    )


def _maker(opened: str, subject: dict[str, str]) -> Callable[[], bytes]:
    return lambda: drafts(snapshot.connection(opened), settings.state_path().parent / FOLDER_NAME, **subject).encode()
