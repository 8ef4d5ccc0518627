"""What a test of faults tried and what it cost, kept for the table of docs/reliability.md: `make faults`."""

from __future__ import annotations

import json
import os
from pathlib import Path


def tell(fault: str, tries: int, message: str, *, lost: int = 0, doubled: int = 0, orphaned: int = 0, leaked: int = 0):
    """Keep one row, where somebody asked for the table; the test has asserted what it says."""
    place = os.environ.get("XLABENCH_FAULTS")
    row = {
        "fault": fault,
        "tries": tries,
        "lost": lost,
        "doubled": doubled,
        "orphaned": orphaned,
        "leaked": leaked,
        "message": message,
    }
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
