"""One side of a comparison, as the command line names it."""

from __future__ import annotations

from typing import Any

import msgspec

from store.errors import LIST_RUNS, UsageError
from store.query import Connection, fetch, named

_RUNS = """
SELECT run_id, run_label, run_started
FROM runs
ORDER BY verify_only_n > 0 AND verify_only_n = planned_n, run_started DESC, run_id
"""
"""The runs, the newest first; runs that only verify are last, so that `latest` and `previous` prefer timed runs."""
_CONFIRMATIONS = "SELECT DISTINCT run_id, run_label, run_started FROM records WHERE purpose = 'confirmation'"
"""Confirmations are no results, so they are never `latest` or `previous`, but their ids and labels are accepted."""
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


def resolve(con: Connection, text: str, run: str | None = None) -> Side:
    """Return the side that a word names.

    Args:
        con: a snapshot.
        text: `latest`, `previous`, a run id or its beginning, a label; else an environment or a variant of `run`.
        run: id of that run; None: the newest.

    Raises:
        UsageError: it names nothing, or several runs.
    """
    runs = fetch(con, _RUNS)
    all_runs = runs + fetch(con, _CONFIRMATIONS)
    if not all_runs:
        raise UsageError("The store has no run. Measure with `xlabench run`, or `xlabench ingest PATH`.")
    by_order = {"latest": 0, "previous": 1}
    if text in by_order:
        if len(runs) <= by_order[text]:
            raise UsageError(f"There is no {text} run: the store has {len(runs)}. Measure again with `xlabench run`.")
        return Side(text=text, run_id=str(runs[by_order[text]]["run_id"]))
    matching = [row for row in all_runs if row["run_id"] == text or row["run_label"] == text]
    matching = matching or [row for row in all_runs if len(text) >= 4 and str(row["run_id"]).startswith(text)]  # noqa: PLR2004
    if len({row["run_id"] for row in matching}) > 1:
        several = ", ".join(f"{row['run_id']} ({row['run_started']})" for row in matching[:4])
        raise UsageError(f"{text!r} names {len(matching)} runs: {several}. Pass the id of one.")
    if matching:
        return Side(text=text, run_id=str(matching[0]["run_id"]))
    return _axis(con, text, run or str(all_runs[0]["run_id"]))


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
    raise UsageError(
        f"{text!r} is not a run, environment or backend. Run {run} has {has}; --run names another run. {LIST_RUNS}"
    )
