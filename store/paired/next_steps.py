"""What to do next with a run: commands that look closer at fallbacks, graph breaks and compiling that never pays."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from store.paired.answer import TIMES
from store.query import fetch, named
from store.report.table import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from store.query import Connection

MOST = 5
"""Steps that are said; the pages list everything."""
_FROM_PYTHON = "measure:"
_REASON = 80


def next_steps(
    con: Connection, runs: Iterable[str], among: Collection[tuple[str, str, str]] | None = None
) -> tuple[Step, ...]:
    """Return what to look at in these runs, the first of many.

    Args:
        con: a snapshot.
        runs: ids.
        among: suite, model and test of what is shown; None: everything.
    """
    rows = [row for run in runs for row in fetch(con, named("next_steps"), {"run": run})]
    return steps(row for row in rows if among is None or (row["suite"], row["model"], row["test"]) in among)[:MOST]


def steps(rows: Iterable[Mapping[Any, Any]]) -> tuple[Step, ...]:
    """Return a step for each thing that rows of query `next_steps` name, each once whichever backends show it."""
    things: dict[tuple[Any, ...], list[Mapping[Any, Any]]] = {}
    for row in rows:
        what = None if row["kind"] == "never" else row["what"]
        things.setdefault((row["kind"], row["suite"], row["model"], row["test"], what), []).append(row)
    return tuple(map(_step, things.values()))


def _step(rows: Sequence[Mapping[Any, Any]]) -> Step:
    row, backends = rows[0], list(dict.fromkeys(str(each["backend"]) for each in rows))
    name, amount = f"{row['model'].partition('@')[0]} {row['test']}", row["amount"]
    if row["kind"] == "fallback":
        often = "once" if amount == 1 else f"{amount:g} times"
        what = f"{name} runs {row['what']} outside of XLA, {often} per iteration; this measures what lowering it gains"
        return Step(what, _command(row, (), f"--without-fallback={row['what']}"))
    under = f"under {', '.join(backends)}"
    if row["kind"] == "graph_break":
        reason = " ".join(row["what"].split())
        reason = reason if len(reason) <= _REASON else f"{reason[: _REASON - 1]}…"
        times = "once" if amount == 1 else f"{amount:g} times"
        what = f"dynamo breaks the graph of {name} {under}, {times} ({reason}); this shows where it breaks first"
        return Step(what, _command(row, backends, "--fullgraph"))
    slower = ", ".join(f"{each['backend']} ({each['amount']:.2f}{TIMES} slower than eager)" for each in rows)
    what = f"compiling {name} never pays here under {slower}; this profiles what the time is spent on"
    return Step(what, _command(row, backends, "--dump-pytorch-profiles"))


def _command(row: Mapping[Any, Any], backends: Sequence[str], flag: str) -> str:
    """Return the command that looks closer; what was measured from Python is measured from there."""
    model = row["model"]
    if model.startswith(_FROM_PYTHON):
        chosen = f"backends={list(backends)}, " if backends else ""
        return f'xlabench.measure(module, inputs, {chosen}test="{row["test"]}", flags=["{flag}"])'
    typed = row["inputs"] if isinstance(row["inputs"], str) else "[]"
    words = (
        [model, *(f"--input={each}" for each in json.loads(typed) or ())]
        if row["suite"] == "own"
        else ["--only", f"{row['suite']}/{model}"]
    )
    words += [f"--test={row['test']}", *(f"--backend={backend}" for backend in backends), flag]
    return shlex.join(["xlabench", "run", *words])
