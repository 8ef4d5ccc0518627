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
        raise UsageError("--until-stable and --until-verdict spend one --time-budget in two ways; choose one")
    if settings.until_stable is not None:
        _check_until_stable(settings)
    elif settings.until_verdict:
        _check_until_verdict(settings)
    elif settings.time_budget_s is not None:
        raise UsageError("--time-budget is spent by --until-stable or --until-verdict; pass one of them with it")
    return settings


def _check_until_stable(settings: Settings) -> None:
    if settings.preset == "peer":
        raise UsageError("--until-stable: the preset peer takes exactly --repeat blocks; choose another preset")
    if settings.stable_budget_s >= settings.timeout_s:
        raise UsageError(
            f"--until-stable may measure for {settings.stable_budget_s:g} s, and a process is ended after "
            f"{settings.timeout_s:g} s; choose a smaller --time-budget, or a larger --subprocess-timeout"
        )


def _check_until_verdict(settings: Settings) -> None:
    if settings.purpose == "calibration":
        raise UsageError("--until-verdict: a calibration gives no verdicts; leave it out")
    if settings.verify == "only":
        raise UsageError("--until-verdict: --verify-only times nothing; choose one")
    if settings.preset == "peer":
        raise UsageError("--until-verdict: the preset peer fixes how often is measured; choose another preset")
