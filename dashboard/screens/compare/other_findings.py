"""The collapsed parts of page Compare: ambiguous, unchanged and incomparable cells, programs, settings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.formatting import count, escape, interval
from dashboard.review import board, one_finding
from dashboard.ui import reports, tables, verdicts
from dashboard.ui.tables import TableColumn
from dashboard.view import View
from store.compare import Cell
from store.compare.report import FLOOR
from store.report.table import Report
from store.review import Review, ReviewFinding


def counted(view: View, review: Review, mentioned: Collection[str] = ()) -> str:
    """Return as markdown how many cells have no finding, by reason, without the reasons in `mentioned`."""
    words = [word for word in ("same", "ambiguous", "not comparable") if word not in mentioned]
    numbers = {word: len(filtered_cells(view, review, word)) for word in words}
    if "not comparable" in numbers:  # what failed on a side is counted as that
        failures = {(each.experiment_id, each.environment) for each in (*review.findings, *review.still)}
        apart = filtered_cells(view, review, "not comparable")
        numbers["not comparable"] = sum((cell.experiment_id, cell.environment) not in failures for cell in apart)
    counts = [verdicts.coloured(word, f"{n:,} {verdicts.appearance_of(word).word}") for word, n in numbers.items() if n]
    for findings in (review.still, review.added):
        passed = board.filtered(view, findings)
        counts += [verdicts.coloured(passed[0].word, f"{len(passed):,} {passed[0].word}")] if passed else []
    return ", ".join(counts)


def has_no_cell(view: View, review: Review) -> bool:
    """Tell whether no cell passes the filters."""
    words = ("same", "ambiguous", "not comparable", "faster", "slower")
    return not any(filtered_cells(view, review, word) for word in words)


def versions(review: Review) -> None:
    """Draw the versions in which A and B differ, with links to the commits between them."""
    if review.comparison.renamed:
        st.info(escape(review.comparison.renamed), icon=":material/merge:")
    parts = []
    several = len({row[:2] for row in review.versions.rows}) > 1
    for place, environment, component, last, now, link in review.versions.rows:
        if last == now:
            continue
        text = f"**{escape(component)}** {escape(last or 'unknown')} → {escape(now or 'unknown')}"
        text += f" ([commits]({link}))" if link else ""
        parts.append(text + (f" :gray[{escape(place)}, {escape(environment)}]" if several else ""))
    if parts:
        st.markdown("What differs: " + " · ".join(parts))


def show(view: View, review: Review) -> None:
    """Draw the collapsed parts, each with its number of rows; a part without rows is left out."""
    _cells(view, review, "Ambiguous: neither a difference nor its absence is shown", "ambiguous")
    _not_comparable(view, review)
    _listed(view, review, "still failing", "Failed in A and in B", review.still)
    _listed(view, review, "new in the plan", "Tried in B only", review.added)
    one_finding.show_programs(view, review, lambda frame: _filtered(view, frame))
    if review.across_runs:
        _dropped(view, review)
        _settings(view, review)
    _cells(view, review, "Unchanged", "same")
    _consequences(view, review)
    _alarms(view, review)


def filtered_cells(view: View, review: Review, word: str) -> list[Cell]:
    """Return the cells of a verdict that pass the filters."""
    chosen = view.selection
    models = board.clean_models(view) if chosen.only else None
    return [
        cell
        for cell in review.cells(word)
        if (not chosen.suite or cell.suite in chosen.suite)
        and (not chosen.model or cell.model in chosen.model)
        and (models is None or (cell.suite, cell.model) in models)
        and (not chosen.test or cell.test in chosen.test)
        and (not chosen.backend or cell.variant.split(" ", maxsplit=1)[0] in chosen.backend)
        and (not chosen.accelerator or str(cell.alike[3]) in chosen.accelerator)
        and (not chosen.dtype or cell.alike[4] in chosen.dtype)
    ]


def _cells(view: View, review: Review, title: str, key: str) -> None:
    cells = filtered_cells(view, review, key)
    if not cells:
        return
    with st.expander(f"{title} ({len(cells):,})", key=f"part-{key}", on_change="rerun") as part:
        if not part.open:
            return
        frame = pd.DataFrame([_cell(cell) for cell in cells])
        columns = {name: column for name, column in _CELL_COLUMNS.items() if frame[name].notna().any()}
        sql = board.behind(view, review)
        tables.show(frame, columns, data.TableSource(view.file_name(key), sql), key=f"cells-{key}", alt=title)


def _cell(cell: Cell) -> dict[str, Any]:
    verdict = cell.verdict
    return {
        **{
            name: getattr(cell, name) for name in ("suite", "model", "test", "variant", "environment", "old_s", "new_s")
        },
        "ratio": verdict.ratio,
        "interval": interval(verdict.low, verdict.high),
        "floor": None if verdict.floor is None else verdict.floor * 100,
        "processes": verdict.processes,
        "needed": verdict.needed,
        "q": verdict.q,
        "why": verdict.reason,
    }


_CELL_COLUMNS = {
    name: replace(board.COLUMNS[name], hidden=False)
    for name in ("model", "test", "variant", "suite", "environment", "ratio", "interval", "old_s", "new_s", "processes")
} | {
    "needed": TableColumn("Needed", "number", help="Estimated number of processes that would settle the cell."),
    "floor": TableColumn("Floor, %", "decimal", help=FLOOR),
    "q": TableColumn(
        "q", "decimal", help="p adjusted for all cells judged together (Benjamini-Hochberg).", hidden=True
    ),
    "why": board.COLUMNS["why"],
}


def _not_comparable(view: View, review: Review) -> None:
    """Draw the cells that cannot be compared: by reason, with each field in which the sides differ."""
    cells = filtered_cells(view, review, "not comparable")
    if not cells:
        return
    with st.expander(f"Not comparable ({len(cells):,})", key="part-not-comparable", on_change="rerun") as part:
        if not part.open:
            return
        frame = pd.DataFrame([_reason_row(cell) for cell in cells])
        reasons = frame["why"].value_counts().head(8).items()
        st.markdown("\n".join(f"- {count(int(n), 'experiment')}: {escape(reason)}" for reason, n in reasons))
        columns = {name: board.COLUMNS[name] for name in ("model", "test", "variant", "suite", "environment", "why")}
        columns["differs"] = TableColumn(
            "Fields that differ", help="Field: A → B. An unknown value never counts as equal."
        )
        tables.show(
            frame,
            columns,
            data.TableSource(view.file_name("incomparable"), board.behind(view, review)),
            key="not-comparable",
            alt="What cannot be compared",
        )


def _reason_row(cell: Cell) -> dict[str, Any]:
    fields = [f"{difference.field}: {_value(difference.old)} → {_value(difference.new)}" for difference in cell.differs]
    names = ("suite", "model", "test", "variant", "environment")
    return {name: getattr(cell, name) for name in names} | {
        "why": cell.verdict.reason.replace("old side:", "A:").replace("new side:", "B:"),
        "differs": ", ".join(fields) or None,
    }


def _value(value: object) -> str:
    return "unknown" if value is None else str(value)


def _listed(view: View, review: Review, word: str, title: str, unfiltered: Sequence[ReviewFinding]) -> None:
    findings = board.filtered(view, unfiltered)
    if not findings:
        return
    with st.expander(f"{title} ({len(findings):,})", key=f"part-{word}", on_change="rerun") as part:
        if not part.open:
            return
        frame = pd.DataFrame(
            {
                **{
                    name: [getattr(entry, name) for entry in findings] for name in ("model", "test", "variant", "suite")
                },
                "history": [finding.state or None for finding in findings],
                "signature": [finding.signature or None for finding in findings],
                "why": [board.worded(finding.why) or None for finding in findings],
            }
        )
        columns = {
            **board.COLUMNS,
            "history": replace(board.COLUMNS["history"], hidden=False),
            "signature": TableColumn("Cause, without names and numbers", hidden=True),
        }
        shown = {name: columns[name] for name in frame.columns if frame[name].notna().any()}
        tables.show(
            frame,
            shown,
            data.TableSource(view.file_name(word.replace(" ", "-")), board.behind(view, review)),
            key=f"list-{word}",
            alt=title,
        )


def _filtered(view: View, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that pass the filters. The query reads the whole store, so it runs once, without filters."""
    for name, values in view.selection.chosen().items():
        if values and name in frame.columns:
            frame = frame[frame[name].isin(values)]
    return frame


def _dropped(view: View, review: Review) -> None:
    """Draw the configurations that earlier runs of B's label planned and its newest run does not."""
    frame = _filtered(view, data.rows(view.snapshot, "dropped", view.selection.unfiltered()))
    runs = data.runs(view.snapshot)
    labels = set(runs.loc[runs["run_id"] == review.new.run_id, "run_label"])
    frame = frame[frame["run_label"].isin(labels)]
    if frame.empty:
        return
    title = f"Dropped: planned by earlier runs of this label, but not by its newest run ({len(frame):,})"
    with st.expander(title, key="part-dropped", on_change="rerun") as part:
        if not part.open:
            return
        columns = {name: board.COLUMNS[name] for name in ("model", "test", "variant", "suite", "environment")} | {
            "run_label": TableColumn("Label"),
            "last_started": TableColumn("Last run with it", "time", help="UTC"),
            "missing_n": TableColumn("Runs without it", "number", help="Newer runs of the label that do not plan it."),
            "last_status": TableColumn("Last status"),
        }
        tables.show(
            frame, columns, data.source(view, "dropped"), key="dropped", alt="Configurations that stopped reporting"
        )


def _settings(view: View, review: Review) -> None:
    """Draw every fact in which the two runs differ."""
    run_ids = {"a": review.old.run_id, "b": review.new.run_id}
    frame = data.rows(view.snapshot, "facts_that_differ", view.selection.unfiltered(), **run_ids)
    if frame.empty:
        return
    title = f"Settings and environment that differ ({len(frame):,})"
    with st.expander(title, key="part-settings", on_change="rerun") as part:
        if not part.open:
            return
        columns = {
            "scope": TableColumn("Of"),
            "environment": TableColumn("Environment"),
            "field": TableColumn("Field"),
            "value_a": TableColumn("A"),
            "value_b": TableColumn("B"),
        }
        tables.show(
            frame,
            tables.without_constant(columns, frame, ["environment"]),
            data.source(view, "what-differs", "facts_that_differ", **run_ids),
            key="settings",
            alt="Facts in which the two runs differ",
        )


