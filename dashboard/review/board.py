"""The table of findings with evidence and reviews, in the chosen order and groups; its SQL, and charts beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data import query_text
from dashboard.data.frames import differing_settings, iter_rows, with_settings_key
from dashboard.formatting import STATUS_WORDS, escape, interval, listed, ratio, seconds
from dashboard.review import triage
from dashboard.ui import charts, tables, verdicts, widths
from dashboard.ui.tables import TableColumn
from dashboard.view import View, ViewSelection, choosing
from store.charts import history
from store.charts.ratios import change_dots
from store.compare import Cell, row_names
from store.compare.cells import ALIKE
from store.identity import Model, model_names
from store.query import named
from store.review import Review, ReviewFinding, by_evidence, by_time_lost
from store.state.reviews import OPEN, ReviewStanding, Subject

Standings = Mapping[Subject, ReviewStanding]

ORDERS = {"By evidence": by_evidence, "By time lost": by_time_lost}
GROUPS = ("Slower", "Faster", "Failing", "Fixed", "Fallback ops", "No longer tried")
_MODELS = 4
_DOUBTFUL = ("slower", "faster", "newly failing")
"""Kinds of findings that have a certainty."""
_WHERE = ("suite", "place", "environment")
"""Columns that are shown only where rows differ in them; other columns are shown where any row has a value."""


def filtered(view: View, findings: Iterable[ReviewFinding]) -> list[ReviewFinding]:
    """Return the findings that pass the sidebar's filters; their verdicts stay those of all cells judged together."""
    models = clean_models(view) if view.selection.only else None
    return [finding for finding in findings if _passes(finding, view.selection, models)]


def controls() -> tuple[list[str], str, bool]:
    """Draw the controls; return the groups (none means all), the order and whether only open findings are shown."""
    choosing.notice_unknown("Findings", GROUPS, "findings")
    with st.container(horizontal=True, vertical_alignment="center"):
        groups = st.pills(
            "Findings",
            GROUPS,
            selection_mode="multi",
            key="findings",
            bind="query-params",
            label_visibility="collapsed",
        )
        order = choosing.segments("Order", list(ORDERS), "by", labelled=False)
        unsettled = st.toggle("Only open", key="open", bind="query-params", help="Hide settled findings.")
    return list(groups or ()), order, bool(unsettled)


def arranged(findings: Iterable[ReviewFinding], groups: Sequence[str], order: str) -> list[ReviewFinding]:
    """Return the findings of the groups in the order."""
    return sorted((finding for finding in findings if not groups or group_of(finding) in groups), key=ORDERS[order])


def group_of(finding: ReviewFinding) -> str:
    """Return the group under which the page shows a finding."""
    if finding.group == "speed":
        return finding.word.capitalize()
    if finding.group == "failure":
        return "Fixed" if finding.good else "Failing"
    return "Fallback ops" if finding.group == "fallback op" else "No longer tried"


def draw(
    view: View, review: Review, findings: Sequence[ReviewFinding], standings: Standings, selected: int | None
) -> int | None:
    """Draw the table; return the position of the selected finding, at first that of `selected`."""
    tokens = "".join(finding.token for finding in findings)
    rows = hashlib.blake2b(tokens.encode(), digest_size=5).hexdigest()
    frame = pd.DataFrame([_row(finding, standings.get(finding.subject, OPEN)) for finding in findings])
    steps = _steps(rows)
    chosen = tables.show(
        frame,
        _columns(frame),
        data.TableSource(view.file_name("compare"), behind(view, review)),
        key=_TABLE,
        alt="Differences between A and B, with their evidence and users' answers",
        room=widths.PAGE_PX,
        on_select="rerun",
        selected=selected,
        identity=f"{rows}-{steps}",
    )
    st.session_state[_PREVIOUS] = _PreviousState(st.query_params.get(KEY), chosen, steps)
    return chosen


_TABLE = "findings-table"
_PREVIOUS = "findings-left"


class _PreviousState(NamedTuple):
    """State that the last run of the page left in the session."""

    token: str | None
    """The finding in the address."""
    position: int | None
    """The selected row."""
    steps: int
    """How often Back or Forward had chosen another finding."""


