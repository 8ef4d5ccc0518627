"""The two sides of a comparison: the boxes that choose them, bound to the URL, their review, and its SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import streamlit as st

from dashboard import data
from dashboard.data import query_text, snapshot
from dashboard.view import View, choosing, filters
from dashboard.words import escape
from store.compare import Side, resolve
from store.compare.cells import ALIKE
from store.errors import UsageError
from store.query import named
from store.review import Review
from store.weekly.lanes import base_of

BEFORE = "Run before"
SHOWN = "Shown run"


def chosen(view: View) -> tuple[Side, Side] | str:
    """Draw the boxes; return both sides, or a sentence of markdown that says why they cannot be compared."""
    axes = data.rows(view.snapshot, "axes", view.selection)
    names = list(axes["name"]) if len(axes) else []
    runs = [text for _, text in data.choices(view.snapshot).runs[: filters.RUNS_LISTED]]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = _box(view, "A: before", "a", [BEFORE, *runs, *names])
        second = _box(view, "B: after", "b", [SHOWN, *runs, *names])
    try:
        new = _side(view, second)
        old = _base(view, new) if first == BEFORE else _side(view, first)
    except UsageError as error:
        return escape(error)
    if old is None:
        name = escape(name_of(view, new.run_id))
        return f"Nothing to compare with: nothing was measured on this machine before run {name}. Choose a run as A."
    return _same_kind(old, new)


def name_of(view: View, run_id: str) -> str:
    """Return the name that lists of runs show for a run."""
    return dict(data.choices(view.snapshot).runs).get(run_id, run_id)


def with_names(view: View, text: str) -> str:
    """Return a text with each run's id replaced by the name that lists of runs show."""
    for run_id, name in data.choices(view.snapshot).runs:
        text = text.replace(run_id, name)
    return text


def _box(view: View, label: str, name: str, options: list[str]) -> str:
    """Draw the box of a side; the id of a run is replaced by its name in the list."""
    choosing.take_value(name)
    text = str(
        st.selectbox(
            label,
            options,
            key=name,
            bind="query-params",
            accept_new_options=True,
            width="stretch",
            help="A run (of the list, its id or its label), or an environment or backend of the shown run.",
        )
        or options[0]
    )
    run = None if text in options else filters.resolve_run(text, data.choices(view.snapshot))
    if run is not None and name_of(view, run) != text:
        choosing.leave_value(name, name_of(view, run))
        st.rerun()
    return text


def _side(view: View, text: str) -> Side:
    choices = data.choices(view.snapshot)
    run = view.selection.run_id if text == SHOWN else filters.resolve_run(text, choices)
    if run is not None:
        return Side(text=name_of(view, run), run_id=run)
    return _resolved(view.snapshot, text, view.selection.run_id)


@st.cache_data(max_entries=100, show_spinner=False)
def _resolved(shown: str, text: str, run: str) -> Side:
    """Return the side that a text names; it is cached per snapshot, because every change on the page needs it."""
    return resolve(snapshot.connection(shown), text, run)


@st.cache_data(max_entries=100, show_spinner=False)
def _run_before(shown: str, run: str) -> str | None:
    return base_of(snapshot.connection(shown), run)


def _base(view: View, new: Side) -> Side | None:
    """Return the run before B, as page Overview chooses it; for an environment or a backend, another one of B's run."""
    if new.environment is None and new.variant is None:
        row = data.base_run(view.snapshot, replace(view.selection, run_id=new.run_id))
        run = str(row["run_id"]) if row else _run_before(view.snapshot, new.run_id)
        return None if run is None else Side(text=name_of(view, run), run_id=run)
    kind, own = ("environment", new.environment) if new.environment else ("backend", new.variant)
    axes = data.rows(view.snapshot, "axes", view.selection)
    others = [str(name) for name in axes[axes["kind"] == kind]["name"] if name != own]
    other = view.selection.baseline if view.selection.baseline in others else next(iter(others), None)
    return _resolved(view.snapshot, other, new.run_id) if other else None


def _same_kind(old: Side, new: Side) -> tuple[Side, Side] | str:
    kinds = [(bool(side.environment), bool(side.variant)) for side in (old, new)]
    if kinds[0] != kinds[1]:
        return "Choose two runs, two environments or two backends: A and B are of different kinds."
    if msgspec.structs.replace(old, text=new.text) == new:
        return "A and B are the same. Choose another one."
    return old, new


def behind(view: View, review: Review) -> dict[str, str]:
    """Return the SQL statements of a review, with their values written out, by what each returns."""
    runs = sorted({review.old.run_id, review.new.run_id})
    statements = {
        "Rounds of the processes of A": _statement("process_rounds", run=review.old.run_id),
        "Rounds of the processes of B": _statement("process_rounds", run=review.new.run_id),
        "Noise floors: pairs of equal processes of other runs": _statement("aa_pairs", runs=runs),
        "How much runs of different days differ": _statement("between_runs", runs=runs),
        "Measurement warnings": _statement("findings", runs=runs),
        "Programs that differ": data.statement("structure", view.selection.unfiltered(), **programs_of(review)),
    }
    for accelerator in _accelerators(review):
        of = {"runs": runs, "accelerator": accelerator}
        statements[f"Outcomes on {accelerator}"] = _statement("weekly_results", **of)
        statements[f"Fallback ops on {accelerator}"] = _statement("weekly_fallbacks", **of)
    return statements


def programs_of(review: Review) -> dict[str, str | None]:
    """Return the parameters of query `structure`: two runs, and the environments or backends that are compared."""
    params: dict[str, str | None] = {}
    for name, side in (("a", review.old), ("b", review.new)):
        params |= {name: side.run_id, f"environment_{name}": side.environment, f"variant_{name}": side.variant}
    return params


def _accelerators(review: Review) -> list[str]:
    index = ALIKE.index("accelerator")
    return sorted(
        {str(cell.alike[index]) for cell in review.comparison.cells} | {f.accelerator for f in review.findings}
    )


def _statement(name: str, **params: Any) -> str:
    return query_text.written_out(named(name), params).rstrip()
