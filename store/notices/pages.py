"""Addresses of pages that show what a notice tells, relative to the dashboard's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping


def model_page(run_id: str, row: Mapping[str, Any]) -> str:
    """Return the page of a result: `row` names suite, model and test."""
    return f"model?{urlencode({'run': run_id, **{name: row[name] for name in ('suite', 'model', 'test')}})}"


def compare_page(old: str, new: str) -> str:
    """Return the page that compares two runs."""
    return f"compare?{urlencode({'run': new, 'a': old, 'b': new})}"