def _steps(rows: str) -> int:
    """Return how often Back or Forward chose another finding: each time, the table begins anew, with that finding.

    A reader's click changes the widget, and the address follows; a step through the history changes the address alone.
    """
    previous: _PreviousState | None = st.session_state.get(_PREVIOUS)
    if previous is None:
        return 0
    state = st.session_state.get(f"{_TABLE}-{rows}-{previous.steps}")
    position = next(iter(state["selection"]["rows"]), None) if state else previous.position
    stepped = st.query_params.get(KEY) != previous.token and position == previous.position
    return previous.steps + stepped


def _columns(frame: pd.DataFrame) -> dict[str, TableColumn]:
    """Return the columns that have values, without a test that all of several findings share.

    Where there are notes, the reason is hidden, as the finding itself shows it, and a certainty that all share. The
    suite is shown where several suites
    have a model of the same name.
    """
    informative = {name: column for name, column in COLUMNS.items() if frame[name].nunique() > (name in _WHERE)}
    if "suite" in informative and frame[["model", "suite"]].drop_duplicates()["model"].duplicated().any():
        informative["suite"] = replace(COLUMNS["suite"], hidden=False)
    if "note" in informative:
        informative["why"] = replace(COLUMNS["why"], hidden=True)
        return tables.without_constant(informative, frame, ("certainty", "test"))
    return tables.without_constant(informative, frame, ("test",)) if len(frame) > 1 else informative


def clean_models(view: View) -> set[Model]:
    """Return the models of the shown run that pass all filters, “Only models with” included."""
    rows = data.rows(view.snapshot, "results", view.selection)
    return set(zip(rows["suite"], rows["model"], strict=True))


def _passes(finding: ReviewFinding, selection: ViewSelection, clean: set[Model] | None) -> bool:
    suites, names = selection.suite, selection.model
    every = finding.models or ((finding.suite, finding.model),)
    models = {of for of in every if (not suites or of[0] in suites) and (not names or of[1] in names)}
    if not (models if clean is None else models & clean):
        return False
    for name in ("backend", "test", "accelerator", "dtype"):
        value, wanted = getattr(finding, name), getattr(selection, name)
        if wanted and value and value not in wanted:
            return False
    return True


def subject_of(finding: ReviewFinding) -> str:
    """Return the model, or the op and its models."""
    return (
        f"{finding.op}: {listed(list(model_names(finding.models).values()), _MODELS)}" if finding.op else finding.model
    )


def worded(why: str) -> str:
    """Return a reason such as `oom (warmup): …` with the status replaced by the words that pages use for it.

    That the interval excludes 1 is true of every change; without these words the rest fits into a column.
    """
    status, bracket, rest = why.removeprefix("the interval excludes 1, and ").partition(" (")
    return STATUS_WORDS.get(status, status) + bracket + rest


def _row(finding: ReviewFinding, standing: ReviewStanding) -> dict[str, Any]:
    return {
        "state": triage.word(standing),
        "finding": verdicts.appearance_of(finding.word).text,
        "certainty": finding.certainty if finding.word in _DOUBTFUL else None,
        "model": subject_of(finding),
        "test": finding.test,
        "variant": finding.variant,
        "suite": finding.suite or None,
        "place": finding.place or finding.accelerator,
        "environment": finding.environment or None,
        **_evidence(finding),
        "history": finding.state or None,
        "why": worded(finding.why),
        "assignee": standing.assignee,
        "note": standing.note,
    }


def _evidence(finding: ReviewFinding) -> dict[str, Any]:
    cell = finding.cell
    if cell is None:
        return dict.fromkeys(("old_s", "new_s", "ratio", "interval", "lost_s", "processes"))
    verdict = cell.verdict
    return {
        "old_s": cell.old_s,
        "new_s": cell.new_s,
        "ratio": verdict.ratio,
        "interval": interval(verdict.low, verdict.high),
        "lost_s": finding.lost_s,
        "processes": verdict.processes,
    }


