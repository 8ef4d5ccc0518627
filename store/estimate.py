"""How long planned experiments take, as far as the records of earlier runs tell."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from store.query import Connection, fetch, named
from store.record import PlanEntry


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate in seconds from earlier records, with the numbers of experiments with and without records."""

    seconds: float = 0.0
    records_n: int = 0
    known_n: int = 0
    unknown_n: int = 0


def estimate(con: Connection, entries: Sequence[PlanEntry], processes: int) -> Estimate:
    """Add up the median seconds per record of the same suite, model, test, accelerator and variant.

    Each experiment has as many records as `processes` says.
    """
    rows = fetch(con, named("seconds_per_record")) if entries else []
    records = {(row["suite"], row["model"], row["test"], row["accelerator"], row["variant"]): row for row in rows}
    kinds = [_kind(entry) for entry in entries]
    known = [kind for kind in kinds if kind in records]
    return Estimate(
        seconds=processes * sum(float(records[kind]["seconds"]) for kind in known),
        records_n=sum(int(records[kind]["records_n"]) for kind in set(known)),
        known_n=len(known),
        unknown_n=len(kinds) - len(known),
    )


def _kind(entry: PlanEntry) -> tuple[str, ...]:
    config = entry.config
    return config.suite_name, config.model_name, config.test, config.accelerator, entry.variant
