"""What a page says where samples are missing because `xlabench prune` took them out of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard import data
from dashboard.words import missing

if TYPE_CHECKING:
    from dashboard.view import View


def sentence(view: View) -> str | None:
    """Return when the samples of the shown run were pruned, and where they are; None where they were not."""
    pruned_at = data.rows(view.snapshot, "pruned_samples", view.selection)["pruned_at"].iloc[0]
    if missing(pruned_at):
        return None
    return (
        f"Samples pruned on {pruned_at:%Y-%m-%d}: the index keeps the results of this run. Every timed block is still "
        "in `results.jsonl.zst` of its folder."
    )
