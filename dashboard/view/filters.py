"""The sidebar with run, baseline and filters; every widget is bound to a URL parameter."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, unquote

import streamlit as st

from dashboard import settings
from dashboard.formatting import escape, shortened
from dashboard.view import BETWEEN, FILTER_WORDS, ONLY, RULES, Choices, Point, Rule, ViewSelection, choosing
from runner.home import settings_file
from store.errors import UsageError

NEWEST = "Newest run"
SAME = "Same run"
LATEST = "Latest results"
OLDEST = "Oldest results"
SAME_ACCELERATOR = "The same"
POINTS: dict[str, Point] = {SAME: "same", LATEST: "latest", OLDEST: "oldest"}
"""Text of the box → the store's name of the point; links may contain either."""
RUNS_LISTED = 500
_ONE_DEVICE = 2
"""Number of devices with a single accelerator: itself and its model; only more of them make a choice."""
_NOTICE = "_unknown_values"
_SEEN = "_link_read"
_RUN_BOXES = {"run": (NEWEST,), "baseline_run": tuple(POINTS)}
"""URL parameter of a box of runs → its options besides runs."""
_SINGLE = (*_RUN_BOXES, "baseline", "baseline_accelerator", "rule")
"""URL parameters that have one value."""
_LONGEST_SHOWN = 60


def sidebar(choices: Choices) -> ViewSelection:
    """Draw the filters and return the selection."""
    _read_link(choices)
    with st.sidebar:
        run = _run_box("Run", "run", choices, "A run from the list, or the id of any run.")
        _baseline_boxes(choices)
        for name, word in FILTER_WORDS.items():
            _filter(name, word, choices.values[name])
        st.pills(
            "Only models with",
            ONLY,
            selection_mode="multi",
            key="only",
            bind="query-params",
            persist_state="session",
            help="Shows only models that are known to have no fallback op, or no graph break, under any backend of "
            "this run. A failed result says nothing about either; a model without any other is left out.",
        )
        st.button("Clear filters", on_click=clear, icon=":material/filter_alt_off:", type="tertiary", key="clear")
    return _selection(run, choices)


def clear() -> None:
    """Empty every filter; run and baseline stay."""
    for name in (*FILTER_WORDS, "only"):
        st.session_state[name] = []


def drop(name: str) -> None:
    """Empty one filter; to be called from a callback."""
    st.session_state[name] = []


def choose_baseline(backend: str) -> None:
    """Set the baseline; to be called from a callback."""
    st.session_state["baseline"] = backend


def resolve_run(text: str | None, choices: Choices) -> str | None:
    """Return the run_id of a text: that of the newest run, a listed text, an id, or the beginning of one id.

    A text from a time when the run had fewer results is recognised by the beginning of the id at its end.
    """
    if not text or point_of(text):
        return None
    if text == NEWEST:
        return choices.newest
    exact = [run_id for run_id, label in choices.runs if text in (run_id, label)]
    start = text.rpartition(BETWEEN)[2]
    begun = exact or [run_id for run_id, _ in choices.runs if start and run_id.startswith(start)]
    return begun[0] if len(begun) == 1 or exact else None


def point_of(text: str | None) -> Point | None:
    """Return the point in time that a text names; None if it names a run."""
    if text is None:
        return "same"
    words: dict[str, Point] = {point: point for point in POINTS.values()}
    return (POINTS | words).get(text)


def notice(selection: ViewSelection) -> None:
    """Warn about values of the link or of the run boxes that the store lacks, until the view changes."""
    unknown, first = st.session_state[_NOTICE]
    if first is not None and selection != first:
        unknown = ()
    st.session_state[_NOTICE] = (unknown, selection)
    if unknown:
        words = ", ".join(f"**{escape(name)}** = “{escape(value[:_LONGEST_SHOWN])}”" for name, value in unknown)
        st.warning(
            f"The store has no such value, so this part of the link is ignored: {words}.", icon=":material/link_off:"
        )


