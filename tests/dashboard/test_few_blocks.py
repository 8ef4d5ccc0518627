"""Results of too few blocks for an interval of their own have that of their processes, on pages as in reports."""

import re

import pytest

from store import query
from store.advice import finding
from store.paired import paired_report
from store.stats.geomean import Ratio
from tests.dashboard.opened import open_page, tables, text

FACTORS = {"inductor": 1.0, "eager": 0.5, "openxla+dynamo": 1.5, "openxla+lazytensor": 1.0}


@pytest.fixture(scope="module")
def few(factory, tmp_path_factory):
    """A store of a run of which three processes a backend took turns, each with three blocks, and of one before it."""
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("few")
    records = [
        factory.make_record(
            backend=backend,
            replica=replica,
            per_iter=[factor * seconds * (1 + replica / 200) for seconds in (0.0100, 0.0101, 0.0099)],
            order="interleaved",
            verification_code="PASS",
        )
        for backend, factor in FACTORS.items()
        for replica in range(3)
    ]
    for record in records:
        record.findings = [finding("few_blocks", n=3, wanted=6)]
    factory.write_run(home / "runs" / "few", records)
    before = {"run_id": "unmarked", "timestamp": factory.RUN_START - factory.DAY}
    unmarked = [
        factory.make_record(backend=backend, replica=replica, per_iter=[0.01] * 3, **before)
        for backend in ("inductor", "eager")
        for replica in range(3)
    ]
    factory.write_run(home / "runs" / "unmarked", unmarked)
    ingest([home], home / "store")
    return home / "store"


@pytest.fixture(scope="module")
def reported(few):
    """Backend → the interval that the report has."""
    with query.connect(query.current_snapshot(few)) as con:
        shown = {str(row[1]): row[5] for row in paired_report(con).people[0].rows}
    assert shown.pop("inductor") is None
    assert all(shown.values())
    return shown


@pytest.mark.parametrize("page", ["speedup", "model"])
def test_a_page_has_the_interval_of_the_report(monkeypatch, few, reported, page):
    at = open_page(monkeypatch, few, page)
    assert not at.exception
    [table] = [table for table in tables(at) if {"interval", "series"} <= set(table.columns)][:1]
    shown = {str(row.series): row.interval for row in table.itertuples()}
    assert {series: shown[series] for series in reported} == reported
    assert "no interval" not in text(at)


def test_the_first_line_has_the_interval_and_a_slower_result_needs_attention(monkeypatch, few, reported):
    at = open_page(monkeypatch, few, "overview")
    assert not at.exception
    first = re.search(r"is \*\*1.50.\ slower\*\* than inductor \(95 % CI (\S+)\N{EN DASH}(\S+).,", text(at))
    reported_ends = [float(end) for end in reported["openxla+dynamo"].split("\N{EN DASH}")]
    assert [1 / float(first[2]), 1 / float(first[1])] == pytest.approx(reported_ends, abs=0.006)
    assert "**1 compiled result is slower than inductor** · resnet18" in [button.label for button in at.button]


def test_one_backend_against_another_has_an_interval(monkeypatch, few):
    at = open_page(monkeypatch, few, "speedup", chart=["A against B"], series_a=["eager"], series_b=["openxla+dynamo"])
    assert not at.exception
    [row] = tables(at)[0].itertuples()
    low, high = (float(end) for end in row.interval.split("\N{EN DASH}"))
    assert low < row.ratio < high < 0.4
    assert Ratio("", row.ratio, low, high).word == "slower"


def test_without_the_finding_there_is_no_interval(monkeypatch, few):
    at = open_page(monkeypatch, few, "speedup", run=["unmarked"])
    assert tables(at)[0]["interval"].isna().all()
