"""What every page has above its charts: the answer in words, then where the numbers come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlencode

import streamlit as st

from dashboard import access, data, doubts, filters, links, login, settings
from dashboard.rows import each
from dashboard.selection import FILTER_WORDS
from dashboard.words import ago, count, error_text, escape, shortened, when
from store.errors import StateError, UsageError
from store.state import marks, views
from store.state.views import SavedView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
        find_button(view)
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
        naming()


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
    newer = ((view.reruns_n, "measured a few cells again"), (view.verifying_n, "only verified answers"))
    for number, what in newer:
        if number:
            parts.append(f"{count(number, 'newer run')} {what}; the list of runs has {'it' if number == 1 else 'them'}")
    return parts


_CHOSEN = "find-what"
_OTHERS = ("run", "baseline", "baseline_run", "baseline_accelerator", "rule")


class _Place(NamedTuple):
    """What can be found: its words, and the page and parameters that show it."""

    words: str
    page: str
    params: dict[str, Any]


def find_button(view: View) -> None:
    """Draw the button that opens the box; its key is Ctrl+K."""
    if st.button("Find", icon=":material/search:", type="tertiary", key="find-open", shortcut="Ctrl+K"):
        _find(view)


@st.dialog("Go to")
def _find(view: View) -> None:
    places = {place.words: place for place in _places(view)}
    chosen = st.selectbox(
        "A page, saved view, model, op or run",
        list(places),
        index=None,
        key=_CHOSEN,
        placeholder="type a part of its name",
        filter_mode="contains",
        label_visibility="collapsed",
    )
    if chosen:
        place = places[chosen]
        links.jump(place.page, **place.params)
        st.rerun()


def _places(view: View) -> Iterator[_Place]:
    """Yield what there is to find: pages, saved views, models of the shown run, ops and runs."""
    for path, title in links.titles().items():
        yield _Place(f"Page · {title}", path, {})
    for saved in _saved():
        yield _Place(f"View · {saved.name}", saved.page, restored(saved.query))
    for row in each(data.rows(view.snapshot, "model_list", view.selection.unfiltered())):
        one = {"suite": row.suite, "model": row.model, "test": row.test}
        yield _Place(f"Model · {row.model} · {row.test} · {row.suite}", "model", one)
    for row in each(data.rows(view.snapshot, "known_ops", view.selection)):
        yield _Place(f"Op · {row.op}", "fallback-ops", {"op": row.op})
    for _, text in data.choices(view.snapshot).runs:
        yield _Place(f"Run · {text}", "runs", {"run": text})


def restored(query: str) -> dict[str, Any]:
    """Return what a jump sets for a saved address: its parameters, and all others of a view off."""
    return dict.fromkeys((*FILTER_WORDS, "only", *_OTHERS)) | parse_qs(query)


def naming() -> None:
    """Draw the box that saves the view under a name, and those that were saved."""
    with st.form("save-view", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Save this view as", max_chars=views.LONGEST_NAME, key="view-name")
        if st.form_submit_button("Save"):
            _act(lambda: views.save(settings.state_path(), _named(name)), f"Saved as {name.strip()}.")
    for number, saved in enumerate(_saved()):
        with st.container(horizontal=True, vertical_alignment="center"):
            said = escape(f"{saved.name} ({saved.page or 'overview'}, {saved.who or 'somebody'})")
            st.markdown(said, width="stretch")
            if st.button("Remove", key=f"view-remove-{number}", type="tertiary"):
                _act(lambda name=saved.name: views.remove(settings.state_path(), name), f"Removed {saved.name}.")
                st.rerun(scope="fragment")


def _named(name: str) -> SavedView:
    query = urlencode(links.own(), doseq=True)
    who, _ = login.known()
    return SavedView(name=name.strip(), page=links.current(), query=query, who=who, created_at=str(marks.now()))


def _act(act: Any, done: str) -> None:
    """Write what people typed, where they may; say what came of it."""
    decision = access.may("note")
    if not decision.allowed:
        st.error(error_text(decision.reason), icon=":material/lock:")
        return
    try:
        act()
    except (StateError, UsageError) as error:
        st.error(error_text(error), icon=":material/block:")
    else:
        st.toast(escape(done), icon=":material/check:")


def _saved() -> list[SavedView]:
    try:
        return views.listed(settings.state_path())
    except StateError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []
