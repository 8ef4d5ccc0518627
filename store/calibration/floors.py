"""The noise floors that verdicts use: those of other runs than the ones that are judged."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from store.query import fetch, named
from store.stats.floors import Floor, default_floor, floor_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from store.query import Connection

Floors = dict[tuple[Any, Any], Floor]
"""Machine and experiment → noise floor; experiment None: the whole machine."""


def floors_without(con: Connection, runs: Iterable[str]) -> Floors:
    """Return the floors that all runs but these have shown."""
    pairs: dict[tuple[Any, Any], list[float]] = defaultdict(list)
    for row in fetch(con, named("aa_pairs"), {"runs": sorted(set(runs))}):
        pairs[row["machine_id"], row["experiment_id"]].append(float(row["log_ratio"]))
        pairs[row["machine_id"], None].append(float(row["log_ratio"]))
    return {key: floor_of(values) for key, values in pairs.items()}


def floor_for(floors: Mapping[tuple[Any, Any], Floor], facts: Mapping[str, Any]) -> Floor:
    """Return the experiment's own floor, else the machine's, else the named default."""
    own = floors.get((facts["machine_id"], facts["experiment_id"]))
    return own or floors.get((facts["machine_id"], None)) or default_floor()
