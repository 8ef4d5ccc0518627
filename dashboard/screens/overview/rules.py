"""The other two rules of summing up, as `xlabench report --rule` prints them: the HUD's and PyTorch/XLA's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, literals, reports
from dashboard.words import error_text, escape
from store.errors import UsageError
from store.query import named
from store.report.peer_data import PeerOptions

if TYPE_CHECKING:
    from dashboard.selection import Selection
    from dashboard.view import View


def show(view: View) -> None:
    """Draw the tables of the chosen rule."""
    if view.selection.only or view.selection.cross_device:
        st.caption("This rule knows neither models that are left out for their ops nor a baseline on another device.")
    try:
        if view.selection.rule == "hud":
            _hud(view)
        else:
            _peer(view)
    except UsageError as error:
        st.info(error_text(error), icon=":material/info:")


def _hud(view: View) -> None:
    selection = view.selection
    at = None if selection.baseline_point == "same" else selection.baseline_run
    asked: dict[str, Any] = selection.parameters() | {"baseline_run": at}
    reports.show(
        data.hud_report(view.snapshot, selection),
        key="hud",
        file_name=view.file_name("hud"),
        sql=[literals.written_out(named(name), asked) for name in ("hud_summary", "hud_rows")],
    )


def _peer(view: View) -> None:
    """Draw one table per test and accelerator: every timestamp of the store, as their aggregator prints them."""
    places = data.rows(view.snapshot, "counts", view.selection)[["test", "accelerator", "accelerator_model"]]
    for number, place in enumerate(places.drop_duplicates().itertuples(index=False)):
        model = place.accelerator_model if isinstance(place.accelerator_model, str) else place.accelerator
        st.subheader(f"{escape(place.test)} · {escape(model)}", anchor=False)
        options = _options(view.selection, str(place.test), str(model))
        text = literals.written_out(named("peer_datapoints"), _asked(options))
        report = data.peer_report(view.snapshot, options)
        reports.show(report, key=f"peer-{number}", file_name=view.file_name("peer"), sql=[text for _ in report.tables])


def _options(selection: Selection, test: str, accelerator: str) -> PeerOptions:
    ours = ("inductor", "openxla+dynamo", "openxla+lazytensor", "eager")
    others = selection.backend or ours
    return PeerOptions(
        test=test,
        baseline="oldest" if selection.baseline_point == "oldest" else "latest",
        accelerator=f"^{re.escape(accelerator)}$",
        backends=(selection.baseline, *(name for name in others if name != selection.baseline)),
        suite=selection.suite,
        include=tuple(f"^{re.escape(name)}$" for name in selection.model),
    )


def _asked(options: PeerOptions) -> dict[str, Any]:
    return {
        "metric": options.metric,
        "test": options.test,
        "accelerator": options.accelerator,
        "suite": list(options.suite),
        "files": [],
    }
