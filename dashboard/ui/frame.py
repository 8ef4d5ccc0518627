"""What every page has: its entry in the navigation, and its head of title, answers in sentences and origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode

import streamlit as st

from dashboard import access, data, settings
from dashboard.access import login
from dashboard.data.frames import iter_rows, unit
from dashboard.formatting import ago, count, error_text, escape, shortened, when
from dashboard.ui import doubts, downloads
from dashboard.view import FILTER_WORDS, View, filters, links
from store.errors import StateError, UsageError
from store.state import marks, views
from store.state.views import SavedView

ANSWERS_SHOWN = 4
_CHIP_VALUES = 3


@dataclass(frozen=True, kw_only=True)
class PageSpec:
    """An entry of the navigation; each module of `dashboard.screens` has one as `PAGE`."""

    place: int
    """Pages are in the order of this number."""
    title: str
    url_path: str
    """Empty for the page that opens first."""
    icon: str
    show: Callable[[View], None]
    """Function that draws the page."""
    show_empty: Callable[[], None] | None = None
    """Function that draws it for an empty store; None: the page shows how to fill the store."""


def head(
    title: str,
    view: View,
    answers: Sequence[str],
    results: int,
    *,
    baseline: bool,
    more: str = "below",
    of_one_model: bool = False,
    suite: str | None = None,
) -> None:
    """Draw title, answers and origin.

    The answers are markdown, the most important first; `more` is the place of those that do not fit. A page
    `of_one_model` has no doubt about a single model; `suite` is the only one that the page shows.
    """
    verified = name(title, view, of_one_model=of_one_model, suite=suite).origin
    if answers:
        st.markdown(f"#### {answers[0]}")
    bullets = [f"- {answer}" for answer in answers[1:ANSWERS_SHOWN]]
    if len(answers) > ANSWERS_SHOWN:
        rest = count(len(answers) - ANSWERS_SHOWN, "more such answer is", "more such answers are")
        bullets.append(f"- {rest} {more}")
    if bullets:
        with st.container(key="answers"):
            st.markdown("\n".join(bullets))
    with origin():
        st.caption(" · ".join([*_origin(view, results, baseline=baseline), *verified]))
        _link_newer(view)


def origin() -> AbstractContextManager[object]:
    """Return the container of the line with the origin of the numbers; slides end with it."""
    return st.container(key="origin")


def name(
    title: str, view: View, run_id: str | None = None, *, of_one_model: bool = False, suite: str | None = None
) -> doubts.Doubts:
    """Draw the title, the buttons Find and Share, and the doubts about the results; return these.

    `run_id` is the run whose results are shown, if it is not that of the selection.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="head"):
        st.title(title, anchor=False)
        find_button(view)
        _share(view)
    selection = replace(view.selection, run_id=run_id or view.selection.run_id)
    _chips(view)
    rows = data.rows(view.snapshot, "doubts", selection)
    view_doubts = doubts.counted(rows if suite is None else rows[rows["suite"] == suite])
    chosen = of_one_model or len(selection.model) == 1
    doubt = (view_doubts._replace(models=()) if chosen else view_doubts).line
    if doubt is not None:
        with st.container(key="doubt"):
            st.markdown(f":orange[:material/warning: {doubt}]")
    return view_doubts


def _chips(view: View) -> None:
    """Draw the active filters as buttons that remove them."""
    used = {name: getattr(view.selection, name) for name in (*FILTER_WORDS, "only") if getattr(view.selection, name)}
    if not used:
        return
    with st.container(horizontal=True, gap="small", key="chips"):
        for name, values in used.items():
            values_text = ", ".join(shortened(value) for value in values[:_CHIP_VALUES])
            rest = f" and {len(values) - _CHIP_VALUES} more" if len(values) > _CHIP_VALUES else ""
            label = f"{FILTER_WORDS.get(name, 'Only')}: {escape(values_text + rest)}"
            st.button(label, icon=":material/close:", key=f"chip-{name}", on_click=filters.drop, args=(name,))
    if view.selection.only:
        _of_unknown(view)


def _of_unknown(view: View) -> None:
    """Say how many models the filter leaves out although nobody knows whether they have what it excludes."""
    rows = data.rows(view.snapshot, "of_unknown", view.selection)
    rows = data.filtered_rows(rows, view.selection, ("suite", "model", "test"))
    if number := len(rows[["suite", "model"]].drop_duplicates()):
        what = escape(" or ".join(name.removeprefix("no ") for name in view.selection.only))
        st.caption(f"{count(number, unit(rows['suite']))} left out: no result says whether there are any {what}.")


@st.fragment
def _share(view: View) -> None:
    """Draw the button that opens the address of the view, its slides, and the box to save it."""
    with st.popover(
        "Share", icon=":material/link:", type="tertiary", key="link", width="content", on_change="rerun"
    ) as part:
        if not part.open:
            return
        st.caption("This link opens this view of this run, even when there are newer runs.")
        downloads.copyable(links.share_url(view))
        st.caption("Its sentences and charts as slides, in one HTML file:")
        st.html('<button class="xl-deck" type="button">Save the deck</button>')
        naming()


def _origin(view: View, results: int, *, baseline: bool) -> list[str]:
    # A page without results, as Operators of a run of models, is silent about those that it does not show.
    subject = f"{count(results, 'result')} of run" if results else "Run"
    parts = [
        f"{subject} **{escape(view.run_name)}**{' (newest)' if view.newest else ''}",
        when(view.started),
        f"torch {escape(view.fact('torch') or 'unknown')}",
        f"torch\\_xla {escape(view.fact('torch_xla') or 'none')}",
        escape(" ".join(filter(None, (view.fact("host"), view.fact("accelerator_model")))) or "unknown machine"),
    ]
    if baseline:
        parts.append(f"baseline {escape(view.baseline_text)}")
    parts.append(f"ingested {ago(view.ingested)}")
    return parts


