"""The weekly review as one HTML file: it opens from disk, asks for nothing, fits the window, light and dark."""

import json
from pathlib import Path

import pytest

from tests.tiers import first_of


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    from store import query
    from store.ingest import ingest
    from store.weekly import weekly_report
    from tests.store.weekly_runs import write_weeks

    home = tmp_path_factory.mktemp("review")
    write_weeks(home)
    with query.connect(ingest([home], home / "store").snapshot) as con:
        (home / "review.html").write_text(weekly_report(con).render("html"))
    return home / "review.html"


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """The review of two runs of the demo, of which a third run confirms two cells: its table has the most columns."""
    from store import query
    from store.ingest import ingest
    from store.weekly import weekly_report

    home = tmp_path_factory.mktemp("confirmed")
    runs = Path(__file__).resolve().parents[2] / "demo" / "runs"
    folders = [runs / name for name in ("nightly-04", "nightly-05", "confirmation")]
    old, new = (json.loads((folder / "run.json").read_text())["run"]["run_id"] for folder in folders[:2])
    with query.connect(ingest(folders, home / "store").snapshot) as con:
        (home / "review.html").write_text(weekly_report(con, [new], since=old).render("html"))
    return home / "review.html"


@pytest.mark.parametrize(("scheme", "width"), first_of([("dark", 700), ("light", 1440)]))
def test_it_opens_without_a_network_and_fits_the_window(page, review, scheme, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    told, asked = [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(review.as_uri())
    assert page.get_by_role("heading", level=1).inner_text() == "Review of 2025-10-16: nightly"
    assert told == []
    assert asked == [review.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")


def test_no_label_of_a_chart_leaves_its_picture(page, review):
    page.goto(review.as_uri())
    outside = page.evaluate(
        """[...document.querySelectorAll('svg text')].filter(text => {
            const box = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
        }).map(text => text.textContent)"""
    )
    assert outside == []


_CUT = """[...document.querySelectorAll('.scroll')].filter(part => part.scrollWidth > part.clientWidth + 1)
    .map(part => part.parentElement.querySelector('h2').textContent)"""


@pytest.mark.thorough
def test_a_table_with_a_confirming_run_is_not_cut(page, confirmed):
    page.goto(confirmed.as_uri())
    said = "1 experiment is suspected to be slower; 2 experiments are faster."
    assert page.locator("p.verdict").inner_text() == said
    assert page.get_by_text("confirming run").is_visible()
    assert page.evaluate(_CUT) == []


def test_no_column_is_cut_and_a_command_is_opened_by_a_click(page, review):
    page.goto(review.as_uri())
    assert "newly failing" in page.locator("p.verdict").inner_text()
    assert page.evaluate(_CUT) == []
    command = page.locator("details code").first
    assert not command.is_visible()
    page.locator("details summary").first.click()
    assert command.is_visible()
