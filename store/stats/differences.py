"""What differs between two measurements, and whether that keeps them from being compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MUST_AGREE = (
    "machine_id",
    "threads",
    "dtype",
    "batch_size",
    "requested_batch_size",
    "loss",
    "optimizer",
    "start",
    "policy",
    "iterations_per_run",
    "test",
    "accelerator",
    "accelerator_model",
    "weights",
    "randomize_input",
    "include_transfers",
    "pure_wall_time",
    "collect_full_output",
)
"""Fields that keep two times from being compared where they differ; versions may, that is the question."""

MAY_BE_UNKNOWN = frozenset({"policy"})
"""Of these: records from before the field was written are compared all the same, and are suspected at most."""


class Difference(NamedTuple):
    """One field and its value on both sides; None is unknown, which is never equal to anything known."""

    field: str
    old: Any
    new: Any


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Return all fields that differ, in the order of the first mapping, then of the second."""
    fields = dict.fromkeys([*old, *new])
    return [Difference(field, old.get(field), new.get(field)) for field in fields if old.get(field) != new.get(field)]


def incomparable(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Name the first field that must agree and does not, with both values; None where all agree."""
    for found in differences(old, new):
        unknown = found.field in MAY_BE_UNKNOWN and None in (found.old, found.new)
        if found.field in MUST_AGREE and not unknown:
            return f"{found.field} differs: {_word(found.old)} and {_word(found.new)}"
    return None


def _word(value: Any) -> str:
    return "unknown" if value is None else str(value)
