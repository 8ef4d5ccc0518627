"""What a plan with replaced ops needs of its run: it is no benchmark, its answers are verified, something can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from runner.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.settings import Settings
    from store.record import PlanEntry


def settled(settings: Settings, entries: Iterable[PlanEntry]) -> Settings:
    """Return the settings of the run; where an op is replaced, its records are no results of the store.

    Raises:
        UsageError: the run is for something else, or none of its experiments can do without its fallback ops.
    """
    replaced = [entry for entry in entries if entry.config.without_fallback]
    if not replaced:
        return settings
    if settings.purpose not in ("benchmark", "payoff"):
        raise UsageError(f"--without-fallback: not supported in a {settings.purpose}; remove it, or use `xlabench run`")
    if settings.verify == "only":
        raise UsageError("--without-fallback measures time; use --verify instead of --verify-only")
    if settings.until_verdict:
        raise UsageError("--until-verdict needs verdicts, which --without-fallback does not produce")
    if not any(entry.runnable for entry in replaced):
        raise UsageError(str(replaced[0].skip_reason))
    return msgspec.structs.replace(settings, purpose="payoff", verify="with")
