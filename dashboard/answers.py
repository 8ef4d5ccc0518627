"""Sentences that state what a table or chart shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.rows import each, with_series
from dashboard.words import count, escape, interval, missing, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

SECTION = ["test", "accelerator"]
"""Columns that part a page: numbers of two tests or two accelerators never share an aggregate."""
SUITES = "Test, accelerator and suite"
"""What names the charts of models: those of two suites never share one."""

_FIRST = ("openxla+dynamo", "openxla+lazytensor")
_LAST = ("eager",)
_SYNTHETIC = ("dummy",)


def geomean_sentences(means: pd.DataFrame, baseline: str) -> list[str]:
    """Return one sentence per series with a geometric mean; in order of interest, the baseline itself left out.

    Args:
        means: rows of `geomeans`.
        baseline: backend that the ratios are over.
    """
    found = with_series(compared(means, baseline))
    found = found[found["geomean"].notna()]
    ordered = sorted(each(found), key=_order)
    return [_sentence(row, baseline) for row in ordered]


def compared(frame: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Leave out the baseline's own rows: compared with itself in its own run, it is 1 by definition."""
    return frame[~((frame["variant"] == baseline) & (frame["baseline_run_id"] == frame["run_id"]))]


def no_speedup(frame: pd.DataFrame, baseline: str) -> str:
    """Say that there is no speedup, with the most frequent reason."""
    reasons = frame["speedup_reason"].dropna().value_counts()
    why = escape(reasons.index[0]) if len(reasons) else "only the baseline was measured"
    return f"No speedup over **{escape(baseline)}** can be computed: {why}"


def section_title(keys: Iterable[Any]) -> str:
    """Return `eval · cpu`, escaped for markdown."""
    return " · ".join(escape(key) for key in keys if key)


def _sentence(row: Any, baseline: str) -> str:
    """Return variant, geometric mean, n, interval, whether that holds 1, and place as one sentence of markdown."""
    bounds = "" if missing(row.geomean_low) else f", 95 % {interval(row.geomean_low, row.geomean_high)}"
    if bounds and row.geomean_low <= 1 <= row.geomean_high:
        bounds += ": no difference shown"
    where = escape(f"{row.test} on {row.accelerator}, {row.suite}")
    where += "; cross-device, so no verdict" if row.cross_device else ""
    return (
        f"**{escape(row.series)}** is **{ratio(row.geomean)}** as fast as {escape(baseline)} "
        f"(geomean of {count(int(row.n), 'model')}{bounds}) in {where}"
    )


def _order(row: Any) -> tuple[Any, ...]:
    """Put what answers most first: real models before synthetic ones, XLA before others, many models before few."""
    return (row.suite in _SYNTHETIC, _rank(row.backend), -row.n, row.test, row.suite, row.series)


def _rank(backend: str) -> int:
    if backend in _FIRST:
        return _FIRST.index(backend)
    return len(_FIRST) + (backend in _LAST)
