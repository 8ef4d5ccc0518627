"""What is said first: against how many operators a series loses and wins, and how many tell nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard import answers
from dashboard.answers import SECTION
from dashboard.rows import each, sections
from dashboard.words import escape, listed, ratio, shortened

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_NAMED = 2
_LAST = "eager"


def speedup_sentences(view: View, rows: pd.DataFrame) -> list[str]:
    """Return a sentence per test, accelerator and series that is compared with the baseline, XLA's first."""
    baseline = view.selection.baseline
    if rows.empty:
        return []
    compared = answers.compared(rows[rows["speedup"].notna()], baseline)
    if compared.empty:
        return [answers.no_speedup(rows, baseline)]
    found = [
        (_rank(keys, part), _sentence(keys, part, baseline)) for keys, part in sections(compared, [*SECTION, "series"])
    ]
    return [sentence for _, sentence in sorted(found, key=lambda each: each[0])]


def _rank(keys: tuple[str, ...], part: pd.DataFrame) -> tuple[bool, bool, tuple[str, ...]]:
    backend = str(part["backend"].iloc[0])
    return not backend.startswith("openxla"), backend == _LAST, keys


def _sentence(keys: tuple[str, ...], part: pd.DataFrame, baseline: str) -> str:
    verdicts = part["verdict"]
    slower = part[verdicts == "slower"].sort_values("speedup")
    worst = [f"{escape(shortened(row.model))} {ratio(row.speedup)}" for row in each(slower.head(_NAMED))]
    named = f" ({listed(worst)}{' …' if len(slower) > _NAMED else ''})" if worst else ""
    numbers = {
        "slower": len(slower),
        "faster": int((verdicts == "faster").sum()),
        "same": int((verdicts == "same").sum()),
        "unknown": int(verdicts.isna().sum()),
    }
    said = answers.fares(keys[2], baseline, numbers, "operator", named, "no verdict")
    return f"In {escape(keys[0])} on {escape(keys[1])} {said}"
