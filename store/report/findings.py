"""Reasons to doubt the numbers of runs: sentences about wrong answers, and the table of measurement warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from store.advice import summary
from store.identity import model_names
from store.query import Connection, fetch, named
from store.report.table import Column, Table, distinguishing_columns, text_columns

_COLUMNS = (
    Column(title="finding"),
    Column(title="results", numeric=True),
    *text_columns("for example", "what to do"),
)


def wrong_answers(rows: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return a sentence for each result that differs from eager's; it makes the speed of the result irrelevant.

    `rows` are all results of the report, because a name contains only the settings in which these differ.
    """
    results = list(rows)
    names = model_names((row["suite"], row["model"]) for row in results)
    distinguishing = distinguishing_columns(results, ("accelerator", "environment", "dtype"))
    wrong = []
    for row in results:
        if row["verification_code"] == "FAIL":
            settings = ", ".join(str(row[name]) for name in distinguishing if row[name] is not None)
            under = f"{row['variant']} ({settings})" if settings else row["variant"]
            name = names[row["suite"], row["model"]]
            wrong.append(f"WRONG ANSWER: {name} {row['test']} under {under} does not return what eager returns.")
    return tuple(wrong)


def findings_table(con: Connection, runs: Iterable[str]) -> Table:
    """Return one row per kind of finding in these runs, the most frequent first."""
    rows = fetch(con, named("findings"), {"runs": sorted(set(runs))})
    body = tuple((summary(row["code"]), int(row["results_n"]), row["example"], row["next_step"]) for row in rows)
    return Table(title="Measurement warnings", columns=_COLUMNS, rows=body)
