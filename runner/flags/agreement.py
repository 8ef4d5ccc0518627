"""Whether the settings of flags and plan file together make sense: neither can say so alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import UsageError

if TYPE_CHECKING:
    from runner.messages import Settings


def agreeing(settings: Settings) -> Settings:
    """Return the settings if they agree with each other.

    Raises:
        UsageError: something was asked for that would have no effect, or end in a timeout.
    """
    if settings.until_stable is not None and settings.until_verdict:
        raise UsageError("--until-stable and --until-verdict use --time-budget differently; use one of them")
    if settings.until_stable is not None:
        _check_until_stable(settings)
    elif settings.until_verdict:
        _check_until_verdict(settings)
    elif settings.time_budget_s is not None:
        raise UsageError("--time-budget requires --until-stable or --until-verdict; pass one of them as well")
    return settings


def _check_until_stable(settings: Settings) -> None:
    if settings.preset == "peer":
        raise UsageError("--until-stable: the preset peer always takes exactly --repeat blocks; use another preset")
    if settings.stable_budget_s >= settings.timeout_s:
        raise UsageError(
            f"--until-stable may measure for {settings.stable_budget_s:g} s, but processes are killed after "
            f"{settings.timeout_s:g} s; decrease --time-budget or increase --subprocess-timeout"
        )


def _check_until_verdict(settings: Settings) -> None:
    if settings.purpose == "calibration":
        raise UsageError("--until-verdict: a calibration has no verdicts; remove the flag")
    if settings.verify == "only":
        raise UsageError("--until-verdict and --verify-only exclude each other: the second measures no time; use one")
    if settings.preset == "peer":
        raise UsageError("--until-verdict: the preset peer fixes the number of measurements; use another preset")
