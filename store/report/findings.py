"""The table of findings: what makes the numbers of runs doubtful, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.advice import summary
from store.query import fetch, named
from store.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection

_COLUMNS = (
    Column(title="finding"),
    Column(title="results", numeric=True),
    Column(title="for example"),
    Column(title="what to do"),
)


def findings_table(con: Connection, runs: Iterable[str]) -> Table:
    """Return one row per kind of finding in these runs, the commonest first."""
    rows = fetch(con, named("findings"), {"runs": sorted(set(runs))})
    body = tuple((summary(row["code"]), int(row["results_n"]), row["example"], row["next_step"]) for row in rows)
    return Table(title="Measurement warnings", columns=_COLUMNS, rows=body)
