"""Dumps and profiles, each in an extra process that is not timed."""

from __future__ import annotations

from runner.instrument.passes import Limit, Pass, notes, passes, salvaged

__all__ = ["Limit", "Pass", "notes", "passes", "salvaged"]