COLUMNS: dict[str, TableColumn] = {
    "state": TableColumn("State", help="What users answered; open until there is an answer.", pinned=True),
    "finding": TableColumn("Finding", "verdict"),
    "model": TableColumn("Model", width=150, pinned=True),
    "certainty": TableColumn(
        "Certainty",
        help="Confirmed: both sides were measured in turns, or a failure was repeated by a retry. Otherwise suspected.",
    ),
    "test": TableColumn("Test"),
    "variant": TableColumn("Backend", width=130),
    "suite": TableColumn("Suite", hidden=True),
    "place": TableColumn("Accelerator"),
    "environment": TableColumn("Environment"),
    "ratio": TableColumn(
        "A / B", "ratio", help="Time of A over time of B: above 1 B is faster. Weighted mean over processes."
    ),
    "interval": TableColumn("Interval", help="95 %, or wider if verdicts were computed several times."),
    "lost_s": TableColumn("B - A, ms", "ms", help="Additional time of an iteration in B; below 0, B takes less."),
    "old_s": TableColumn("A, ms", "ms", help="Median of the rounds, then over processes; per iteration.", hidden=True),
    "new_s": TableColumn("B, ms", "ms", help="Median of the rounds, then over processes; per iteration.", hidden=True),
    "processes": TableColumn("n", "number", help="Processes on each side."),
    "why": TableColumn("Why"),
    "history": TableColumn(
        "Last runs", help="The newest answer first: P passed, F failed, R passed on a retry.", hidden=True
    ),
    "assignee": TableColumn("Assignee"),
    "note": TableColumn("Note", width=150),
}


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


_MOST = 16
"""Most changes that the chart shows; the table has all."""
_MS = 1000.0


def draw_history(view: View, finding: ReviewFinding) -> None:
    """Draw the latency of the finding's series over its last runs, where it has more than two."""
    if not finding.experiment_id:
        return
    rows = data.rows(view.snapshot, "history_one", view.selection, series=finding.subject.series)
    rows = with_settings_key(rows[rows["latency_s"].notna() & rows["valid"]])
    if len(rows) <= 2:  # noqa: PLR2004 - two points are the comparison itself
        return
    charts.draw(
        history.lines(_points(rows), "Latency, ms", height=history.SMALL_PX, legend=False),
        key="finding-history",
        text=f"Latency of {finding.model} over its last runs",
    )
    if differ := differing_settings(rows):
        st.caption(differ)


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return latencies as points in milliseconds."""
    labels = [f"{seconds(row.latency_s)}, n = {row.steady_n:.0f}" for row in iter_rows(rows)]
    return history.points(rows, rows["latency_s"].astype(float) * _MS, labels).assign(
        low=rows["latency_low_s"].astype(float) * _MS,
        high=rows["latency_high_s"].astype(float) * _MS,
        way=rows["way"],
    )


def draw_changes(findings: Sequence[ReviewFinding]) -> None:
    """Draw the first changes of speed with their intervals."""
    changes = [(finding, finding.cell) for finding in findings if finding.cell is not None]
    if not changes:
        return
    shown = changes[:_MOST]
    names = row_names([cell for _, cell in shown])
    frame = pd.DataFrame([_dot(*change) for change in shown]).assign(name=names)
    omitted = f"; the first {_MOST} of {len(changes)}, the table has all" if len(changes) > _MOST else ""
    title = "Time of A / time of B (log scale; left of 1: B is slower)"
    charts.draw(change_dots(frame, names, title), key="changes", text="Slower and faster, A over B")
    st.caption(f"Filled marks are confirmed, hollow ones suspected{omitted}.")


def _dot(finding: ReviewFinding, cell: Cell) -> dict[str, object]:
    verdict = cell.verdict
    return {
        "word": finding.word,
        "value": verdict.ratio,
        "low": verdict.low,
        "high": verdict.high,
        "certain": finding.certainty == "confirmed",
        "label": f"{ratio(verdict.ratio)} ({interval(verdict.low, verdict.high)}), {finding.certainty}",
    }


KEY = "finding"
"""URL parameter; its value is the token of a finding."""
_LONGEST_SHOWN = 60


def position(shown: Sequence[ReviewFinding], findings: Sequence[ReviewFinding]) -> int | None:
    """Return the position of the URL's finding among those shown; warn where the comparison has no such finding."""
    token = st.query_params.get(KEY)
    if token and token not in {finding.token for finding in findings}:
        shown_token = escape(token[:_LONGEST_SHOWN])
        st.warning(
            f"This comparison does not contain the finding of the link: “{shown_token}”.",
            icon=":material/link_off:",
        )
        remember(None)
    return next((index for index, finding in enumerate(shown) if finding.token == token), None)


def remember(finding: ReviewFinding | None) -> None:
    """Put a finding into the URL, or remove it from there."""
    if previous := st.session_state.get(_PREVIOUS):
        st.session_state[_PREVIOUS] = previous._replace(token=None if finding is None else finding.token)
    if finding is not None:
        if st.query_params.get(KEY) != finding.token:
            st.query_params[KEY] = finding.token
    elif KEY in st.query_params:
        del st.query_params[KEY]
