"""How long a plan will take, from the records of the store: medians of the same kind, with how many they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard import data, snapshot
from dashboard.rows import each
from dashboard.words import count, seconds
from store import query

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from store.record import PlanEntry


@dataclass(frozen=True)
class Estimate:
    """Seconds of those experiments that the store knows, the records they rest on, and how many it does not know."""

    seconds: float
    records_n: int
    known_n: int
    unknown_n: int

    def sentence(self) -> str:
        """Return it in words; of a part that is not known nothing is guessed."""
        if not self.known_n:
            return "How long it takes is not known: the store has no history of these models."
        duration = seconds(self.seconds) if self.seconds < 100 else f"{self.seconds / 60:.0f} min"  # noqa: PLR2004 - as a clock
        text = f"About **{duration}**, from {count(self.records_n, 'record')} of the same models, tests and backends"
        if self.unknown_n:
            text += f"; {count(self.unknown_n, 'more experiment')} without history not counted in"
        return text


def estimate(shown: str | None, entries: Sequence[PlanEntry], processes: int) -> Estimate:
    """Add up the median seconds per record of the same suite, model, test, accelerator and backend.

    Args:
        shown: the snapshot; None: there is none.
        entries: what is to be measured.
        processes: records of each.
    """
    known = _known(shown) if shown and entries else {}
    total, records, found = 0.0, {}, 0
    for entry in entries:
        config = entry.config
        kind = (config.suite_name, config.model_name, config.test, config.accelerator, entry.variant)
        if kind in known:
            median_s, records[kind] = known[kind]
            total += median_s * processes
            found += 1
    return Estimate(total, sum(records.values()), found, len(entries) - found)


def _known(shown: str) -> dict[tuple[str, ...], tuple[float, int]]:
    frame: pd.DataFrame = query.select(snapshot.connection(shown), data.sql("seconds_per_record"))
    return {
        (row.suite, row.model, row.test, row.accelerator, row.variant): (float(row.seconds), int(row.records_n))
        for row in each(frame)
    }
