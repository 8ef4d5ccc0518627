"""The effect of a change on time: log-ratios of processes, their interval and their p-value, for many cells at once.

The unit of replication is the process: layout, code generation and thread placement differ from process to process,
and no number of repeats inside one of them shows it. A few processes alone estimate their own scatter badly, so the
scatter that A/A records of other runs have shown is added as prior knowledge (the moderated t of Smyth, "Linear
models and empirical Bayes methods", 2004, equations 1 and 2): variance and degrees of freedom are those of both.

That knowledge holds for a machine like the one it comes from. Where a cell's own scatter refutes it, as on a machine
that was disturbed, it is left out. No process is known better than its rounds allow, and one whose rounds disagree
counts for less (a weighted mean, as of studies of different size): otherwise a single disturbed process of three
would hide a change of ten times the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
"""Confidence level of a comparison that is made once; `level_of` if its data may grow and be judged again."""
REFUTED = 0.05
"""Significance level at which the scatter of a cell refutes the prior; the cell does not use the prior then."""
_MEDIAN_VARIANCE = np.pi / 2
"""Variance of a median over that of a mean (normal samples)."""
_MAD_OF_NORMAL = 1.4826
"""Standard deviation over median absolute deviation (normal samples)."""
_MAD_FACTORS = (1.0, 1.0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
"""Number of values → factor that makes their median absolute deviation unbiased; n / (n - 0.8) from ten on."""


@dataclass(frozen=True)
class Effects:
    """Arrays over cells. `log_ratio` is ln(base time / new time): positive is faster; NaN means unknown."""

    log_ratio: Floats
    std_error: Floats
    freedom: Floats
    low: Floats
    high: Floats
    p: Floats
    processes: NDArray[np.int64]
    """Processes of each cell that gave a ratio."""
    level: float = LEVEL
    """Confidence level of the intervals."""


def level_of(looks: int) -> float:
    """Return the level of each of `looks` looks at growing data, so that together they have the error of one look.

    Measuring until a verdict appears, each time at 95 %, gives false verdicts too often. Bonferroni's division of the
    5 % is valid for any dependence between the looks, and only slightly conservative.
    """
    return 1 - (1 - LEVEL) / looks


def paired_log_ratios(base: ArrayLike, new: ArrayLike) -> Floats:
    """Return ln(base / new) per process from round medians of shape (..., processes, rounds), seconds.

    The sides took turns in each round, so the difference of a round is free of drifts that are slower than a round.
    The value of a process is the median of its rounds. NaN marks a missing round; a process without rounds is NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = np.log(np.asarray(base, float)) - np.log(np.asarray(new, float))
    differences = np.where(np.isfinite(differences), differences, np.nan)
    return nan_median(differences)


def round_variance(base: ArrayLike, new: ArrayLike) -> Floats:
    """Return the variance of each process's median log-ratio, estimated from its rounds; NaN under two common rounds.

    Args:
        base: round medians, shape (..., processes, rounds), seconds; NaN marks a missing round.
        new: the same of the other side.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(np.asarray(base, float)) - np.log(np.asarray(new, float))
    return variance_of_median(np.where(np.isfinite(ratios), ratios, np.nan))


def variance_of_median(values: ArrayLike) -> Floats:
    """Return the variance of the median over the last axis, from the scatter of its values; NaN under two.

    The scatter is the median absolute deviation, scaled to a normal deviation and for few values (Croux and
    Rousseeuw, "Time-efficient algorithms for two highly robust estimators of scale", 1992): one interrupted round
    changes the median little, and so it must not change the variance of the median much.
    """
    samples = np.asarray(values, float)
    count = np.isfinite(samples).sum(axis=-1)
    apart = np.abs(samples - nan_median(samples)[..., None])
    few = np.array(_MAD_FACTORS)[np.minimum(count, len(_MAD_FACTORS) - 1)]
    factor = np.where(count < len(_MAD_FACTORS), few, count / (count - 0.8))
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = _MAD_OF_NORMAL * factor * nan_median(apart)
        return np.where(count > 1, _MEDIAN_VARIANCE * deviation**2 / count, np.nan)


def effects(
    log_ratios: ArrayLike,
    prior_variance: ArrayLike,
    prior_freedom: ArrayLike,
    between_runs: ArrayLike = 0.0,
    within: ArrayLike = np.nan,
    level: float = LEVEL,
) -> Effects:
    """Return the weighted mean log-ratio, its interval and two-sided p per cell.

    Args:
        log_ratios: one per process, shape (cells, processes); NaN where a process has none.
        prior_variance: of a process's log-ratio, from A/A records of other runs (or a named default), shape (cells,).
        prior_freedom: degrees of freedom of that variance; 0 ignores it.
        between_runs: variance of a log-ratio between runs of different days; 0 where both sides were interleaved.
        within: variance of each process's log-ratio, estimated from its rounds, shape (cells, processes); NaN: unknown.
        level: confidence level of the interval.
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 (measuring environments need no scipy)

    values = np.atleast_2d(np.asarray(log_ratios, float))
    scale = np.broadcast_to(np.asarray(prior_variance, float), values.shape[:1])
    rounds = _of_rounds(values, np.broadcast_to(np.asarray(within, float), values.shape))
    weight = _weights(values, scale[:, None], rounds)
    count, total = np.isfinite(values).sum(axis=1), weight.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(weight * values, axis=1) / total
        squares = np.nansum(weight * (values - mean[:, None]) ** 2, axis=1)
        prior = _believed(squares, count, scale, np.asarray(prior_freedom, float))
        freedom = np.maximum(count - 1, 0) + prior
        variance = np.fmax((prior * scale + squares) / freedom / total, _least_variance(rounds))
        error = np.sqrt(variance + np.asarray(between_runs, float))
        half = stdtrit(freedom, (1 + level) / 2) * error
        p = 2 * stdtr(freedom, -np.abs(mean) / error)
    testable = (count > 0) & (freedom > 0)
    blank = np.where(testable, 0.0, np.nan)
    return Effects(mean, error + blank, freedom, mean - half + blank, mean + half + blank, p + blank, count, level)


