"""Whose time moved a speedup: the same words on every page, from real runs whose baseline moved."""

import re

import pytest

from dashboard.formatting import TIMES
from dashboard.ui import answers
from store import query
from store.stats.geomean import judge_speedup
from tests.dashboard.opened import seen, tables, text

BEFORE, AFTER = "3c8dcd8d-5463-4b62-972f-1ab8e6356e96", "9f8ed5b7-d73d-4573-a4f0-ed97573cfbb4"
"""Two nights of tests/data/review: inductor's 40 ms became 7 ms, eager stood still, its speedup fell 863 → 129."""


class _Row:
    def __init__(self, **columns):
        self.__dict__.update(columns)


def row(backend, baseline, n=8):
    """A row of `geomean_changes` with the factors of both parts, each known to 2 %."""
    ends = {"": 1.0, "_low": 0.98, "_high": 1.02}
    parts = {
        f"by_{name}{end}": value * by
        for name, value in (("backend", backend), ("baseline", baseline))
        for end, by in ends.items()
    }
    return _Row(n=n, geomean_before=1.0, geomean_after=backend * baseline, **parts)


@pytest.mark.parametrize(
    ("backend", "baseline", "words", "sentence"),
    [
        (0.8, 1.0, "▼ slower", f"its own time became 1.25{TIMES} slower"),
        (1.0, 0.8, "≈ inductor faster", "inductor became faster, its own time is unchanged"),
        (1.0, 1.25, "≈ inductor slower", "inductor became slower, its own time is unchanged"),
        (0.8, 0.8, "▼ slower, inductor faster", f"its own time became 1.25{TIMES} slower, inductor became faster"),
        (1.0, 1.0, "≈ unchanged", "its own time is unchanged"),
    ],
)
def test_a_change_of_a_speedup_is_worded_as_what_moved(backend, baseline, words, sentence):
    change = judge_speedup(row(backend, baseline), 0.03)
    assert answers.change_word(change, "inductor") == words
    assert answers.change_sentence(change, "inductor") == sentence


def test_eager_is_not_blamed_for_a_baseline_that_became_faster(review_store):
    at = seen(review_store, unfolded=["numbers"], run=[AFTER], suite=["troubled"], test=["eval"])
    words = text(at).replace("\\", "")
    moved = rf"\*\*inductor\*\* :green\[▲ 7.29{TIMES} faster\] in eval on cpu, troubled \(n = \d+\); openxla\+dynamo: "
    assert re.search(moved, words)
    assert f"openxla+dynamo: no change shown, so only the ratio moved (openxla+dynamo 91.08 → 29.67{TIMES})" in words
    assert "slower]" not in words.partition("Since")[2].partition("\n")[0]
    change = tables(at)[0].set_index("series")["change"]
    assert change["openxla+dynamo"] == f"? inductor faster, 91.08 → 29.67{TIMES}"
    assert change["eager"] == f"? ambiguous, 863 → 129{TIMES}"


def test_no_mean_is_called_slower_of_which_compare_calls_no_cell_slower(review_con):
    from store.compare import Side, compare

    found = compare(review_con, Side(text="a", run_id=BEFORE), Side(text="b", run_id=AFTER))
    worse = {cell.variant for cell in found.of("slower")}
    rows = query.fetch(
        review_con,
        "SELECT * FROM geomean_changes('inductor', 'same', $a, $b) WHERE suite = 'troubled' AND n > 0",
        {"a": BEFORE, "b": AFTER},
    )
    judged = {row["variant"]: judge_speedup(_Row(**row), 0.134) for row in rows}
    assert {name for name, change in judged.items() if change and change.backend.word == "slower"} <= worse
    assert judged["inductor"].backend.word == "faster"
