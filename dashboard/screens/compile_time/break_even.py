"""When compiling pays: sentences, a chart of waits against speedups, and when each result is ahead of the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, sections, unit, with_series
from dashboard.formatting import count, escape, interval, missing, ratio, seconds
from dashboard.ui import answers, charts, doubts, opening
from dashboard.ui.answers import SECTION
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View
from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered
from store.errors import all_of
from store.identity import XLA

_NAMED = 3


def sentences(view: View) -> list[str]:
    """Return a sentence for each test, accelerator and XLA series: on how many models its compile time pays off."""
    counts = data.rows(view.snapshot, "break_even_counts", view.selection)
    if counts.empty:
        return []
    rows = with_series(counts)
    xla = rows[rows["backend"].str.startswith(XLA)]
    return [
        _sentence(keys, row, view.selection.baseline)
        for keys, part in sections(xla, SECTION)
        for row in iter_rows(part)
    ]


def show(view: View) -> None:
    """Draw one chart per test and accelerator, then the table."""
    rows = with_series(data.rows(view.snapshot, "break_evens", view.selection))
    baseline = view.selection.baseline
    if rows["break_even"].isna().all():
        st.info(_no_break_even(rows, baseline), icon=":material/info:")
    charted = rows[rows["break_even"].notna() & (rows["time_to_steady_s"] > 0)]
    for place, (keys, part) in charts.abreast(sections(charted, SECTION)):
        with place:
            _show_part(view, keys, part)
    unseen = int((rows["break_even"].notna() & (rows["time_to_steady_s"] <= 0)).sum())
    if unseen:
        st.caption(f"{count(unseen, 'result')} with a wait at or below 0 s (noise) are only in the table.")
    if len(charted):
        st.caption("A hollow mark never regains its compile time, or it is undecided whether it does.")
    _show_outcomes(view, rows)


def _show_part(view: View, keys: tuple[str, ...], part: pd.DataFrame) -> None:
    baseline = view.selection.baseline
    st.subheader(answers.section_title(keys), anchor=False)
    selected = charts.selectable(
        break_even_chart(_points(part), baseline),
        key="break-even-" + "-".join(keys),
        text=f"Time to steady against speedup over {baseline}, {' '.join(keys)}",
    )
    charts.open_model(view, selected)


def outcome_of(row: Any) -> str:
    """Return the outcome of a result in words; it is empty where there is none."""
    if missing(row.break_even):
        return ""
    if row.break_even == "after":
        return f"after {count(int(row.break_even_iterations), 'iteration')}"
    if row.break_even == "never" and row.ahead_at_first_n:
        return f"only for {count(int(row.ahead_at_first_n), 'iteration')}"
    return str(row.break_even).removeprefix("ahead ")


def _sentence(keys: tuple[str, ...], row: Any, baseline: str) -> str:
    subject = f"In {escape(f'{keys[0]} on {keys[1]}')} **{escape(row.series)}**"
    over, what = f"{escape(baseline)}, compiling included,", unit(row.suites)
    ahead, known = int(row.ahead_n) + int(row.after_n), count(int(row.known_n), what)
    if row.never_n == row.known_n and row.at_first_n in (0, row.known_n):
        every = all_of(int(row.known_n), what) if row.at_first_n else f"any of {known}"
        of = (every if row.known_n > 1 else f"the one {what}") + _names(row.never_models)
        if not row.at_first_n:
            return f"{subject} never gets ahead of {over} on {of}"
        at_first = _iterations("only for the first", row.ahead_at_first_n, row.at_first_n)
        return f"{subject} is ahead of {over} {at_first} on {of}"
    parts = [f"from the start on {int(row.ahead_n)}"] if row.ahead_n else []
    if row.after_n:
        parts.append(f"{_iterations('after', row.break_even_iterations, row.after_n)} on {int(row.after_n)}")
    if row.at_first_n:
        at_first = _iterations("only for the first", row.ahead_at_first_n, row.at_first_n)
        parts.append(f"{at_first} on {int(row.at_first_n)}{_names(row.at_first_models)}")
    if row.never_n > row.at_first_n:
        never = sorted(set(row.never_models) - set(row.at_first_models))
        parts.append(f"never on {len(never)}{_names(never)}")
    if row.undecided_n:
        parts.append(f"undecided on {int(row.undecided_n)}, as the speeds do not differ significantly")
    if not ahead and not row.undecided_n:
        return f"{subject} stays ahead of {over} on none of {known}: {', '.join(parts)}"
    return f"{subject} is ahead of {over} on {ahead} of {known}: {', '.join(parts)}"


def _iterations(when: str, median: float, models_n: int) -> str:
    """Return `after 12 iterations (median)`: of one model it is no median."""
    return f"{when} {count(round(median), 'iteration')}{' (median)' if models_n > 1 else ''}"


def _names(models: Sequence[str]) -> str:
    """Return the names in brackets, of few models only: three of a hundred say nothing of the others."""
    return f" ({', '.join(map(escape, models))})" if len(models) <= _NAMED else ""


def _no_break_even(rows: pd.DataFrame, baseline: str) -> str:
    if rows.empty:
        return "No result of this view but the baseline's has a time to steady"
    reasons = rows["speedup_reason"].dropna().value_counts()
    why = escape(reasons.index[0]) if len(reasons) else "the baseline has no time to steady"
    return f"No break-even against {escape(baseline)}: {why}"


def _points(part: pd.DataFrame) -> pd.DataFrame:
    rows = list(iter_rows(part))
    return pd.DataFrame(
        {
            "model": part["model"],
            "suite": part["suite"],
            "test": part["test"],
            "variant": part["series"],
            "backend": part["backend"],
            "speedup": part["speedup"],
            "wait": part["time_to_steady_s"],
            "pays": ~part["break_even"].isin(("never", "undecided")),
            "outcome": [outcome_of(row) for row in rows],
            "doubt": doubts.on_points(rows),
            "label": [f"{ratio(row.speedup)} ({interval(row.speedup_low, row.speedup_high)})" for row in rows],
            "waits": [
                f"{seconds(row.time_to_steady_s)} against {seconds(row.baseline_time_to_steady_s)}" for row in rows
            ],
        }
    )


def _show_outcomes(view: View, rows: pd.DataFrame) -> None:
    row_list = list(iter_rows(rows))
    outcomes: list[Any] = [outcome_of(row) or None for row in row_list]
    notes: list[Any] = [_note(row) or None for row in row_list]
    listed_rows = rows.assign(
        interval=[interval(row.speedup_low, row.speedup_high) for row in row_list],
        outcome=outcomes,
        note=notes,
    )
    columns = {
        **naming("model", "series", "suite", "test", "accelerator", pinned=("model", "series")),
        "outcome": TableColumn(
            "Ahead",
            help="When the backend is ahead of the baseline, compiling included; only for some iterations: it compiles "
            "in less time, and is slower from then on; undecided: the interval contains 1.",
        ),
        "break_even_iterations": measured("break_even_iterations", "Iterations", hidden=True),
        "ahead_at_first_n": TableColumn(
            "Ahead at first", "number", help="Iterations for which the backend is ahead, then no longer.", filed=True
        ),
        "break_even_s": measured("break_even_s", "By then", hidden=True),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": TableColumn("95 % CI", help="Confidence interval of the speedup."),
        "steady_n": measured("steady_n", "n", width=40),
        "baseline_steady_n": measured("baseline_steady_n", "n, baseline"),
        "time_to_steady_s": measured("time_to_steady_s"),
        "baseline_time_to_steady_s": measured("baseline_time_to_steady_s", "Baseline's"),
        "note": TableColumn("Note", help="Why there is no outcome, or why to doubt it."),
    }
    opening.table(
        view,
        listed_rows,
        columns,
        data.source(view, "break-even", "break_evens"),
        key="break-even",
        alt="Break-even of each result",
        omitted_if_constant=("accelerator", "suite", "test", "note"),
    )


def _note(row: Any) -> str:
    """Return why there is no outcome, or why to doubt it."""
    if not missing(row.break_even):
        held = not missing(row.speedup_low) and row.speedup_low <= 1 <= row.speedup_high
        return "uncertain: the interval of the speedup contains 1" if held else ""
    if row.cross_device:
        return "cross-device: no verdict"
    return "the baseline's time to steady is not known" if missing(row.speedup_reason) else str(row.speedup_reason)


HEIGHT_PX = 400


def break_even_chart(frame: pd.DataFrame, baseline: str) -> Drawing:
    """Draw one mark per result; a hollow one never regains its compile time, or is undecided.

    Args:
        frame: columns model, suite, test, variant, backend, speedup, wait (seconds, > 0), pays, outcome, label, waits,
            doubt.
        baseline: name of the baseline, for the axis title.
    """
    ends = axes.ratio_domain(frame["speedup"]), axes.round_domain(frame["wait"])
    spec = _spec(drawing.pairs(frame), *ends, baseline, marked=bool(frame["doubt"].any()))
    return Drawing(spec, frame)


@lru_cache(maxsize=256)
def _spec(
    pairs: tuple[tuple[str, str], ...],
    ratios: tuple[float, float],
    waits: tuple[float, float],
    baseline: str,
    *,
    marked: bool,
) -> dict[str, Any]:
    across = axes.ratio_axis("value", ratios, f"Speedup over {baseline} (log scale; right of 1 is faster)")
    speedup = axes.ratio_axis("speedup", ratios, f"Speedup over {baseline} (log scale; right of 1 is faster)")
    up = axes.log_height("wait", waits, "Time to steady (log scale; lower is better)")
    colour, shape, _ = axes.looks(pairs)
    one = drawing.single().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(x=across)
    marks = (
        drawing.points()
        .mark_point(size=85, strokeWidth=1.8, opacity=1)
        .encode(
            x=speedup,
            y=up,
            color=colour,
            shape=shape,
            fill=axes.filled("datum.pays", colour),
            tooltip=_tooltip(baseline),
        )
        .add_params(axes.pick())
    )
    doubts = [axes.doubt_marks(speedup, y=up, color=colour)] if marked else []
    return drawing.specified(layered(one, marks, *doubts, height=HEIGHT_PX))


def _tooltip(baseline: str) -> list[alt.Tooltip]:
    return drawing.tooltip(
        model="Model",
        suite="Suite",
        variant="Backend",
        outcome=f"Ahead of {baseline}",
        label="Speedup (95 %)",
        waits="Time to steady, against the baseline's",
    )
