"""The review as one HTML file: charts, no script, nothing from outside, and names that stay text."""

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise

import pandas as pd
import pytest

from store import query
from store.charts import export, history
from store.charts.ratios import change_dots
from store.report.render import Figure, html_page
from store.report.table import Column, Report, Step, Table
from store.weekly import weekly_report
from store.weekly.figures import figures, paired_models
from store.weekly.lanes import lanes
from store.weekly.speed import speed_of
from tests.store import factory
from tests.store.factory import later

EVIL = '<script>alert("x")</script>&\'"'


@pytest.fixture(scope="module")
def page(weeks):
    with query.connect(query.current_snapshot(weeks / "store")) as con:
        return weekly_report(con).render("html")


class Tags(HTMLParser):
    """Counts tags, and checks that each is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.addresses = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
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
    assert "xlink:href" not in page


def test_the_name_of_a_row_stays_visible_where_its_table_is_scrolled_sideways(page):
    assert ".held { position: sticky; left: 0; }" in page
    [rows] = re.findall(r"<h2>Slower and faster</h2>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    held = re.findall(r'<td class="\w+ held">\s*(.*?)\s*</td>', rows)
    assert len(held) == rows.count("<tr>") > 0
    assert set(held) <= set(factory.MODELS)


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
        alarms=(EVIL,),
        notes=(EVIL,),
        steps=(Step(EVIL, EVIL),),
        tables=(
            Table(
                title=EVIL,
                columns=(column, Column(title="link", link=True), Column(title="reproduce")),
                rows=((EVIL, f"https://github.com/{EVIL}", EVIL), (EVIL, f"javascript:{EVIL}", EVIL)),
            ),
        ),
    )
    page = html_page(report, [Figure(EVIL, EVIL, lambda: changes([0.7], EVIL))], verdict=EVIL)
    found = parsed(page)
    assert "script" not in found.seen
    assert found.addresses == [f"https://github.com/{EVIL}"]
    # Nothing but the style, which is ours, and the charts of vl-convert goes into the page as it is.
    assert page.count("&lt;script&gt;") == page.count("script&gt;alert")
    assert page.count("&lt;script&gt;") > 15


def test_names_in_charts_are_text():
    drawn = svg(changes([0.7], EVIL)) + svg(line([1.0, 2.0], "values", EVIL))
    assert "script" not in parsed(drawn).seen
    assert drawn.count("&lt;script&gt;") == 2


def test_without_the_extra_the_page_says_what_its_charts_need(monkeypatch):
    for name in ("altair", "vl_convert"):
        with monkeypatch.context() as missing:
            missing.setitem(sys.modules, name, None)
            page = html_page(Report(title="a", tables=(), notes=("b",)), [Figure("f", "c", lambda: changes([0.7]))])
        assert "<li>Charts need Altair and vl-convert: pip install &#39;xlabench[plots]&#39;.</li>" in page
        assert "<li>b</li>" in page
        assert "<figure" not in page


def changes(values, name="a", *, certain=True):
    rows = [
        {"name": f"{name}{place}", "word": "slower", "low": value * 0.9, "value": value, "high": value * 1.1}
        for place, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows).assign(certain=certain, label="")
    return change_dots(frame, list(frame["name"]), "Last time / time now")


def line(points, kind, name="a", seconds=86400):
    started = pd.date_range("2026-11-25 10:58:33", periods=len(points), freq=f"{seconds}s")
    frame = pd.DataFrame({"started": started, "variant": name, "backend": name, "value": points}, dtype=object)
    return history.lines(frame.astype({"started": "datetime64[ns]", "value": float}), "Value", kind=kind)


def svg(drawing):
    return export.svg(drawing, 600)


def marks_in(drawn):
    """Return the elements of the points of a chart."""
    return re.findall("<path[^>]*>", "".join(re.findall(r"mark-symbol role-mark[^>]*[^/]>(.*?)</g>", drawn)))


def test_means_over_other_models_than_before_are_hollow(stored_runs):
    """Without the slow model a mean rises though no backend became faster."""

    def night(models):
        return [
            later(model=model, backend=backend, per_iter=[seconds] * 8)
            for model, seconds in models.items()
            for backend, seconds in (("inductor", 0.01), ("openxla+dynamo", seconds))
        ]

    def drawn(*nights):
        con = stored_runs(*map(night, nights))
        reviewed = lanes(con)
        [chart] = [
            figure
            for figure in figures(con, reviewed, speed_of(con, reviewed), "inductor")
            if figure.title.startswith("Speedup over")
        ]
        return "hollow" in chart.caption, list(chart.draw().rows["step"])

    both = {"fast": 0.005, "slow": 0.02}
    assert drawn(both, both) == (False, [False] * 2)
    hollow, steps = drawn(both, both, {"fast": 0.005})
    assert (hollow, sorted(steps)) == (True, [False, False, True])


@pytest.mark.parametrize("points", [[1.0], [None, 2.0], [3.0, 3.0], [None, None]])
@pytest.mark.parametrize("kind", ["whole", "ratio"])
def test_a_chart_bears_single_points_gaps_and_equal_values(points, kind):
    drawn = svg(line(points, kind))
    assert "NaN" not in drawn
    assert len(marks_in(drawn)) == sum(point is not None for point in points)


@pytest.mark.parametrize(("points", "ticks"), [([0, 0, 1], ["0", "1"]), ([4, 4], ["4"]), ([0, 2], ["0", "1", "2"])])
def test_an_axis_of_counts_has_whole_numbers_only(points, ticks):
    texts = re.findall(r"<text[^>]*>([^<]*)<", svg(line(points, "whole")))
    assert [text for text in texts if text.isdigit()] == ticks


def test_moments_of_a_time_axis_are_apart_and_none_is_cut_off_at_its_end():
    drawn = svg(line([3.0] * 5, "whole", seconds=95))
    label = r'<text text-anchor="(\w+)" transform="translate\(([\d.]+)[^>]*opacity="1"><tspan>[\d:]+</tspan>'
    seen = re.findall(label, drawn)
    assert {anchor for anchor, _ in seen} == {"middle"}
    places = [float(x) for _, x in seen]
    assert len(places) >= 4
    assert min(after - before for before, after in pairwise(places)) > 45


@pytest.mark.parametrize("certain", [True, False])
def test_suspected_marks_are_hollow(certain):
    [mark] = marks_in(svg(changes([0.7], certain=certain)))
    assert ('fill="rgba(0, 0, 0, 0)"' not in mark, "stroke=" in mark) == (certain, True)


def test_an_axis_of_ratios_is_centred_on_one():
    spec = changes([0.7]).spec
    for layer in spec["layer"]:
        low, high = layer["encoding"]["x"]["scale"]["domain"]
        assert low * high == pytest.approx(1)


@pytest.mark.parametrize(
    ("counts", "suite", "words"),
    [
        ([1, 1], "torchbench", "the one paired model"),
        ([4, 4], "torchbench", "the 4 paired models"),
        ([1, 3], "operators", "the 1 to 3 paired operators"),
    ],
)
def test_a_chart_says_over_how_many_its_means_are(counts, suite, words):
    assert paired_models(counts, suite) == words
