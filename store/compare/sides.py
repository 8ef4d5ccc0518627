"""One side of a comparison, as the command line names it."""

from __future__ import annotations

from typing import Any

import msgspec

from store.choose import find_run, run_named, run_names
from store.errors import LIST_RUNS, UsageError, did_you_mean
from store.query import Connection, fetch, named

_AXES = """
SELECT environment, variant FROM result_rows WHERE run_id = $run AND ran
UNION
SELECT environment, variant FROM records WHERE run_id = $run AND ran AND purpose = 'confirmation'
"""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and within it at most one environment or one variant."""

    text: str
    run_id: str
    environment: str | None = None
    variant: str | None = None

    def is_same(self, other: Side) -> bool:
        """Tell whether another side has the same results, however each was typed."""
        return msgspec.structs.replace(self, text=other.text) == other


def resolve(con: Connection, text: str, run: str | None = None) -> Side:
    """Return the side that a word names.

    Args:
        con: a snapshot.
        text: a run, as `find_run` takes it; else an environment or a variant of `run`.
        run: that run, named likewise; None: the newest.

    Raises:
        UsageError: it names nothing, or several runs.
    """
    run_id = find_run(con, text)
    if run_id is not None:
        return Side(text=text, run_id=run_id)
    return _axis(con, text, run_named(con, run or "latest"))


def with_environments(con: Connection, old: Side, new: Side) -> tuple[Side, Side]:
    """Return both sides; two whole runs with one environment each that is called differently have it named.

    Their environments are then the two sides, as there is no other way in which they could belong together.
    """
    if old.run_id == new.run_id or old.environment or new.environment:
        return old, new
    known = {
        row["run_id"]: row["names"] for row in fetch(con, named("environments_of"), {"runs": [old.run_id, new.run_id]})
    }
    names = [known.get(side.run_id, []) for side in (old, new)]
    if any(len(name_list) != 1 for name_list in names) or names[0] == names[1]:
        return old, new
    old_name, new_name = (name_list[0] for name_list in names)
    replace = msgspec.structs.replace
    return replace(old, environment=old_name), replace(new, environment=new_name)


def _axis(con: Connection, text: str, run: str) -> Side:
    rows: list[dict[str, Any]] = fetch(con, _AXES, {"run": run})
    if text in {row["environment"] for row in rows}:
        return Side(text=text, run_id=run, environment=text)
    if text in {row["variant"] for row in rows}:
        return Side(text=text, run_id=run, variant=text)
    environments, variants = (sorted({str(row[name]) for row in rows}) for name in ("environment", "variant"))
    has = (
        f"the {'environment' if len(environments) == 1 else 'environments'} {', '.join(environments)} and the backends "
        f"{', '.join(variants)}"
        if rows
        else "no results"
    )
    hint = did_you_mean(text, [*run_names(con), *environments, *variants])
    raise UsageError(
        f"{text!r} is not a run, environment or backend.{hint} Run {run} has {has}; --run names another run. "
        f"{LIST_RUNS}"
    )