def _link_newer(view: View) -> None:
    """Draw a link to the newest of the newer runs that are not shown by themselves, and why they are not."""
    for key, run_ids, did in (
        ("rerun", view.reruns, "only measured a few results again"),
        ("verifying", view.verifying, "only verified answers"),
    ):
        if not run_ids:
            continue
        runs = data.runs(view.snapshot)
        run = next(iter_rows(runs[runs["run_id"] == run_ids[0]]))
        subject = f"{count(len(run_ids), 'newer run')} {did}"
        which = f"**{escape(run.run_label or run.run_id[:8])}** of {when(run.run_started)}"
        label = f"{subject}: {which}" if len(run_ids) == 1 else f"{subject}; the newest is {which}"
        params = {**links.ANYWHERE, "run": run.run_id}
        links.link(view, links.current(), label, key=f"newer-{key}", icon=":material/history:", **params)


_CHOSEN = "find-what"
_OTHERS = ("labelled", "run", "baseline", "baseline_run", "baseline_accelerator", "rule")


class _Place(NamedTuple):
    """An entry of the search box: its words, and its page and parameters."""

    words: str
    page: str
    params: dict[str, Any]
    saved: bool = False
    """Whether it is a saved view, which has all parameters."""


def find_button(view: View) -> None:
    """Draw the button that opens the search box; its shortcut is Ctrl+K."""
    if st.button("Find", icon=":material/search:", type="tertiary", key="find-open", shortcut="Ctrl+K"):
        _find(view)


@st.dialog("Go to")
def _find(view: View) -> None:
    places = {place.words: place for place in _places(view)}
    words = st.selectbox(
        "A page, saved view, model, op or run",
        list(places),
        index=None,
        key=_CHOSEN,
        placeholder="type a part of its name",
        filter_mode="contains",
        label_visibility="collapsed",
    )
    if words:
        place = places[words]
        if place.saved:
            links.restore(place.page, place.params)
        else:
            links.jump(place.page, **place.params)
        st.rerun()


def _places(view: View) -> Iterator[_Place]:
    """Yield the entries of the search box: pages, saved views, models, ops and runs.

    A model that the shown run lacks opens in the newest run that measured it.
    """
    for path, title in links.titles().items():
        yield _Place(f"Page · {title}", path, {})
    for saved in _saved():
        yield _Place(f"View · {saved.name}", saved.page, restored(saved.query, saved.page), saved=True)
    for row in iter_rows(data.rows(view.snapshot, "model_list", view.selection.unfiltered())):
        params = {"suite": row.suite, "model": row.model, "test": row.test}
        yield _Place(f"Model · {row.model} · {row.test} · {row.suite}", "model", params)
    runs = dict(data.choices(view.snapshot).runs)
    for row in iter_rows(data.rows(view.snapshot, "models_of_other_runs", view.selection.unfiltered())):
        if run := runs.get(row.run_id):
            params = {"suite": row.suite, "model": row.model, "test": row.test, "run": run}
            yield _Place(f"Model · {row.model} · {row.test} · {row.suite} · in run {run}", "model", params)
    for row in iter_rows(data.rows(view.snapshot, "known_ops", view.selection)):
        yield _Place(f"Op · {row.op}", "fallback-ops", {"op": row.op})
    for text in runs.values():
        yield _Place(f"Run · {text}", "runs", {"run": text})


def restored(query: str, page: str = "") -> dict[str, Any]:
    """Return the parameters of a jump to a saved address of a page; all other parameters are cleared."""
    named = dict(links.renamed(page, name, values) for name, values in parse_qs(query).items())
    return dict.fromkeys((*FILTER_WORDS, "only", *_OTHERS, *links.CHOICES)) | named


def naming() -> None:
    """Draw the box that saves the view under a name, and the saved views."""
    with st.form("save-view", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Save this view as", max_chars=views.LONGEST_NAME, key="view-name")
        if st.form_submit_button("Save"):
            _act(lambda: views.save(settings.state_path(), _view_to_save(name)), f"Saved as {name.strip()}.")
    for number, saved in enumerate(_saved()):
        with st.container(horizontal=True, vertical_alignment="center"):
            description = escape(f"{saved.name} ({saved.page or 'overview'}, {saved.who or 'an unknown user'})")
            st.markdown(description, width="stretch")
            if st.button("Remove", key=f"view-remove-{number}", type="tertiary"):
                _act(lambda name=saved.name: views.remove(settings.state_path(), name), f"Removed {saved.name}.")
                st.rerun(scope="fragment")


def _view_to_save(name: str) -> SavedView:
    label = st.session_state.get("labelled")  # also all labels: without it, another browser takes its pinned one
    query = urlencode(links.current_parameters() | ({"labelled": [label]} if label else {}), doseq=True)
    who, _ = login.known()
    return SavedView(name=name.strip(), page=links.current(), query=query, who=who, created_at=str(marks.now()))


def _act(act: Any, confirmation: str) -> None:
    """Run an action that writes an entry, if the reader may; show its outcome."""
    decision = access.may("note")
    if not decision.allowed:
        st.error(error_text(decision.reason), icon=":material/lock:")
        return
    try:
        act()
    except (StateError, UsageError) as error:
        st.error(error_text(error), icon=":material/block:")
    else:
        st.toast(escape(confirmation), icon=":material/check:")


def _saved() -> list[SavedView]:
    try:
        return views.listed(settings.state_path())
    except StateError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []
