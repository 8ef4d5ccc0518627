"""From a request to the plan: every experiment, runnable or skipped with its reason. Imports no torch."""

from __future__ import annotations

from runner.plan.expand import label, make_plan, missing_packages, source_versions
from runner.plan.local_request import LocalRequest, Plan, make_entry

__all__ = ["LocalRequest", "Plan", "label", "make_entry", "make_plan", "missing_packages", "source_versions"]
