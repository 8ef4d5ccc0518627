"""A chart as a slide and the page as a deck: what they say, and that nothing of them is cut."""

import re

from harness import PATHS, complaints, settled
from PIL import Image

MATRIX = "run=2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
OUTSIDE = """() => {
    return [...document.querySelectorAll('text')].filter(text => text.textContent.trim()).filter(text => {
        const box = text.getBoundingClientRect(), frame = text.closest('section').getBoundingClientRect();
        return box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom || box.top < frame.top;
    }).map(text => text.textContent);
}"""


def test_a_chart_is_saved_as_a_slide_and_the_page_as_a_deck(page, review_url, tmp_path):
    found = complaints(page)
    page.goto(f"{review_url}/speedup?{MATRIX}")
    settled(page, PATHS["/speedup"])
    chart = page.get_by_test_id("stVegaLiteChart").first
    chart.locator("svg").wait_for()
    verdict = page.locator("h4").first.inner_text()
    chart.hover()
    page.wait_for_timeout(200)  # the scrolling to the chart, which hides the bar, is over
    chart.hover(position={"x": 40, "y": 40})
    for form in ("PNG", "SVG"):
        _saved(page, page.locator("#xl-slide").get_by_role("button", name=form), tmp_path / form)
    assert Image.open(tmp_path / "PNG").size == (3200, 1800)
    page.get_by_role("button", name="Share").click()
    _saved(page, page.get_by_role("button", name="Save the deck"), tmp_path / "deck.html")
    svg = (tmp_path / "SVG").read_text()
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)", svg))
    for told in ("timm_models+huggingface+torchbench", "torch 2.9.1", "96 results", "Speedup \u00b7 "):
        assert told in words
    deck = (tmp_path / "deck.html").read_text()
    assert deck.count("<section>") == 1 + page.get_by_test_id("stVegaLiteChart").count()
    assert verdict in re.sub(r"\s+", " ", " ".join(re.findall(r"<text[^>]*>([^<]*)", deck)))
    assert found == []
    page.goto((tmp_path / "deck.html").as_uri())
    assert page.evaluate(OUTSIDE) == []


def _saved(page, button, path):
    with page.expect_download() as started:
        button.click()
    started.value.save_as(path)
