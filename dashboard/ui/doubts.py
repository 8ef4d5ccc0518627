"""Doubts about the results of a view: the first line of each page, and the marks in cells and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, rows_by, unit, with_place, with_series, with_suites
from dashboard.formatting import STATUS_WORDS, TIMES, WRONG, count, escape, missing, placed, shortened
from dashboard.ui.tables import TableColumn
from dashboard.view import View
from store import advice
from store.verification import UNVERIFIED

DISTURBED, UNSTEADY, UNCHECKED, NOT_RUN = "disturbed", "never steady", "not verified", "not run"
MARKS = {WRONG: "✗", DISTURBED: "⚠", UNSTEADY: "⚠", UNCHECKED: "°", NOT_RUN: "∅"}
"""Doubt → its mark in a cell; tooltips, tables and files contain its words."""
WARNED = "\N{DAGGER}"
"""Mark of a result with measurement warnings, or whose baseline has some."""
TO_DO = {
    WRONG: "`xlabench repro` shows where they differ from eager's",
    NOT_RUN: "if the run has ended, the same command continues it",
    DISTURBED: "measure these again while nothing else runs",
    UNSTEADY: "measure these again with a longer warm-up",
    UNCHECKED: "run with `--verify`",
}
"""Doubt → next step, the most important first."""
_SEE_REASONS = "see *Experiments* on page Runs & jobs"
NO_FAILURE = {"ok", "verify_only", "skipped", NOT_RUN, "not_run", DISTURBED, "never_steady", UNSTEADY}
"""Statuses, some of them also in words, that are no failures."""

COLUMN = TableColumn(
    "Warning",
    "warnings",
    help="Why the result may be unreliable; +1: one more warning, in the file and on page Model; baseline: only the "
    "baseline has warnings. The first line of the page says what to do.",
)
"""Column of tables whose rows are results, filled by `marked`."""
_NAMED = 3
"""Number of wrong answers that the line names."""


class _Facts(NamedTuple):
    """Columns of a result that doubts rest on."""

    status: str
    ran: bool
    verification_code: str | None


class Doubts(NamedTuple):
    """Numbers of results of a view by doubt."""

    planned_n: int
    by_kind: dict[str, int]
    models: tuple[str, ...]
    """Models with a number."""
    wrong: tuple[str, ...] = ()
    """Results that differ from eager's."""
    failures: tuple[tuple[str, int], ...] = ()
    """Statuses of failures in words with their counts, if no result of the view ran."""
    own: bool = False
    """Whether all models are the reader's own; then a single model is no doubt."""
    unit: str = "model"
    """What the results are about: `model` or `operator`."""
    imported: bool = False
    """Whether another tool measured all results; then nothing can be verified here."""
    later_n: int = 0
    """Number of results that only a later run found right, not the one that measured them."""

    @property
    def line(self) -> str | None:
        """Return the doubts with counts and next steps, as markdown; None without doubts."""
        parts = [self._part(kind, number) for kind, number in self.by_kind.items() if number]
        known = self.by_kind if not self.imported else {**self.by_kind, UNCHECKED: 0}
        to_do = [placed(TO_DO[kind]) for kind, number in known.items() if number]
        if self.failures:
            failed = ", ".join(f"{number:,} {TIMES} {escape(word)}" for word, number in self.failures)
            parts, to_do = [f"**none ran** ({failed})", *parts], [_SEE_REASONS, *to_do]
        if len(self.models) == 1 and not self.own:
            parts.append(f"one {self.unit} only, {escape(self.models[0])}")
            to_do = to_do or [f"measure more {self.unit}s"]
        if not parts:
            return None
        text = f"{count(self.planned_n, 'result')}: {'; '.join(parts)}."
        return f"{text} To do: {'; '.join(to_do)}." if to_do else text

    @property
    def origin(self) -> tuple[str, ...]:
        """Return where verdicts of other runs come from: the origin of a number, not a doubt."""
        number = "all" if self.later_n == self.planned_n > 1 else f"{self.later_n:,}"
        return (f"{number} verified in a later run",) if self.later_n else ()

    def _part(self, kind: str, number: int) -> str:
        if kind == NOT_RUN:
            return f"incomplete, {self.planned_n - number:,} of {self.planned_n:,} so far"
        if kind == UNCHECKED and number == self.planned_n > 1:
            return "none is verified"
        if kind != WRONG:
            return f"{'all' if number == self.planned_n > 1 else f'{number:,}'} {kind}"
        rest = [f"{number - _NAMED:,} more"] if number > _NAMED else []
        return f"**{count(number, WRONG)}** ({', '.join([*(escape(name) for name in self.wrong[:_NAMED]), *rest])})"


