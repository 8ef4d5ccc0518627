"""Findings of one run: the short list of what needs attention, and each of them with its reason."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, unit, with_suites
from dashboard.formatting import STATUS_WORDS, count, escape, interval, listed, missing, shortened, when
from dashboard.jobs import rerun
from dashboard.ui import opening, tables
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, links
from store.verification import meaning

_SLOWER = "slower than baseline"
_PAGES = {_SLOWER: "speedup"}
"""Finding → the page that shows it; page Runs shows the others."""
_NAMED = 3


def show(view: View, findings: pd.DataFrame, base: dict[str, Any] | None, slower: int, *, compared: bool) -> None:
    """Draw the short list: one line per kind of finding, each a link to the page that shows it.

    `slower` is the number of series whose own time became longer since the run before, whose row is `base`.
    """
    fallbacks = _not_lowered(view)
    st.subheader("Needs attention", anchor=False)
    if findings.empty and fallbacks.empty and not slower:
        speedups = (
            ", and no compiled result is shown to be slower than the baseline."
            if compared
            else ". No result has a speedup, so none can be called slower or faster."
        )
        st.markdown(f"Every planned experiment that was not skipped has a result{speedups}")
    with st.container(gap=None, key="attention-list"):
        named = with_suites(findings)
        for finding in dict.fromkeys(findings["finding"]):
            part = named[findings["finding"] == finding]
            states = _states(view) if finding == "failed" else ""
            headline = _affected_results(len(part), finding, view.selection.baseline)
            _line(view, _PAGES.get(finding, "runs"), finding, f"**{headline}**{states} · {_named(part)}")
        _fallbacks(view, fallbacks)
        if base is not None:
            name = f"{escape(shortened(base['run_label'] or base['run_id'][:8]))} of {when(base['run_started'])}"
            moved = f" · {count(slower, 'series', 'series')} slower (suspected)" if slower else ""
            _line(view, "compare", "base", f"**Compare** with {name}{moved}", a=base["run_id"], b=view.selection.run_id)


def _affected_results(number: int, finding: str, baseline: str) -> str:
    """Return how many results have a finding; only compiled results can be slower than the baseline."""
    if finding == _SLOWER:
        verb = "is" if number == 1 else "are"
        return f"{count(number, 'compiled result')} {verb} slower than {escape(baseline)}"
    return count(number, finding, "wrong answers" if finding == "wrong answer" else finding)


def show_findings(view: View, findings: pd.DataFrame) -> None:
    """Draw an expander with each finding and its reason, the most severe first; a name opens the model."""
    if findings.empty:
        return
    title = f"Each of the {len(findings):,} findings" if len(findings) > 1 else "The finding"
    with st.expander(title, key="findings", on_change="rerun", icon=":material/checklist:") as part:
        if part.open:
            _draw_findings(view, findings)


def _draw_findings(view: View, findings: pd.DataFrame) -> None:
    rows = list(iter_rows(findings))
    shown = findings.assign(
        finding=[STATUS_WORDS.get(row.status, row.status) if row.finding == "failed" else row.finding for row in rows],
        interval=[interval(row.speedup_low, row.speedup_high) for row in rows],
        why=[_why(row) for row in rows],
    )
    selected = opening.table(
        view,
        shown,
        _findings_columns(view),
        data.source(view, "attention"),
        key="attention",
        alt="What needs attention",
        omitted_if_constant=("environment", "accelerator", "suite"),
    )
    rerun.offer(view, rerun.of_rows(findings, "finding"), key="attention", selected=selected)


def _line(view: View, page: str, key: str, label: str, **params: object) -> None:
    links.link(view, page, label, key=f"to-{key}", icon=":material/arrow_forward:", **params)


def _named(part: pd.DataFrame) -> str:
    """Return the models of a finding, the first few by name."""
    return listed([escape(shortened(name)) for name in dict.fromkeys(part["model"])], _NAMED)


def _states(view: View) -> str:
    """Return how long the failing series have failed, as ` (1 new, 2 persistent)`."""
    failing = data.rows(view.snapshot, "failing", view.selection, until=view.started)
    numbers = failing["state"].value_counts()
    states = [f"{int(numbers[state])} {state}" for state in ("new", "persistent", "flaky") if state in numbers]
    return f" ({', '.join(states)})" if states else ""


def _fallbacks(view: View, lower: pd.DataFrame) -> None:
    """Draw the line of ops that XLA does not lower; the op that most models call is first."""
    if lower.empty:
        return
    called = lower[["op", "suite", "model"]].drop_duplicates().sort_values("op")
    models, what = called["op"].value_counts(), unit(called["suite"])
    op_texts = [f"{escape(shortened(op))} in {count(int(number), what)}" for op, number in models.head(_NAMED).items()]
    others = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    text = f"**{count(len(models), 'op')} fell back to the CPU** · {', '.join(op_texts)}{others}"
    _line(view, "fallback-ops", "fallbacks", text)


def _not_lowered(view: View) -> pd.DataFrame:
    """Return the calls of ops that XLA does not lower."""
    ops = data.rows(view.snapshot, "fallback_ops", view.selection)
    return ops[(ops["klass"] != "host_read") & (ops["calls_per_iteration"] > 0)]


def _why(row: Any) -> str:
    if row.finding == _SLOWER:
        return f"interval below 1, n = {int(row.steady_n)} against {int(row.baseline_steady_n)} samples; unconfirmed"
    if missing(row.reason):
        return "no reason was recorded"
    code = str(row.reason).removeprefix("verification ")
    return str(row.reason) if code == row.reason else f"{meaning(code).short} ({code})"


def _findings_columns(view: View) -> dict[str, TableColumn]:
    return {
        "finding": TableColumn("Finding", pinned=True),
        **naming("suite", "model", "test", "accelerator", "variant", "environment"),
        "why": TableColumn("Why"),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": tables.interval_column("speedup"),
        "steady_n": measured("steady_n", "n", width=40),
        "baseline_steady_n": measured("baseline_steady_n", "n, baseline"),
        "failure_phase": TableColumn("Phase", help="Phase in which the experiment failed.", hidden=True),
    }
