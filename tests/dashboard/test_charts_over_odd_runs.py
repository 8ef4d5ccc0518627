"""Each chart of three pages over failures only, and over the models that the switches leave."""

import pytest

from tests.dashboard.opened import open_page, tables, text
from tests.tiers import first_of

CHARTS = [
    ("speedup", {"chart": ["Distribution"]}),
    ("speedup", {"chart": ["A against B"]}),
    ("compile-time", {"measure": ["Graphs"]}),
    ("compile-time", {"compile_chart": ["First blocks"]}),
    ("compile-time", {"compile_chart": ["Break-even"]}),
    ("fallback-ops", {"ranking": ["Models blocked only by this op"]}),
]
ONE = {"model": ["resnet18"], "test": ["eval"]}


@pytest.mark.parametrize(("page", "choice"), first_of(CHARTS[::-1], 3))
def test_failures_only_give_no_number_and_no_exception(monkeypatch, failed, page, choice):
    at = open_page(monkeypatch, failed, page, **choice)
    assert not at.exception
    assert "0.00" not in text(at)
    assert "<script>" not in text(at)


@pytest.mark.parametrize(("page", "choice"), CHARTS[1::2])
def test_only_models_without_fallback_ops_have_none(monkeypatch, demo, page, choice):
    at = open_page(monkeypatch, demo, page, only=["no fallback ops"], **choice)
    assert not at.exception
    models = {model for table in tables(at) if "model" in table for model in table["model"]}
    assert not models & {"BERT_pytorch", "dcgan", "resnet50"}
    assert page != "fallback-ops" or "called a fallback op" in text(at)


def test_the_colour_can_be_the_share_of_time(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", colour=["Share of time"])
    assert not at.exception
    assert "cells without a profile pass have no number" in text(at)


@pytest.mark.parametrize(
    ("page", "given"),
    first_of(
        [
            ("speedup", {"chart": ["A against B"], "series_b": ["nope"]}),
            ("trends", {key: ["nope"] for key in ("label", "last", "trend_section", "rate", "of_model", "number")}),
            ("compare", {"findings": ["Slower", "nope"], "by": ["nope"]}),
            ("model", ONE | {key: ["nope"] for key in ("result", "part")}),
            ("runs", {"look": ["What differs"], "with_run": ["nope"]}),
            ("speedup", {"chart": ["nope"]}),
            ("compile-time", {"compile_chart": ["First blocks"], "blocks_of": ["nope"]}),
            ("fallback-ops", {"ranking": ["nope"]}),
            ("runs", {"look": ["nope"]}),
        ],
        2,
    ),
)
def test_a_choice_that_there_is_not_is_dropped_with_a_notice(monkeypatch, demo, page, given):
    """Each of them; a second look, with the boxes as they are by now, has none."""
    at = open_page(monkeypatch, demo, page, **given)
    assert not at.exception
    assert sum("nope" in warning.value for warning in at.warning) == sum("nope" in values for values in given.values())
    assert not at.run().warning
