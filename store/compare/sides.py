"""What is named on the command line as one side of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from store.errors import UsageError
from store.query import fetch

if TYPE_CHECKING:
    from store.query import Connection

_RUNS = "SELECT run_id, run_label, run_started FROM runs ORDER BY run_started DESC, run_id"
_CONFIRMATIONS = "SELECT DISTINCT run_id, run_label, run_started FROM records WHERE purpose = 'confirmation'"
"""They are no results, so neither `latest` nor `previous`; but they can be named."""
_AXES = """
SELECT environment, variant FROM results WHERE run_id = $run AND ran
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
    named = runs + fetch(con, _CONFIRMATIONS)
    if not named:
        raise UsageError("The store has no run. Measure with `xlabench run`, or `xlabench ingest PATH`.")
    by_order = {"latest": 0, "previous": 1}
    if text in by_order:
        if len(runs) <= by_order[text]:
            raise UsageError(f"There is no {text} run: the store has {len(runs)}.")
        return Side(text=text, run_id=str(runs[by_order[text]]["run_id"]))
    found = [row for row in named if row["run_id"] == text or row["run_label"] == text]
    found = found or [row for row in named if len(text) >= 4 and str(row["run_id"]).startswith(text)]  # noqa: PLR2004
    if len({row["run_id"] for row in found}) > 1:
        several = ", ".join(f"{row['run_id']} ({row['run_started']})" for row in found[:4])
        raise UsageError(f"{text!r} names {len(found)} runs: {several}. Pass the id of one.")
    if found:
        return Side(text=text, run_id=str(found[0]["run_id"]))
    return _axis(con, text, run or str(named[0]["run_id"]))


def _axis(con: Connection, text: str, run: str) -> Side:
    rows: list[dict[str, Any]] = fetch(con, _AXES, {"run": run})
    if text in {row["environment"] for row in rows}:
        return Side(text=text, run_id=run, environment=text)
    if text in {row["variant"] for row in rows}:
        return Side(text=text, run_id=run, variant=text)
    known = sorted({str(row["environment"]) for row in rows} | {str(row["variant"]) for row in rows})
    raise UsageError(f"{text!r} is no run, environment or backend; run {run} has {', '.join(known) or 'no results'}.")
