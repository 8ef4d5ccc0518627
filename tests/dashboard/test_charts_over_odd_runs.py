"""Each chart of three pages over failures only, and over the models that the switches leave."""

from __future__ import annotations

import pytest

from tests.dashboard.opened import open_page, tables, text

CHARTS = [
    ("speedup", {"chart": ["Distribution"]}),
    ("speedup", {"chart": ["A against B"]}),
    ("compile-time", {"measure": ["Graphs"]}),
    ("compile-time", {"compile_chart": ["First blocks"]}),
    ("compile-time", {"compile_chart": ["Break-even"]}),
    ("fallback-ops", {"ranking": ["Models blocked only by this op"]}),
]
ONE = {"model": ["resnet18"], "test": ["eval"]}
every_chart = pytest.mark.parametrize(("page", "choice"), CHARTS)


@every_chart
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


@pytest.mark.parametrize(
    ("pass_s", "said", "percent"),
    [
        (0.05, "lowering it saves up to 20 ms of an iteration, 40% (profiled in 1 result)", 40),
        (None, "it takes nearly the whole iteration, up to 10 ms (profiled in 1 result)", 200),
    ],
)
def test_an_op_costs_its_share_of_the_pass_that_timed_it(monkeypatch, factory, tmp_path, pass_s, said, percent):
    """Older records do not say how long an iteration of the pass was: their share is one of the latency."""
    from store.ingest import ingest
    from store.record import FallbackOp

    op = FallbackOp(
        op="nonzero", klass="opt_in_lowering", calls_per_iteration=1.0, calls_compile=2, time_s=0.02,
        profiled_iteration_s=pass_s,
    )  # fmt: skip
    record = factory.make_record(backend="openxla+dynamo", fallback_ops=[op], per_iter=[0.01] * 8)
    factory.write_run(tmp_path / "runs" / "one", [record])
    ingest([tmp_path], tmp_path / "store")
    at = open_page(monkeypatch, tmp_path / "store", "fallback-ops", colour=["Share of time"])
    assert said in text(at)
    assert tables(at)[0]["time_share"].iloc[0] == pytest.approx(percent)


@pytest.mark.parametrize(
    ("page", "given"),
    [
        ("speedup", {"chart": ["nope"]}),
        ("speedup", {"chart": ["A against B"], "series_b": ["nope"]}),
        ("compile-time", {"compile_chart": ["First blocks"], "blocks_of": ["nope"]}),
        ("fallback-ops", {"ranking": ["nope"]}),
        ("trends", {key: ["nope"] for key in ("label", "last", "trend_section", "rate", "of_model", "number")}),
        ("compare", {"findings": ["Slower", "nope"], "by": ["nope"]}),
        ("model", ONE | {key: ["nope"] for key in ("result", "part")}),
        ("runs", {"look": ["nope"]}),
        ("runs", {"look": ["What differs"], "with_run": ["nope"]}),
    ],
)
def test_a_choice_that_there_is_not_is_dropped_with_a_notice(monkeypatch, demo, page, given):
    """Each of them; a second look, with the boxes as they are by now, has none."""
    at = open_page(monkeypatch, demo, page, **given)
    assert not at.exception
    assert sum("nope" in warning.value for warning in at.warning) == sum("nope" in values for values in given.values())
    assert not at.run().warning