def ignore(name: str, value: str) -> None:
    """Add a value of the link that the store lacks to the warning."""
    unknown, _ = st.session_state.get(_NOTICE, ((), None))
    st.session_state[_NOTICE] = ((*unknown, (name, value)), None)


def _baseline_boxes(choices: Choices) -> None:
    """Draw backend, point in time and accelerator of the baseline."""
    st.selectbox(
        "Baseline",
        choices.baselines,
        key="baseline",
        bind="query-params",
        persist_state="session",
        help="Speedup is the baseline's latency divided by the backend's; above 1 the backend is faster.",
    )
    _run_box(
        "Baseline measured in",
        "baseline_run",
        choices,
        "Where the baseline's latency is taken from: the shown run, the latest or oldest result of each series, or "
        "one run, which later runs do not change.",
    )
    if len(choices.devices) > _ONE_DEVICE:
        st.selectbox(
            "Baseline on accelerator",
            (SAME_ACCELERATOR, *choices.devices),
            key="baseline_accelerator",
            bind="query-params",
            persist_state="session",
            help="A baseline on another accelerator is a cross-device comparison: it gives ratios and no verdict.",
        )


def _selection(run: str | None, choices: Choices) -> ViewSelection:
    """Return the selection from the values of the widgets."""
    state = st.session_state
    measured_in = state.get("baseline_run")
    pinned = resolve_run(measured_in, choices)
    device = state.get("baseline_accelerator")
    return ViewSelection(
        run_id=resolve_run(run, choices) or choices.newest,
        baseline=str(state["baseline"]),
        baseline_point="pinned" if pinned else point_of(measured_in) or "same",
        baseline_run_id=pinned,
        baseline_accelerator=device if device in choices.devices else None,
        only=tuple(state.get("only") or ()),
        rule=_rule(),
        **{name: tuple(state.get(name) or ()) for name in FILTER_WORDS},
    )


def _rule() -> Rule:
    """Return the rule; the box for it is on Overview, which is drawn after the selection is read."""
    rule_name = st.session_state.get("rule") or st.query_params.get("rule")
    return next((rule for rule, name in RULES.items() if rule_name == name), "paired")


def _run_box(label: str, key: str, choices: Choices, help_text: str) -> str | None:
    """Draw a box of runs, which accepts the id of any run; a text that names none is ignored with a warning.

    The box would keep showing the text of a link or of the reader, so it is drawn again with the text of the list.
    """
    choosing.take_value(key)
    texts = dict(choices.runs)
    if st.session_state.get(key) in texts:
        st.session_state[key] = texts[st.session_state[key]]
    text = st.selectbox(
        label,
        (*_RUN_BOXES[key], *choices.listed[:RUNS_LISTED]),
        key=key,
        bind="query-params",
        persist_state="session",
        accept_new_options=True,
        help=help_text,
    )
    worded = _worded_run(text, key, choices) if text else text
    if worded != text:
        if worded is None:
            unknown, _ = st.session_state[_NOTICE]
            st.session_state[_NOTICE] = (tuple(dict.fromkeys((*unknown, (key, text)))), None)
        choosing.leave_value(key, worded or _RUN_BOXES[key][0])
        st.rerun()
    return text


def _worded_run(text: str, key: str, choices: Choices) -> str | None:
    """Return the text in the box for a run or a point in time; None if the store lacks it."""
    words = {name: option for option in _RUN_BOXES[key] for name in (option, POINTS.get(option, option))}
    if text in words:
        return words[text]
    run_id = resolve_run(text, choices)
    return dict(choices.runs).get(run_id, run_id) if run_id else None


def _filter(name: str, word: str, values: tuple[str, ...]) -> None:
    st.multiselect(
        word, values, key=name, bind="query-params", persist_state="session", placeholder="All", filter_mode="contains"
    )


