"""Write docs/reliability.md from what the tests of faults told: `make faults`."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
COUNTS = ("tries", "lost", "doubled", "orphaned", "leaked")
COLUMNS = ("fault", *COUNTS, "message")
HEAD = """# What happens when something breaks?

`make faults` breaks xlabench on purpose, and this table shows what came of it. A test asserts each row, mostly under
`tests/faults`, and `make test` runs a short form of each. *Lost* and *doubled* count records or jobs, where the test
counts them (else `-`). *Orphaned* counts the processes that outlive whoever started them, and *leaked* the files that
stay in the temporary folder. *Random* inputs have a fixed seed.

The parts of `make faults` ended on {date}, on {machine}. The load average was {load:.0f}.
A part that finds a fault runs again once that is mended; the table has its last run.

"""


def main(told: Path) -> None:
    """Write the table, and print it."""
    rows = summed(json.loads(line) for line in told.read_text(encoding="utf-8").splitlines())
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    ordered = sorted(rows, key=lambda row: str(row["fault"]))
    cells = [["-" if row[name] is None else str(row[name]) for name in COLUMNS] for row in ordered]
    lines += [f"| {' | '.join(row)} |" for row in cells]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    machine = f"{kernel}, {os.cpu_count()} cores, {memory:.0f} GiB"
    text = (
        HEAD.format(date=f"{datetime.now(UTC):%Y-%m-%d}", machine=machine, load=os.getloadavg()[2])
        + "\n".join(lines)
        + "\n"
    )
    DOCUMENT.write_text(text, encoding="utf-8")
    print("\n".join(lines))


def summed(told: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each fault and message; what was tried in several parts is added up."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in told:
        found = rows.setdefault((row["fault"], row["message"]), row | dict.fromkeys(COUNTS))
        for name in COUNTS:
            if row[name] is not None:
                found[name] = (found[name] or 0) + row[name]
    return list(rows.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
