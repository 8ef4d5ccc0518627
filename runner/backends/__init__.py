"""The backends by their (xla, dynamo) pair; a new one is a file and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.backends.eager import Eager
from runner.backends.inductor import Inductor
from runner.backends.openxla_dynamo import OpenXlaDynamo
from runner.backends.openxla_lazytensor import OpenXlaLazyTensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.backends.base import Backend

BACKENDS: Mapping[tuple[str | None, str | None], Backend] = {
    (None, None): Eager(),
    (None, "inductor"): Inductor(),
    ("PJRT", None): OpenXlaLazyTensor(),
    ("PJRT", "openxla"): OpenXlaDynamo(),
}
"""Pairs that are missing here make no sense (inductor with xla, openxla without)."""


def backend_of(xla: str | None, dynamo: str | None) -> Backend:
    """Return the backend of a pair; the plan holds no other pairs."""
    return BACKENDS[xla, dynamo]
