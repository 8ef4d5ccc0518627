"""The findings as a table: sign and word, evidence, what was said; in the order and the groups that are asked for."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, tables, triage, verdicts
from dashboard.screens import choosing
from dashboard.screens.compare import sources
from dashboard.tables import Column
from dashboard.words import STATUS_WORDS, interval, listed
from store.review import Finding, Review, by_evidence, by_time_lost
from store.state.reviews import OPEN, Standing, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.selection import Selection
    from dashboard.view import View

    Standings = Mapping[Subject, Standing]

ORDERS = {"By evidence": by_evidence, "By time lost": by_time_lost}
GROUPS = ("Slower", "Faster", "Failing", "Fixed", "Fallback ops", "No longer tried")
_MODELS = 4
_DOUBTFUL = ("slower", "faster", "newly failing")
"""Words that a certainty belongs to."""
_WHERE = ("suite", "place", "environment")
"""Columns that are shown only where they tell rows apart; others where they say anything."""


def filtered(view: View, findings: Iterable[Finding]) -> list[Finding]:
    """Return what the sidebar's filters let through; verdicts stay those of all cells judged together."""
    models = _clean(view) if view.selection.only else None
    return [each for each in findings if _passes(each, view.selection, models)]


def controls() -> tuple[list[str], str, bool]:
    """Draw what to show; return the groups (none: all), the order and whether only open findings are wanted."""
    choosing.notice_unknown("Findings", GROUPS, "findings")
    choosing.notice_unknown("Order", list(ORDERS), "by")
    with st.container(horizontal=True, vertical_alignment="center"):
        groups = st.pills(
            "Findings",
            GROUPS,
            selection_mode="multi",
            key="findings",
            bind="query-params",
            label_visibility="collapsed",
        )
        order = st.segmented_control(
            "Order",
            list(ORDERS),
            default="By evidence",
            required=True,
            key="by",
            bind="query-params",
            label_visibility="collapsed",
        )
        unsettled = st.toggle("Only open", key="open", bind="query-params", help="Hide what somebody has settled.")
    return list(groups or ()), order or "By evidence", bool(unsettled)


def arranged(findings: Iterable[Finding], groups: Sequence[str], order: str) -> list[Finding]:
    """Return the findings of the groups in the order."""
    return sorted((each for each in findings if not groups or group_of(each) in groups), key=ORDERS[order])


def group_of(finding: Finding) -> str:
    """Return the group under which the page shows a finding."""
    if finding.group == "speed":
        return finding.word.capitalize()
    if finding.group == "failure":
        return "Fixed" if finding.good else "Failing"
    return "Fallback ops" if finding.group == "fallback op" else "No longer tried"


def draw(view: View, found: Review, findings: Sequence[Finding], said: Standings, selected: int | None) -> int | None:
    """Draw the table; return the position of the selected finding, at first that of `selected`."""
    tokens = [finding.token for finding in findings]
    frame = pd.DataFrame([_row(finding, said.get(finding.subject, OPEN)) for finding in findings])
    return tables.show(
        frame,
        _columns(frame),
        key="findings-table",
        alt="Differences between A and B, with their evidence and users' answers",
        file_name=view.file_name("compare"),
        sql=sources.statements(view, found),
        on_select="rerun",
        selected=selected,
        identity=hashlib.blake2b("".join(tokens).encode(), digest_size=5).hexdigest(),
    )


def _columns(frame: pd.DataFrame) -> dict[str, Column]:
    """Return the columns that say anything; beside notes there is no room for the reason, which the finding has."""
    told = {name: column for name, column in COLUMNS.items() if frame[name].nunique() > (name in _WHERE)}
    if "note" not in told:
        return told
    told["why"] = replace(COLUMNS["why"], hidden=True)
    return tables.without_constant(told, frame, ("certainty", "test"))


def _clean(view: View) -> set[str]:
    """Return the models of the shown run that the switches for clean models keep."""
    return set(data.results(view.snapshot, view.selection)["model"])


def _passes(finding: Finding, selection: Selection, clean: set[str] | None) -> bool:
    models = set(finding.models) or {finding.model}
    if selection.model and not models & set(selection.model):
        return False
    if clean is not None and not models & clean:
        return False
    for name in ("suite", "backend", "test", "accelerator", "dtype"):
        value, wanted = getattr(finding, name), getattr(selection, name)
        if wanted and value and value not in wanted:
            return False
    return True


def subject_of(finding: Finding) -> str:
    """Return the model, or the op and its models."""
    return f"{finding.op}: {listed(finding.models, _MODELS)}" if finding.op else finding.model


def worded(why: str) -> str:
    """Return a reason that begins with a status, as `oom (warmup): …`, with the word of the status that pages use."""
    status, bracket, rest = why.partition(" (")
    return STATUS_WORDS.get(status, status) + bracket + rest


def _row(finding: Finding, standing: Standing) -> dict[str, Any]:
    return {
        "state": triage.word(standing),
        "finding": verdicts.look(finding.word).text,
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


def _evidence(finding: Finding) -> dict[str, Any]:
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


COLUMNS: dict[str, Column] = {
    "state": Column("State", help="What users answered; open until there is an answer.", pinned=True),
    "finding": Column("Finding", "verdict"),
    "certainty": Column(
        "Certainty",
        help="Confirmed: both sides were measured in turns, or a failure came again when retried. Else suspected.",
    ),
    "model": Column("Model", width=150),
    "test": Column("Test"),
    "variant": Column("Backend", width=130),
    "suite": Column("Suite", hidden=True),
    "place": Column("Accelerator"),
    "environment": Column("Environment"),
    "ratio": Column("A / B", "ratio", help="Time of A over time of B: above 1 B is faster. Median over processes."),
    "interval": Column("Interval", help="95 %, or wider if verdicts were computed several times."),
    "lost_s": Column("Lost, ms", "ms", help="What an iteration takes longer in B; below 0 it takes less."),
    "old_s": Column("A, ms", "ms", help="Median over processes of their medians, per iteration.", hidden=True),
    "new_s": Column("B, ms", "ms", help="Median over processes of their medians, per iteration.", hidden=True),
    "processes": Column("n", "number", help="Processes on each side."),
    "why": Column("Why"),
    "history": Column(
        "Last runs", help="The newest answer first: P passed, F failed, R passed on a retry.", hidden=True
    ),
    "assignee": Column("Assignee"),
    "note": Column("Note", width=150),
}
