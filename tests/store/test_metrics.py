"""Every number of the views is in the registry, and the registry has no others but those of records alone."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from store import metrics
from store.database.migrate import CHAPTERS, views
from tests.store.relations import RELATIONS

ADDRESSES = {"place"}
"""Where a row stands: a number by type, that measures nothing."""
NUMERIC = re.compile(r"(BIGINT|INTEGER|HUGEINT|DOUBLE|FLOAT|DECIMAL.*)")


def numeric_columns(con):
    found = set()
    for relation in RELATIONS.values():
        for name, kind, *_ in con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall():
            if NUMERIC.fullmatch(kind) and name not in ADDRESSES:
                found.add(name)
    return found


def test_every_number_of_the_views_is_registered(demo_con):
    assert numeric_columns(demo_con) == {name for name, each in metrics.METRICS.items() if each.recorded != "alone"}


def test_no_metric_is_registered_twice():
    """A second entry of a name would replace the first one silently."""
    names = re.findall(r"^(\w+):", (files("store.metrics") / "metrics.yaml").read_text(), re.MULTILINE)
    assert names == list(metrics.METRICS)


def test_no_column_is_a_time_with_a_zone(demo_con):
    for relation in RELATIONS.values():
        kinds = {kind for _, kind, *_ in demo_con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}
        assert "TIMESTAMP WITH TIME ZONE" not in kinds


@pytest.mark.parametrize("metric", metrics.METRICS.values(), ids=lambda metric: metric.name)
def test_a_metric_can_be_read_aloud(metric):
    assert metric.label
    assert metric.definition.endswith(".")
    assert "\n" not in metric.definition
    if metric.name.endswith("_s") and not metric.name.endswith("_per_s"):
        assert metric.unit == "s"
    if metric.name.endswith("_bytes"):
        assert metric.unit == "bytes"
    assert (metric.scale == 1.0) == (metric.display_unit == "")


def test_latency_is_shown_in_milliseconds():
    latency = metrics.metric("latency_s")
    assert latency.shown(0.25) == 250.0
    assert latency.header == "Latency (ms)"


@pytest.mark.parametrize("name", views())
def test_a_view_states_its_grain(name):
    text = views()[name]
    beginnings = re.findall(r"^(?:--.*\n)+(?=CREATE)", text, re.MULTILINE) if name == "scalars" else [text]
    assert len(beginnings) == (text.count("CREATE OR REPLACE MACRO ") if name == "scalars" else 1)
    assert all(beginning.startswith(("-- Grain", "-- Scalar macro, no grain: ")) for beginning in beginnings)


def test_every_file_of_views_is_a_chapter():
    folder = Path(metrics.__file__).parents[1] / "views"
    assert {path.stem for path in folder.glob("*.sql")} == set(CHAPTERS)
