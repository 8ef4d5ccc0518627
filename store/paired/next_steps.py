"""What to do next with a run: commands that look closer at fallbacks, graph breaks and compiling that never pays."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from store.paired.answer import TIMES
from store.query import fetch, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection

MOST = 5
"""Sentences that are said; the pages list everything."""
_FROM_PYTHON = "measure:"
_REASON = 80


def next_steps(con: Connection, run_id: str) -> tuple[str, ...]:
    """Return a sentence for each thing to look at, each once whichever backends show it; the first of many."""
    rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in fetch(con, named("next_steps"), {"run": run_id}):
        rows.setdefault((row["kind"], row["suite"], row["model"], row["test"], row["what"]), []).append(row)
    return tuple(_sentence(same) for same in list(rows.values())[:MOST])


def _sentence(rows: list[dict[str, Any]]) -> str:
    row, backends = rows[0], [each["backend"] for each in rows]
    name, amount = f"{row['model'].partition('@')[0]} {row['test']}", row["amount"]
    if row["kind"] == "fallback":
        what = f"{name} calls {row['what']} outside of XLA, {amount:g} times per iteration; what lowering it would pay"
        flag = f"--without-fallback={row['what']}"
        return f"{what}: {_command(row, (), flag)}"
    under = f"under {', '.join(backends)}"
    if row["kind"] == "graph_break":
        reason = " ".join(row["what"].split())
        reason = reason if len(reason) <= _REASON else f"{reason[: _REASON - 1]}…"
        what = f"dynamo breaks the graph of {name} {under}, {amount:g} times ({reason}); where it does so first"
        return f"{what}: {_command(row, backends, '--fullgraph')}"
    what = f"compiling {name} {under} never pays here, eager is {amount:.2f}{TIMES} faster; what its time is spent on"
    return f"{what}: {_command(row, backends, '--dump-pytorch-profiles')}"


def _command(row: dict[str, Any], backends: Iterable[str], flag: str) -> str:
    """Return the command that looks closer; what was measured from Python has its arguments there."""
    model = row["model"]
    if model.startswith(_FROM_PYTHON):
        return f"measure its file with {flag}"
    words = [model] if row["suite"] == "own" else ["--only", f"{row['suite']}/{model}"]
    words += [f"--test={row['test']}", *(f"--backend={backend}" for backend in backends), flag]
    return shlex.join(["xlabench", "run", *words])
