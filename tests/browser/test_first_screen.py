"""Answers are on the first screen: Overview's matrix, Compare's findings, a review's form; charts on a phone."""

import pytest
from harness import PATHS, settled

from tests.tiers import first_of

MATRIX = "run=2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
SIDES = "a=46cd25f5-818b-4138-ab42-612be2fabda1&b=45032836-1642-4ad1-b5fb-06b1800d327d"
SEEN_PX = 100
"""How much of an answer is seen at least."""


@pytest.mark.parametrize(
    ("path", "query", "size", "answer"),
    first_of(
        [
            ("/speedup", MATRIX, (390, 844), "[data-testid=stVegaLiteChart]"),
            ("/compare", f"{SIDES}&review=true", (1440, 900), ".st-key-finding [data-testid=stForm]"),
            ("/compare", SIDES, (1440, 900), "[data-testid=stDataFrame]"),
            ("/", MATRIX, (1440, 900), ".xl-matrix"),
            ("/trends", "", (390, 844), "[data-testid=stVegaLiteChart]"),
        ],
    ),
)
def test_an_answer_stands_on_the_first_screen(page, review_url, path, query, size, answer):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{review_url}{path}?{query}")
    settled(page, PATHS[path])
    found = page.locator(answer).first
    found.wait_for()
    assert found.bounding_box()["y"] + SEEN_PX <= size[1]
