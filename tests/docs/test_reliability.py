"""docs/reliability.md, which `make faults` writes, shows what was asked for, and that nothing was lost."""

import re
from pathlib import Path

import pytest

from tests.faults import hostile
from tools import reliability

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "reliability.md").read_text().splitlines()
    if line.startswith("| ")
]
ASKED = {
    "kill -9 of an ingest": 30,
    "kill -9 of a run": 12,
    "kill -9 of `xlabench worker` at any moment of its start": 50,
    "kill -9 of `xlabench serve` at any moment of its start": 50,
    "hostile lines of a results.jsonl": 10_000,
    **{f"hostile files: {kind}": 500 for kind in hostile.FILES},
}
"""By the beginning of a row: how often at least."""


def test_nothing_is_lost_doubled_orphaned_or_leaked():
    head, *rows = ROWS
    assert head == ["fault", "tries", "lost", "doubled", "orphaned", "leaked", "message"]
    assert len(rows) > 50
    assert [row for row in rows if not {*row[2:4]} <= {"0", "-"} or row[4:6] != ["0"] * 2] == []
    assert [row for row in rows if int(row[1]) < 1 or not row[6]] == []
    assert [row[0] for row in rows if row[0].startswith("kill") and row[2:4] != ["0"] * 2] == []


@pytest.mark.parametrize("fault", ASKED)
def test_each_was_tried_as_often_as_asked(fault):
    tried = sum(int(row[1]) for row in ROWS[1:] if row[0] == fault or row[0].startswith(f"{fault},"))
    assert tried >= ASKED[fault]


def test_what_was_read_and_what_was_rejected_add_up():
    rows = [row for row in ROWS if row[0].startswith("hostile ")]
    assert len({row[0] for row in rows}) == 1 + len(hostile.FILES)
    assert [row for row in rows if int(row[1]) != sum(map(int, re.findall(r"(\d+) [a-z]", row[6])))] == []


def test_rows_of_one_fault_and_message_are_added_up_and_unknown_counts_stay_unknown():
    told = [
        {"fault": "a", "tries": 2, "lost": 0, "doubled": None, "orphaned": 0, "leaked": 0, "message": "well"},
        {"fault": "a", "tries": 3, "lost": None, "doubled": None, "orphaned": 1, "leaked": 0, "message": "well"},
        {"fault": "a", "tries": 1, "lost": 0, "doubled": None, "orphaned": 0, "leaked": 0, "message": "badly"},
    ]
    first, second = reliability.summed(told)
    assert first == told[0] | {"tries": 5, "orphaned": 1}
    assert second == told[2]
