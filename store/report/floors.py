"""What a calibration has shown: the noise floor of each experiment that it measured against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.query import fetch, named
from store.report.table import Column, Report, Table
from store.stats.floors import DEFAULT_FLOOR, MIN_PAIRS

if TYPE_CHECKING:
    from store.query import Connection

_NAMES = ("suite", "model", "test", "variant")
_COLUMNS = (
    *(Column(title=title) for title in _NAMES),
    Column(title="floor", unit="%", digits=1, numeric=True, definition="95 % of identical pairs differ by less."),
    Column(
        title="A/A pairs",
        numeric=True,
        definition="Pairs of processes behind the floor, from all runs of this machine.",
    ),
    Column(title="source"),
)


def floors_report(con: Connection, run_id: str) -> Report:
    """Return the floors of a run's experiments, from all calibrations and twins of their machine."""
    rows = fetch(con, named("noise_floors"), {"run": run_id})
    body = tuple(
        (*(row[name] for name in _NAMES), row["floor"] * 100, int(row["pairs_n"]), row["source"]) for row in rows
    )
    return Report(
        title="Noise floors: " + ("1 experiment" if len(rows) == 1 else f"{len(rows)} experiments"),
        tables=(Table(title="Floors", columns=_COLUMNS, rows=body),),
        notes=(
            "A difference below the floor is never called faster or slower.",
            f"Under {MIN_PAIRS} pairs the default of {DEFAULT_FLOOR:.0%} is mixed in; another calibration adds pairs.",
        ),
    )