def _of_rounds(values: Floats, within: Floats) -> Floats:
    """Return the variance from rounds of each process with a value; one without it gets the mean of the others."""
    filled = np.where(np.isfinite(within), within, _nanmean(within)[:, None])
    return np.where(np.isfinite(values), filled, np.nan)


def _weights(values: Floats, scale: Floats, rounds: Floats) -> Floats:
    """Return the weight of each process: 1 up to the usual scatter of processes, less if its rounds scatter more.

    A process without a value has the weight 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = scale / np.fmax(scale, rounds)
    return np.where(np.isfinite(values), np.where(np.isfinite(share), share, 1.0), 0.0)


def _least_variance(rounds: Floats) -> Floats:
    """Return the variance of a mean of processes that differ only by their rounds; 0 if no rounds are known."""
    with np.errstate(divide="ignore"):
        precision = np.nansum(1 / rounds, axis=1)
        return np.where(precision > 0, 1 / precision, 0.0)


def _believed(squares: Floats, count: Any, variance: Floats, freedom: Floats) -> Floats:
    """Return the prior's degrees of freedom; 0 if the cell's own scatter refutes the prior (F-test)."""
    from scipy.special import fdtrc  # noqa: PLC0415 (measuring environments need no scipy)

    own_freedom = np.maximum(count - 1, 0)
    prior = np.broadcast_to(freedom, squares.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        unlikely = fdtrc(own_freedom, prior, squares / own_freedom / variance) < REFUTED
    return np.where(unlikely, 0.0, prior)


def false_discovery(p: ArrayLike) -> Floats:
    """Return Benjamini-Hochberg's adjusted p-values (1995); NaN stays NaN and counts for nothing."""
    values = np.asarray(p, float)
    adjusted = np.full(values.shape, np.nan)
    known = np.flatnonzero(np.isfinite(values))
    falling = known[np.argsort(-values[known])]
    adjusted[falling] = np.minimum.accumulate(values[falling] * len(known) / np.arange(len(known), 0, -1))
    return adjusted


def _nanmean(values: Floats) -> Floats:
    """Return the mean over the last axis without numpy's warning; NaN if there is no value."""
    count = np.isfinite(values).sum(axis=-1)
    return np.where(count > 0, np.nansum(values, axis=-1) / np.maximum(count, 1), np.nan)


def nan_median(values: Floats) -> Floats:
    """Return the median over the last axis, NaN without a value; numpy's own is ten times slower for short rows."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    ordered = np.sort(values, axis=-1)  # NaN comes last
    count = np.count_nonzero(~np.isnan(values), axis=-1, keepdims=True)
    low, high = (
        np.take_along_axis(ordered, np.clip(at, 0, values.shape[-1] - 1), axis=-1)
        for at in ((count - 1) // 2, count // 2)
    )
    empty = ~np.isfinite(values).any(axis=-1)
    return np.where(empty, np.nan, (low[..., 0] + high[..., 0]) / 2)
