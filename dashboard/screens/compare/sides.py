"""Which two sides are compared: two boxes bound to the URL; and the SQL that their comparison is made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import choosing, data, filters, literals, snapshot
from dashboard.byte_limited_cache import ByteLimitedCache
from dashboard.settings import KEPT_REVIEWS_BYTES
from dashboard.words import escape
from store.compare import Side, resolve
from store.compare.cells import ALIKE
from store.errors import UsageError
from store.query import named
from store.review import Review, review
from store.weekly.lanes import base_of

if TYPE_CHECKING:
    from dashboard.view import View


BEFORE = "Run before"
SHOWN = "Shown run"


def chosen(view: View) -> tuple[Side, Side] | str:
    """Draw the boxes; return both sides, or as a sentence of markdown why they name no two of a kind."""
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
    """Return a run as the lists name it."""
    return dict(data.choices(view.snapshot).runs).get(run_id, run_id)


def with_names(view: View, text: str) -> str:
    """Return a text with the runs that it names by their ids as the lists name them."""
    for run_id, name in data.choices(view.snapshot).runs:
        text = text.replace(run_id, name)
    return text


def compared(shown: str, old: tuple[str | None, ...], new: tuple[str | None, ...]) -> Review:
    """Return the review of two sides (`key`), made once per snapshot.

    Raises:
        UsageError: the new side measured nothing.
    """
    return _reviews().get((shown, old, new), lambda: _made(shown, old, new))


@st.cache_resource(show_spinner=False)
def _reviews() -> ByteLimitedCache[Review]:
    """Return the reviews that all readers share: an entry may be of twenty cells or of thousands."""
    return ByteLimitedCache(KEPT_REVIEWS_BYTES)


def _made(shown: str, old: tuple[str | None, ...], new: tuple[str | None, ...]) -> Review:
    left, right = (Side(text=str(text), run_id=str(run), environment=e, variant=v) for text, run, e, v in (old, new))
    with st.spinner("Comparing…"):
        return review(snapshot.connection(shown), left, right)


def key(side: Side) -> tuple[str | None, ...]:
    """Return a side as plain data, by which results are kept."""
    return side.text, side.run_id, side.environment, side.variant


def _box(view: View, label: str, name: str, options: list[str]) -> str:
    """Draw the box of a side; a run that is given by its id is drawn again as the list names it."""
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
    known = data.choices(view.snapshot)
    run = view.selection.run_id if text == SHOWN else filters.resolve_run(text, known)
    if run is not None:
        return Side(text=name_of(view, run), run_id=run)
    return _resolved(view.snapshot, text, view.selection.run_id)


@st.cache_data(max_entries=100, show_spinner=False)
def _resolved(shown: str, text: str, run: str) -> Side:
    """Return what a text names, looked up once per snapshot: every change on the page asks again."""
    return resolve(snapshot.connection(shown), text, run)


@st.cache_data(max_entries=100, show_spinner=False)
def _run_before(shown: str, run: str) -> str | None:
    return base_of(snapshot.connection(shown), run)


def _base(view: View, new: Side) -> Side | None:
    """Return the run before B, as Overview has it; of an environment or a backend, another one of its run."""
    if new.environment is None and new.variant is None:
        like = data.base_run(view.snapshot, replace(view.selection, run_id=new.run_id))
        run = str(like["run_id"]) if like else _run_before(view.snapshot, new.run_id)
        return None if run is None else Side(text=name_of(view, run), run_id=run)
    kind, own = ("environment", new.environment) if new.environment else ("backend", new.variant)
    axes = data.rows(view.snapshot, "axes", view.selection)
    others = [str(name) for name in axes[axes["kind"] == kind]["name"] if name != own]
    wanted = view.selection.baseline if view.selection.baseline in others else next(iter(others), None)
    return _resolved(view.snapshot, wanted, new.run_id) if wanted else None


def _same_kind(old: Side, new: Side) -> tuple[Side, Side] | str:
    kinds = [(bool(side.environment), bool(side.variant)) for side in (old, new)]
    if kinds[0] != kinds[1]:
        return "Choose two runs, two environments or two backends: A and B are not of one kind."
    if key(old)[1:] == key(new)[1:]:
        return "A and B are the same. Choose another one."
    return old, new


def behind(view: View, found: Review) -> dict[str, str]:
    """Return each statement with its values written out, by what it gives."""
    runs = sorted({found.old.run_id, found.new.run_id})
    made = {
        "Rounds of the processes of A": _written("process_rounds", run=found.old.run_id),
        "Rounds of the processes of B": _written("process_rounds", run=found.new.run_id),
        "Noise floors: pairs of equal processes of other runs": _written("aa_pairs", runs=runs),
        "How far runs of different days lie apart": _written("between_runs", runs=runs),
        "Measurement warnings": _written("findings", runs=runs),
        "Programs that differ": data.statement("structure", view.selection.unfiltered(), **programs_of(found)),
    }
    for accelerator in _accelerators(found):
        of = {"runs": runs, "accelerator": accelerator}
        made[f"Outcomes on {accelerator}"] = _written("weekly_results", **of)
        made[f"Fallback ops on {accelerator}"] = _written("weekly_fallbacks", **of)
    return made


def programs_of(found: Review) -> dict[str, str | None]:
    """Return what the query `structure` takes: two runs, and the environments or backends that are compared."""
    wanted: dict[str, str | None] = {}
    for name, side in (("a", found.old), ("b", found.new)):
        wanted |= {name: side.run_id, f"environment_{name}": side.environment, f"variant_{name}": side.variant}
    return wanted


def _accelerators(found: Review) -> list[str]:
    place = ALIKE.index("accelerator")
    return sorted({str(cell.alike[place]) for cell in found.comparison.cells} | {f.accelerator for f in found.findings})


def _written(name: str, **params: Any) -> str:
    return literals.written_out(named(name), params).rstrip()