def _read_link(choices: Choices) -> None:
    """Drop parameters of a link that the store lacks, for the warning; rewrite others with the texts of the boxes."""
    if _SEEN in st.session_state:
        return
    st.session_state[_SEEN] = True
    unknown: list[tuple[str, str]] = [*st.session_state.get(_NOTICE, ((), None))[0]]
    for name, offered in {**choices.values, "only": ONLY}.items():
        unknown += [(name, value) for value in st.query_params.get_all(name) if value and value not in offered]
    for name, worded in _worded(choices).items():
        value = st.query_params[name]
        if worded is None:
            unknown.append((name, value))
            del st.query_params[name]
        elif worded != value:
            st.query_params[name] = worded
    st.session_state[_NOTICE] = (tuple(unknown), None)


def _worded(choices: Choices) -> dict[str, str | None]:
    """Return the link's parameters of one value with the texts of the boxes; None for values that the store lacks."""
    values = {name: value for name in _SINGLE if (value := st.query_params.get(name))}
    worded: dict[str, str | None] = {}
    for name, value in values.items():
        if name in _RUN_BOXES:
            worded[name] = _worded_run(value, name, choices)
        elif name == "rule":
            worded[name] = next((text for rule, text in RULES.items() if value in (rule, text)), None)
        else:
            offered = choices.baselines if name == "baseline" else (SAME_ACCELERATOR, *choices.devices)
            worded[name] = value if value in offered else None
    return worded


ALL_LABELS = "All labels"
LABEL_COOKIE = "xlabench_label"
"""Cookie with the label that is pinned in the browser (`page.js` writes it); empty for all labels."""
_LABEL_KEY = "labelled"
_PINNED = "_pinned_label"
"""Key of the value that this session wrote into the cookie; Streamlit knows only the cookies at the start."""
_SEVERAL = 2


def label_box(labels: Sequence[str]) -> str | None:
    """Draw the box of labels if there are several; return the chosen label, None for all."""
    if len(labels) < _SEVERAL:
        return None
    pinned = _pinned(labels)
    if _LABEL_KEY not in st.session_state:
        _begin_label(labels, pinned)
    with st.sidebar, st.container(key="labels"):
        label = st.selectbox(
            "Runs labelled",
            (ALL_LABELS, *labels),
            key="labelled",
            bind="query-params",
            persist_state="session",
            help="Only runs with this label are offered below, and the newest run is the newest of them.",
        )
        _offer_pin(label, pinned)
    return None if label == ALL_LABELS else label


def _begin_label(labels: Sequence[str], pinned: str | None) -> None:
    """Set the label of a new session: that of the link, else the pinned one unless the link names a run."""
    label = st.query_params.get(_LABEL_KEY)
    if label is not None and label not in (ALL_LABELS, *labels):
        del st.query_params[_LABEL_KEY]
        ignore(_LABEL_KEY, label)
        label = None
    if label is None and "run" not in st.query_params and pinned:
        st.session_state[_LABEL_KEY] = pinned


def _pinned(labels: Sequence[str]) -> str | None:
    """Return the label that is pinned in this browser, else that of `xlabench.toml`; a broken file pins none."""
    cookie: object = st.session_state.get(_PINNED, st.context.cookies.get(LABEL_COOKIE))
    if isinstance(cookie, str):
        label = unquote(cookie)
    else:
        try:
            label = settings_file.read(settings.home()).dashboard.label or ""
        except UsageError:
            label = ""
    return label if label in labels else None


def _offer_pin(label: str, pinned: str | None) -> None:
    """Draw the button that pins or unpins the chosen label; `page.js` writes the cookie."""
    keep = st.session_state.__setitem__
    if label not in (ALL_LABELS, pinned):
        st.button(
            "Pin this label",
            icon=":material/keep:",
            type="tertiary",
            key="pin-label",
            help="This browser begins with the runs of this label.",
            on_click=keep,
            args=(_PINNED, quote(label, safe="")),
        )
    elif pinned is not None:
        st.button(
            f"Unpin {escape(shortened(pinned))}",
            icon=":material/keep_off:",
            type="tertiary",
            key="unpin-label",
            help="This browser begins with the runs of all labels.",
            on_click=keep,
            args=(_PINNED, ""),
        )
