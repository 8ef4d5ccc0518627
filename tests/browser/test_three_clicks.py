"""From Overview to the answer of each question of a review, in three clicks at most, with the number that SQL gives.

Thorough: tests/dashboard/test_questions.py asks the pages the same without a browser.
"""

from __future__ import annotations

import re

import pytest
from harness import settled
from playwright.sync_api import expect

from dashboard.formatting import ratio
from store import query

pytestmark = pytest.mark.thorough
MATRIX = "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
NIGHTLY, FALLBACKS = "3c8dcd8d-5463-4b62-972f-1ab8e6356e96", "e065a9cb-9d6c-4852-956d-b8d1b4592a62"


@pytest.fixture
def ask(review_store):
    def asked(sql: str, run: str) -> list[dict]:
        with query.connect(query.current_snapshot(review_store)) as con:
            return query.fetch(con, sql, {"run": run})

    return asked


@pytest.fixture
def overview(page, review_url):
    def opened(run: str):
        page.goto(f"{review_url}/?run={run}")
        settled(page, "Overview")
        return page

    return opened


def go(page, title):
    """One click: a link of the navigation."""
    page.get_by_test_id("stToolbar").get_by_role("link", name=title, exact=True).click()
    settled(page, title)


def said(page):
    return page.get_by_test_id("stMain")


def test_who_is_slower_than_inductor_and_by_how_much_in_one(overview, ask):
    slower = ask(
        """SELECT model, speedup FROM speedups('inductor', $run) WHERE run_id = $run AND test = 'eval'
        AND variant = 'openxla+lazytensor' AND speedup_high < 1 ORDER BY speedup""",
        MATRIX,
    )
    page = overview(MATRIX)
    go(page, "Speedup")
    first = re.escape(f"({slower[0]['model']} {ratio(slower[0]['speedup'])}")
    sentence = re.compile(rf"openxla\+lazytensor is slower than inductor on {len(slower)} of 12 models {first}")
    expect(said(page).get_by_text(sentence).first).to_be_visible()


def test_what_got_worse_since_the_run_before_in_one(overview, ask):
    broken = ask(
        """SELECT count(*) AS n FROM results WHERE run_id = $run AND model = 'sorts_out_duplicates' AND NOT ran""",
        NIGHTLY,
    )[0]["n"]
    page = overview(NIGHTLY)
    go(page, "Compare")
    expect(said(page).get_by_text(re.compile(rf"{broken} newly failing")).first).to_be_visible()


def test_which_op_to_lower_first_in_one(overview, ask):
    first = ask(
        """SELECT op FROM fallback_by_op WHERE run_id = $run AND klass <> 'host_read'
        ORDER BY time_share DESC LIMIT 1""",
        FALLBACKS,
    )[0]["op"]
    page = overview(FALLBACKS)
    go(page, "Fallback ops")
    expect(said(page).get_by_text(re.compile(rf"{first} is the op to lower first")).first).to_be_visible()


def test_who_pays_its_compile_time_back_and_when_in_two(overview, ask):
    never = ask(
        """SELECT count(*) AS n FROM break_evens('inductor', $run) WHERE run_id = $run AND test = 'eval'
        AND variant = 'openxla+dynamo' AND break_even = 'never'""",
        MATRIX,
    )[0]["n"]
    page = overview(MATRIX)
    go(page, "Compile time")
    said(page).get_by_test_id("stButtonGroup").get_by_text("Break-even", exact=True).click()
    sentence = re.compile(
        rf"openxla\+dynamo is ahead of inductor, compiling included, on \d+ of \d+ models: .*never on {never}"
    )
    expect(said(page).get_by_text(sentence).first).to_be_visible()
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible()


def test_what_failed_in_none_and_why_in_two(overview, ask):
    failed = ask(
        """SELECT model, test, variant, reason FROM results
        WHERE run_id = $run AND NOT ran AND status NOT IN ('skipped', 'not_run', 'never_steady', 'verify_only')
        ORDER BY model, test, variant""",
        NIGHTLY,
    )
    page = overview(NIGHTLY)
    expect(said(page).get_by_text(re.compile(rf"{len(failed)} failed")).first).to_be_visible()
    said(page).get_by_role("button", name=re.compile(rf"^{len(failed)} failed")).click()
    settled(page, "Runs & jobs")
    why = page.get_by_test_id("stDataFrame").nth(2).locator("canvas td").all_text_contents()
    assert {row["reason"].splitlines()[0] for row in failed[:1]} & {text.splitlines()[0] for text in why if text}
