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
    if settings.until_stable is None:
        if settings.time_budget_s is not None:
            raise UsageError("--time-budget is spent by --until-stable; pass both, or neither")
    elif settings.preset == "peer":
        raise UsageError("--until-stable: the preset peer takes exactly --repeat blocks; choose another preset")
    elif settings.stable_budget_s >= settings.timeout_s:
        raise UsageError(
            f"--until-stable may measure for {settings.stable_budget_s:g} s, and a process is ended after "
            f"{settings.timeout_s:g} s; choose a smaller --time-budget, or a larger --subprocess-timeout"
        )
    return settings
