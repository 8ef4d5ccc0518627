"""What the page says first: which op to lower first, which op frees most models, how many models are concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard import data
from dashboard.rows import each
from dashboard.screens.fallback_ops import payoffs
from dashboard.words import count, escape, listed, missing, seconds

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_NAMED = 4


def all_ops(view: View, calls: pd.DataFrame, coverage: pd.DataFrame) -> list[str]:
    """Return the sentences of the page over all ops."""
    xla = coverage[coverage["backend"].str.startswith("openxla")] if len(coverage) else coverage
    ran = int(xla["ran_n"].sum()) if len(xla) else 0
    if calls.empty:
        if not ran:
            return ["No result of an XLA backend ran in this view, so there is nothing to say about fallback ops"]
        return [f"None of the {count(ran, 'XLA result')} of this view called a fallback op"]
    texts = []
    ranked = data.rows(view.snapshot, "fallback_ranking", view.selection, order="payoff")
    lower = ranked[(ranked["klass"] != "host_read") & (ranked["steady_models_n"] > 0)]
    if len(lower):
        texts.append(_first(next(each(lower)), len(lower)))
        frees = max(each(lower), key=lambda row: row.blocked_n)
        if frees.blocked_n:
            texts.append(_frees(frees))
    texts.append(
        f"{count(calls[['suite', 'model']].drop_duplicates().shape[0], 'model')} of this view called a fallback op or "
        f"read a value on the host ({int(xla['with_ops_n'].sum())} of {count(ran, 'XLA result')})"
    )
    return texts


def cost(row: Any) -> str:
    """Return what an op costs: what lowering it saves at most where a profile knows its time, else its calls."""
    if not missing(row.time_share):
        profiled = f"profiled in {count(int(row.time_n), 'result')}"
        if row.time_share >= 1:
            return f"it takes nearly the whole iteration, up to {seconds(row.saved_s)} ({profiled})"
        return f"saves up to {seconds(row.saved_s)} of an iteration, {100 * row.time_share:.3g}% ({profiled})"
    if missing(row.calls_per_iteration):
        return "an unknown number of calls"
    calls = "1 call" if row.calls_per_iteration == 1 else f"up to {row.calls_per_iteration:.4g} calls"
    return f"{calls} per iteration (not profiled)"


def _first(top: Any, ops: int) -> str:
    return (
        f"**{escape(top.op)}** is the op to lower first: {payoffs.proven(top) or cost(top)}, "
        f"in {count(int(top.steady_models_n), 'model')}; {count(ops, 'op')} to lower in all"
    )


def _frees(row: Any) -> str:
    names = listed([escape(name) for name in row.blocked_models], _NAMED)
    return (
        f"Lowering **{escape(row.op)}** alone would leave {count(int(row.blocked_n), 'model')} "
        f"without fallback: {names}"
    )
