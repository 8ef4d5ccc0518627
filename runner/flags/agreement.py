"""Whether the settings of flags and plan file together make sense: neither can say so alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import UsageError

if TYPE_CHECKING:
    from runner.messages import Settings


def agreeing(settings: Settings) -> Settings:
    """Return the settings if they agree with each other.

    Raises:
        UsageError: something was asked for that would have no effect.
    """
    if not settings.until_verdict:
        if settings.time_budget_s is not None:
            raise UsageError("--time-budget is spent by --until-verdict; pass both, or neither")
    elif settings.purpose == "calibration":
        raise UsageError("--until-verdict: a calibration gives no verdicts; leave it out")
    elif settings.verify == "only":
        raise UsageError("--until-verdict: --verify-only times nothing; choose one")
    elif settings.preset == "peer":
        raise UsageError("--until-verdict: the preset peer fixes how often is measured; choose another preset")
    return settings