def with_warnings(view: View, rows: pd.DataFrame) -> pd.DataFrame:
    """Add column `warned` to results: the measurement warnings in words, also those of the baseline; None without.

    Args:
        view: the view.
        rows: with `run_id` and `record_id`; where they have speedups, with those of the baseline, too. Rows without
            any stay as they are.
    """
    sides = [side for side in ("", "baseline_") if {f"{side}record_id", f"{side}run_id"} <= set(rows.columns)]
    if not sides:
        return rows
    found: dict[str, list[str]] = {}
    for run in sorted({str(run) for side in sides for run in rows[f"{side}run_id"].dropna().unique()}):
        for row in iter_rows(data.rows(view.snapshot, "warnings", view.selection.unfiltered(), run=run)):
            mark = advice.mark_of(row.code)
            if mark not in (None, DISTURBED):
                found.setdefault(row.record_id, []).append(str(mark))
    ids = zip(*(rows[f"{side}record_id"].tolist() for side in sides), strict=True)
    texts: list[Any] = [
        None if found.keys().isdisjoint(records) else _warning_text(*(found.get(record, ()) for record in records))
        for records in ids
    ]
    return rows.assign(warned=texts)


def _warning_text(own: Sequence[str], baseline: Sequence[str] = ()) -> str:
    """Return the warnings of a result, then those that only its baseline has, as reports do."""
    others = [name for name in baseline if name not in own]
    texts = [", ".join(own), f"baseline: {', '.join(others)}" if others else ""]
    return "; ".join(filter(None, texts))


def of_row(row: Any) -> list[str]:
    """Return the doubts about a result, a row with status, ran and verification_code."""
    kinds = [kind for kind, is_so in _SIGNS.items() if is_so(row)]
    return kinds if NOT_RUN not in kinds else [NOT_RUN]


def in_words(row: Any) -> list[str]:
    """Return the doubts about a result, and its measurement warnings if its row has `warned`, with their marks."""
    warned = getattr(row, "warned", None)
    return [*(f"{MARKS[kind]} {kind}" for kind in of_row(row)), *([] if missing(warned) else [f"{WARNED} {warned}"])]


def marks(row: Any) -> str:
    """Return the marks of a result, for its cell."""
    return "".join(dict.fromkeys(text[0] for text in in_words(row)))


def marked(rows: pd.DataFrame) -> pd.DataFrame:
    """Add column `doubt` to results: marks and words, None without doubts."""
    names = [name for name in (*_Facts._fields, "warned") if name in rows.columns]
    texts: list[Any] = [", ".join(in_words(row)) or None for row in iter_rows(rows[names])]
    return rows.assign(doubt=texts)


def knows(rows: pd.DataFrame) -> bool:
    """Tell whether rows have the columns that `marked` needs."""
    return set(_Facts._fields) <= set(rows.columns)


def on_points(rows: Iterable[Any]) -> list[str]:
    """Return the marks of points; none if all are equal, because the first line of the page says it."""
    texts = [marks(row) for row in rows]
    return texts if len(set(texts)) > 1 else [""] * len(texts)


def legend(drawn: Iterable[str]) -> None:
    """Draw the meanings of the marks beside points, if there are marks."""
    if words := meanings(drawn):
        st.caption(f"Marks at points: {', '.join(words)}.")


def meanings(drawn: Iterable[str]) -> list[str]:
    """Return each mark that occurs in these texts, with what it means."""
    text = "".join(drawn)
    kinds: dict[str, list[str]] = {}
    for kind, mark in (*MARKS.items(), ("measurement warning", WARNED)):
        kinds.setdefault(mark, []).append(kind)
    return [f"{mark} {' or '.join(of_mark)}" for mark, of_mark in kinds.items() if mark in text]


def counted(frame: pd.DataFrame) -> Doubts:
    """Count the results of a view by doubt: rows of query `doubts`."""
    every = with_place(with_series(with_suites(frame)))
    by_kind = dict.fromkeys(TO_DO, 0)
    for facts, alike in rows_by(every, _Facts._fields).items():
        for kind in of_row(_Facts(*facts)):
            by_kind[kind] += len(alike)
    ran = every["ran"].astype(bool)
    models = tuple(sorted(set(every.loc[ran, "model"].astype(str))))
    rejected = iter_rows(every[every["verification_code"] == "FAIL"])
    wrong = tuple(sorted(f"{shortened(row.model)} {row.test} under {row.place}" for row in rejected))
    failures = () if models else tuple(_failures(iter_rows(every)).most_common())
    own, imported = bool((every["suite"] == "own").all()), bool((every["source"] != "xlabench").all())
    later = int((ran & (every["verification_code"] == "PASS") & every["verification_run_id"].notna()).sum())
    return Doubts(len(every), by_kind, models, wrong, failures, own, unit(every["suite"]), imported, later)


def _failures(rows: Iterable[Any]) -> Counter[str]:
    """Count failures by their status in words."""
    return Counter(STATUS_WORDS.get(row.status, str(row.status)) for row in rows if row.status not in NO_FAILURE)


def _wrong(row: Any) -> bool:
    return bool(row.verification_code == "FAIL")


def _unchecked(row: Any) -> bool:
    code = row.verification_code
    return bool(row.ran and (missing(code) or code in UNVERIFIED))


def _has(status: str) -> Any:
    """Return a function that tells whether a row has a status, by the store's name or in words."""
    return lambda row: row.status in (status, STATUS_WORDS[status])


_SIGNS = {
    WRONG: _wrong,
    NOT_RUN: _has("not_run"),
    DISTURBED: _has("disturbed"),
    UNSTEADY: _has("never_steady"),
    UNCHECKED: _unchecked,
}
