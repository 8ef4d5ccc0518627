"""What is said of models of one's own: the hash in their names makes a changed file a new series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.query import fetch, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from store.query import Connection

RULE = (
    "The end of the name of a model of your own is a hash of its source, of the files in its folder that it imports or "
    "reads, and of typed inputs: a changed file is a new series."
)


def new_series(con: Connection, runs: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each model of these runs that an earlier run has measured from another source."""
    return changed(fetch(con, named("earlier_sources"), {"runs": list(runs)}))


def changed(rows: Iterable[Mapping[Any, Any]]) -> tuple[str, ...]:
    """Return a sentence for each row of query `earlier_sources`."""
    return tuple(
        f"{row['model']} is a new series: its source has changed since {row['earlier']} was measured on "
        f"{row['before_started']:%Y-%m-%d %H:%M} UTC. The two are not compared."
        for row in rows
    )
