"""Aggregates over models, and the sentences that state them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from dashboard.rows import sections
from dashboard.words import count, escape, interval, ratio
from store.stats.geomean import geomean, t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

SECTION = ["test", "accelerator"]
"""Columns that part a page: numbers of two tests or two accelerators never share a table's aggregate."""


class Mean(NamedTuple):
    """A geometric mean of n ratios with its 95 % interval; None where it cannot exist."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def mean_of(ratios: Iterable[float]) -> Mean:
    """Return the geometric mean of the positive ratios."""
    found = geomean([value for value in ratios if value and value > 0 and math.isfinite(value)])
    return Mean(found.value, found.low, found.high, found.n) if found else Mean(None, None, None, 0)


def mean_from(log_mean: float, log_sd: float, n: int) -> Mean:
    """Return the geometric mean from the mean and the sample deviation of logs, as SQL gives them."""
    if n == 0:
        return Mean(None, None, None, 0)
    value = math.exp(log_mean)
    if n == 1:
        return Mean(value, None, None, 1)
    half = t_quantile(n - 1) * log_sd / math.sqrt(n)
    return Mean(value, math.exp(log_mean - half), math.exp(log_mean + half), n)


def geomean_sentence(variant: str, baseline: str, mean: Mean, where: str) -> str:
    """Return `X is 0.84× inductor (geomean of 6 models, 95 % 0.71–0.99) in …`, in markdown."""
    bounds = f", 95 % {interval(mean.low, mean.high)}" if mean.low is not None else ""
    return (
        f"**{escape(variant)}** is **{ratio(mean.value)}** {escape(baseline)} "
        f"(geomean of {count(mean.n, 'model')}{bounds}) in {escape(where)}"
    )


def speedup_sentences(frame: pd.DataFrame, baseline: str) -> list[str]:
    """Return one sentence per variant, suite, test and accelerator that has a speedup; the baseline itself is left out.

    Args:
        frame: rows of `speedups`.
        baseline: backend that the ratios are over.
    """
    others = frame[(frame["variant"] != baseline) & frame["speedup"].notna()]
    found: list[tuple[int, str]] = []
    for keys, part in sections(others, ["test", "accelerator", "suite", "variant"]):
        test, accelerator, suite, variant = keys
        mean = mean_of(part["speedup"])
        if mean.n:
            found.append((mean.n, geomean_sentence(variant, baseline, mean, f"{test} on {accelerator}, {suite}")))
    return [text for _, text in found]


def section_title(keys: Iterable[Any]) -> str:
    """Return `eval · cpu`, escaped for markdown."""
    return " · ".join(escape(key) for key in keys if key)
