"""On which models each series is slower than the baseline, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dashboard import answers
from dashboard.rows import each
from dashboard.words import escape, listed, ratio

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 3


def compared(rows: pd.DataFrame, baseline: str) -> list[Any]:
    """Return the rows with a speedup, without the baseline's own: compared with itself in its own run, it is 1."""
    return [
        row
        for row in each(rows)
        if row.speedup > 0 and not (row.variant == baseline and row.baseline_run_id == row.run_id)
    ]


def sentences(rows: pd.DataFrame, baseline: str) -> list[str]:
    """Return one sentence for each test, accelerator and XLA series; for every series where none is of XLA.

    Counted here and not by a query: the rows are those of the page's table, and another query would cost a fifth of the
    time of a change of a filter.

    Args:
        rows: of `speedups`, with `series`.
        baseline: backend that the speedups are over; its own results are left out.
    """
    found: dict[tuple[str, str, str], list[Any]] = {}
    for row in each(rows):
        if math.isfinite(row.speedup) and row.record_id != row.baseline_record_id:
            found.setdefault((row.test, row.accelerator, row.series), []).append(row)
    xla = {keys: part for keys, part in found.items() if part[0].backend.startswith("openxla")}
    return [_sentence(keys, part, baseline) for keys, part in sorted((xla or found).items())]


def _sentence(keys: tuple[str, str, str], part: list[Any], baseline: str) -> str:
    """Say on how many models the 95 % interval lies below 1, above it, or holds it, and which are below."""
    test, accelerator, series = keys
    slower = sorted((row.speedup, row.model) for row in part if row.speedup_high < 1)
    worst = [f"{escape(model)} {ratio(speedup)}" for speedup, model in slower]
    named = f" ({listed(worst, _NAMED)})" if worst else ""
    numbers = {
        "slower": len(slower),
        "faster": sum(row.speedup_low > 1 for row in part),
        "same": sum(row.speedup_low <= 1 <= row.speedup_high for row in part),
        "unknown": sum(math.isnan(row.speedup_low) for row in part),
    }
    said = answers.fares(series, baseline, numbers, "model", named)
    return f"In {escape(f'{test} on {accelerator}')} {said}"
