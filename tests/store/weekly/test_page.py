"""The review as one HTML file: charts, no script, nothing from outside, and names that stay text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from store import query
from store.ingest import ingest
from store.report.render import html_page
from store.report.table import Column, Report, Table
from store.weekly import figures, weekly_report
from tests.store import weekly_runs

EVIL = '<script>alert("x")</script>&\'"'


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    weekly_runs.write_weeks(folder)
    with query.connect(ingest([folder], folder / "store").snapshot) as con:
        return weekly_report(con).render("html")


class Tags(HTMLParser):
    """Counts tags, and checks that each is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.addresses = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "line", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    found = Tags()
    found.feed(text)
    assert found.open == []
    return found


def test_the_page_needs_nothing_from_outside(page):
    found = parsed(page)
    assert {"script", "link", "img", "iframe"}.isdisjoint(found.seen)
    assert all(address.startswith("https://github.com/") for address in found.addresses)
    assert found.addresses
    assert "default-src 'none'" in page
    assert "@import" not in page
    assert "url(" not in page


def test_the_page_knows_light_and_dark(page):
    assert "prefers-color-scheme: dark" in page
    assert "color-scheme: light dark" in page


def test_there_is_a_chart_of_changes_counts_and_speedups(page):
    titles = re.findall(r"<figcaption>(.*?)<small>", page)
    assert titles == [
        "Slower and faster: last time / time now",
        "Passing, eval, Example CPU",
        "Passing, train, Example CPU",
        "Speedup over inductor, eval, Example CPU",
        "Speedup over inductor, train, Example CPU",
    ]
    assert page.count('role="img"') == len(titles)


def test_the_answer_comes_before_the_counts_and_these_before_the_charts(page):
    places = [page.index(part) for part in ('class="answer"', "<h2>Passing on", '<div class="figures">', "<h2>Newly")]
    assert places == sorted(places)


def test_names_are_text():
    column = Column(title=EVIL, definition=EVIL)
    report = Report(
        title=EVIL,
        answer=(EVIL,),
        notes=(EVIL,),
        tables=(
            Table(
                title=EVIL,
                columns=(column, Column(title="link", link=True)),
                rows=((EVIL, f"https://github.com/{EVIL}"), (f"https://example.org/{EVIL}", f"javascript:{EVIL}")),
            ),
        ),
    )
    found = parsed(html_page(report))
    assert "script" not in found.seen
    assert found.addresses == [f"https://github.com/{EVIL}"]
    drawn = figures.lines(EVIL, [EVIL, "b"], [figures.FigureLine(EVIL, "#000000", [1.0, 2.0])])
    drawn += figures.ratios(EVIL, [figures.FigureRatio(EVIL, 0.5, 0.7, 0.9, "bad", certain=True)])
    assert "script" not in parsed(drawn).seen


def test_a_chart_bears_single_points_gaps_and_equal_values():
    for points in ([1.0], [None, 2.0], [3.0, 3.0], [None, None]):
        for log in (True, False):
            drawn = figures.lines(
                "t", [str(at) for at in range(len(points))], [figures.FigureLine("a", "#000000", points)], log=log
            )
            assert "nan" not in drawn
            assert drawn.count("<circle") == sum(point is not None for point in points) + 1


def test_suspected_dots_are_hollow():
    drawn = figures.ratios("t", [figures.FigureRatio("a", 0.5, 0.7, 0.9, "bad", certain=False)])
    assert 'class="bad hollow"' in drawn


def test_an_axis_of_ratios_is_centred_on_one():
    drawn = figures.ratios("t", [figures.FigureRatio("a", 0.5, 0.7, 0.9, "bad", certain=True)])
    [at] = [float(x) for x in re.findall(r'<line class="one" x1="([\d.]+)"', drawn)]
    assert at == pytest.approx((380 + figures.WIDE - 16) / 2, abs=0.1)