def _consequences(view: View, review: Review) -> None:
    """Draw tables that `xlabench compare` prints, too: causes of changed speedups, break-even, measurement warnings."""
    parts = (review.comparison.speedup_changes, review.comparison.break_even, review.comparison.findings)
    for number, table in enumerate(table for table in parts if table and table.rows):
        with st.expander(
            f"{escape(table.title)} ({len(table.rows):,})", key=f"part-table-{number}", on_change="rerun"
        ) as part:
            if part.open:
                report = Report(title=table.title, tables=(table,))
                sql = board.behind(view, review)
                reports.show(report, key=f"table-{number}", file_name=view.file_name("compare"), sql=(sql,))


def _alarms(view: View, review: Review) -> None:
    """Draw how often the rule judged A/A controls of these runs to be different."""
    alarms = review.comparison.false_alarms
    if len(alarms) > 1 and not any(alarm.twins for alarm in alarms):
        st.caption("False alarms: neither run has A/A controls, so their own rates of false alarms are unknown.")
        return
    for alarm in alarms:
        st.caption(f"False alarms: {escape(_with_names(view, alarm.sentence()))}")


def _with_names(view: View, text: str) -> str:
    """Return a text with each run's id replaced by the name that lists of runs show."""
    for run_id, name in data.choices(view.snapshot).runs:
        text = text.replace(run_id, name)
    return text
