"""Dumps and profiles, each in an extra process that is not timed."""

from __future__ import annotations

from runner.instrument.limit import Limit, salvaged
from runner.instrument.passes import Pass, notes, passes

__all__ = ["Limit", "Pass", "notes", "passes", "salvaged"]
