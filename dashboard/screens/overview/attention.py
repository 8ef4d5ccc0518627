"""What needs attention in a run: failures, wrong answers, never steady, not run, slower than the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, links, rerun
from dashboard.rows import each
from dashboard.screens import opening
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, count, escape, interval, listed, missing, shortened, when

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_SLOWER = "slower than baseline"
_PAGES = {"slower than baseline": "speedup"}
"""Finding → the page that shows it; else Runs."""
_MANY = {"wrong answer": "wrong answers"}
"""Finding → its words for more than one; the others are said of any number."""
_NAMED = 3


def show(view: View, base: dict[str, Any] | None, slower: int) -> None:
    """Draw the short list: one line per kind of finding, each a link to the page that shows it.

    Args:
        view: what is shown.
        base: the run before.
        slower: number of series whose own time became longer since then.
    """
    found = data.rows(view.snapshot, "attention", view.selection)
    st.subheader("Needs attention", anchor=False)
    if found.empty and _lowered(view).empty and not slower:
        st.markdown("Nothing: every planned experiment has a result, and none is slower than the baseline.")
    with st.container(gap=None, key="attention-list"):
        for finding in dict.fromkeys(found["finding"]):
            part = found[found["finding"] == finding]
            states = _states(view) if finding == "failed" else ""
            said = count(len(part), finding, _MANY.get(finding, finding))
            _line(view, _PAGES.get(finding, "runs"), finding, f"**{said}**{states} · {_named(part)}")
        _fallbacks(view)
        if base is not None:
            name = f"{escape(shortened(base['run_label'] or base['run_id'][:8]))} of {when(base['run_started'])}"
            moved = f" · {count(slower, 'series', 'series')} slower (suspected)" if slower else ""
            _line(view, "compare", "base", f"**Compare** with {name}{moved}", a=base["run_id"], b=view.selection.run_id)


def table(view: View) -> None:
    """Draw each finding with its reason, asked for by a click, the gravest first; a selected row opens the model."""
    found = data.rows(view.snapshot, "attention", view.selection)
    if found.empty:
        return
    title = f"Each of the {count(len(found), 'finding')}"
    with st.expander(title, key="findings", on_change="rerun", icon=":material/checklist:") as part:
        if part.open:
            _table(view, found)


def _table(view: View, found: pd.DataFrame) -> None:
    every = list(each(found))
    rows = found.assign(
        finding=[_finding(row) for row in every],
        interval=[interval(row.speedup_low, row.speedup_high) for row in every],
        why=[_why(row) for row in every],
    )
    opening.table(
        view,
        rows,
        _columns(view),
        key="attention",
        alt="What needs attention",
        file_name="attention",
        sql=data.statement("attention", view.selection),
        told_once=("environment", "accelerator", "suite"),
    )
    rerun.offer(view, rerun.of_rows(found, "finding"), key="attention")


def _line(view: View, page: str, key: str, label: str, **params: object) -> None:
    links.link(view, page, label, key=f"to-{key}", icon=":material/arrow_forward:", **params)


def _named(part: pd.DataFrame) -> str:
    """Return the models of a finding, the first few by name."""
    return listed([escape(shortened(name)) for name in dict.fromkeys(part["model"])], _NAMED)


def _states(view: View) -> str:
    """Return how long the failing series have failed, as ` (1 new, 2 persistent)`."""
    found = data.rows(view.snapshot, "failing", view.selection, until=view.started)
    numbers = found["state"].value_counts()
    states = [f"{int(numbers[state])} {state}" for state in ("new", "persistent", "flaky") if state in numbers]
    return f" ({', '.join(states)})" if states else ""


def _fallbacks(view: View) -> None:
    """Name the ops that XLA does not lower, those that most models call first."""
    lower = _lowered(view)
    if lower.empty:
        return
    models = lower.groupby("op")["model"].nunique().sort_values(ascending=False)
    named = [f"{escape(shortened(op))} in {count(int(number), 'model')}" for op, number in models.head(_NAMED).items()]
    others = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    text = f"**{count(len(models), 'op')} fell back to the CPU** · {', '.join(named)}{others}"
    _line(view, "fallback-ops", "fallbacks", text)


def _lowered(view: View) -> pd.DataFrame:
    """Return the calls of ops that XLA does not lower."""
    ops = data.fallback_ops(view.snapshot, view.selection)
    return ops[(ops["klass"] != "host_read") & (ops["calls_per_iteration"] > 0)]


def _finding(row: Any) -> str:
    return STATUS_WORDS.get(row.status, str(row.status)) if row.finding == "failed" else str(row.finding)


def _why(row: Any) -> str:
    if row.finding == _SLOWER:
        return f"interval below 1, n = {int(row.steady_n)} against {int(row.baseline_steady_n)} samples; unconfirmed"
    return "no reason was recorded" if missing(row.reason) else str(row.reason)


def _columns(view: View) -> dict[str, Column]:
    return {
        "finding": Column("Finding", pinned=True),
        "suite": Column("Suite"),
        "model": Column("Model"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend"),
        "environment": Column("Environment"),
        "why": Column("Why"),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": Column("95 %", help="Interval of the speedup; needs 6 samples on both sides."),
        "steady_n": measured("steady_n", "n", width=40),
        "baseline_steady_n": measured("baseline_steady_n", "n of it", width=60),
        "failure_phase": Column("Phase", help="How far the experiment came.", hidden=True),
    }
