"""The sidebar: which run, which baseline and which filters; every widget is bound to a URL parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dashboard.selection import FILTER_WORDS, Selection
from dashboard.words import escape, when

if TYPE_CHECKING:
    from collections.abc import Mapping

NEWEST = "Newest run"
SAME = "Same run"
OLDEST = "Oldest run"
RUNS_LISTED = 500
_NOTICE = "_unknown_values"
_TYPED = "_unknown_runs"
_SEEN = "_link_read"
_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Choices:
    """What the store offers: runs from the newest on, and the values of each filter."""

    runs: tuple[tuple[str, str], ...]
    """(run_id, text) from the newest on."""
    values: Mapping[str, tuple[str, ...]]
    """URL parameter of a filter → its values."""

    @property
    def baselines(self) -> tuple[str, ...]:
        """Backends that may be the baseline; the default one first."""
        backends = self.values["backend"]
        preferred = [name for name in ("inductor", "openxla+lazytensor") if name in backends]
        return tuple(dict.fromkeys([*preferred, *backends]))


def run_text(run_id: str, label: str | None, started: object) -> str:
    """Return the text that names a run in the list and in the URL."""
    return f"{label or 'unnamed'} · {when(started)} · {run_id[:8]}"  # type: ignore[arg-type]


def sidebar(choices: Choices) -> Selection:
    """Draw the filters and return what they say."""
    _forget_unknown(choices)
    with st.sidebar:
        run = _run_box("Run", "run", (NEWEST,), choices, "A run of the list, or the id of any run.")
        baseline = st.selectbox(
            "Baseline",
            choices.baselines,
            key="baseline",
            bind="query-params",
            persist_state="session",
            help="Speedup is the baseline's latency divided by the backend's; above 1 the backend is faster.",
        )
        baseline_run = _run_box(
            "Baseline measured in",
            "baseline_run",
            (SAME, OLDEST, NEWEST),
            choices,
            "The run that the baseline's latency is taken from.",
        )
        for name, word in FILTER_WORDS.items():
            _filter(name, word, choices.values[name])
        st.button("Clear filters", on_click=clear, icon=":material/filter_alt_off:", type="tertiary", key="clear")
    typed = {"run": run, "baseline_run": baseline_run}
    st.session_state[_TYPED] = [
        (name, text) for name, text in typed.items() if text not in (None, SAME) and not resolve_run(text, choices)
    ]
    run_id = resolve_run(run, choices) or choices.runs[0][0]
    return Selection(
        run_id=run_id,
        baseline=str(baseline),
        baseline_run_id=None if baseline_run == SAME else resolve_run(baseline_run, choices),
        **{name: tuple(st.session_state.get(name) or ()) for name in FILTER_WORDS},
    )


def clear() -> None:
    """Empty every filter; run and baseline stay."""
    for name in FILTER_WORDS:
        st.session_state[name] = []


def choose_run(run_id: str, choices: Choices) -> None:
    """Set the run; to be called from a callback, before the widget exists."""
    st.session_state["run"] = dict(choices.runs)[run_id]


def resolve_run(text: str | None, choices: Choices) -> str | None:
    """Return the run_id that a text names: a fixed word, a listed text, an id or the start of one id."""
    if text in (None, "", SAME):
        return None
    if text == NEWEST:
        return choices.runs[0][0]
    if text == OLDEST:
        return choices.runs[-1][0]
    exact = [run_id for run_id, shown in choices.runs if text in (run_id, shown)]
    begun = exact or [run_id for run_id, _ in choices.runs if run_id.startswith(text)]
    return begun[0] if len(begun) == 1 or exact else None


def notice(selection: Selection) -> None:
    """Say which values of the link or of the run boxes the store does not know, until the view is changed."""
    unknown, first = st.session_state[_NOTICE]
    if first is not None and selection != first:
        unknown = ()
    st.session_state[_NOTICE] = (unknown, selection)
    every = [*unknown, *st.session_state.get(_TYPED, ())]
    if every:
        words = ", ".join(f"**{escape(name)}** = “{escape(value[:_LONGEST_SHOWN])}”" for name, value in every)
        st.warning(f"Ignored, because the store has no such value: {words}.", icon=":material/link_off:")


def _run_box(label: str, key: str, fixed: tuple[str, ...], choices: Choices, help_text: str) -> str | None:
    """Draw a list of runs; a typed or linked id that is not listed is accepted as it is."""
    return st.selectbox(
        label,
        (*fixed, *(text for _, text in choices.runs[:RUNS_LISTED])),
        key=key,
        bind="query-params",
        persist_state="session",
        accept_new_options=True,
        help=help_text,
    )


def _filter(name: str, word: str, values: tuple[str, ...]) -> None:
    st.multiselect(
        word, values, key=name, bind="query-params", persist_state="session", placeholder="All", filter_mode="contains"
    )


def _forget_unknown(choices: Choices) -> None:
    """Drop the parameters of a link that name nothing in the store, and remember them for the notice."""
    if _SEEN in st.session_state:
        return
    st.session_state[_SEEN] = True
    unknown: list[tuple[str, str]] = []
    for name in FILTER_WORDS:
        given = st.query_params.get_all(name)
        unknown += [(name, value) for value in given if value and value not in choices.values[name]]
    for name in ("run", "baseline_run"):
        value = st.query_params.get(name)
        if value and value != SAME and resolve_run(value, choices) is None:
            unknown.append((name, value))
            del st.query_params[name]
    value = st.query_params.get("baseline")
    if value and value not in choices.baselines:
        unknown.append(("baseline", value))
    st.session_state[_NOTICE] = (tuple(unknown), None)
