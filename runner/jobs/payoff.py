"""The request that measures results of a run without one of their fallback ops, beside the same with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from runner.jobs import rerun
from runner.jobs.offers import exactly
from runner.jobs.request import RunRequest
from runner.plan.entries import make_entry
from runner.plan.side_by_side import confirming

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.record import PlanEntry, RunFile


def without(file: RunFile, cells: Iterable[tuple[str, str]], op: str) -> RunRequest | None:
    """Return the request, measured as a confirmation is; None where the plan of the run holds none of the results.

    Args:
        file: the run's.
        cells: experiment and environment of each result.
        op: without `aten::`.
    """
    found = [entry for entry in rerun.planned(file, cells) if entry.config.xla and not entry.config.torch_xla2]
    entries = [each for entry in found for each in (entry, _replaced(entry, op))]
    if not entries:
        return None
    # One process of each would tell no interval, and sides that are not interleaved no payoff.
    settings = msgspec.to_builtins(confirming(file.settings))
    return exactly(entries, rerun.rerun_settings(settings), RunRequest())


def _replaced(entry: PlanEntry, op: str) -> PlanEntry:
    config = msgspec.structs.replace(entry.config, without_fallback=(op,))
    return make_entry(config, entry.environment, None, entry.notes, entry.in_spite_of)
