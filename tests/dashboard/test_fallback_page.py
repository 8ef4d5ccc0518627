"""Fallback ops: ranking, heat maps, one op with its models and history, host reads, graph breaks."""

from __future__ import annotations

import pytest

from store import query
from store.ingest import ingest
from store.record import FallbackOp, GraphBreak
from tests.dashboard.opened import open_page, tables, text


def op(name, calls=1.0, klass="no_lowering", **facts):
    return FallbackOp(op=name, klass=klass, calls_per_iteration=calls, calls_compile=2, **facts)


@pytest.fixture
def stored(factory, tmp_path):
    """Ingest runs given as lists of records; return the store folder."""

    def make(*runs):
        for number, make_records in enumerate(runs):
            start = factory.RUN_START + number * factory.DAY
            records = make_records(run_id=f"run-{number}", timestamp=start)
            factory.write_run(tmp_path / "runs" / f"run-{number}", records)
        ingest([tmp_path], tmp_path / "store")
        return tmp_path / "store"

    return make


def test_classes_are_explained_and_ops_ranked_by_time_where_it_is_known(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops")
    words = text(at)
    for name in ("No lowering", "Opt-in lowering", "Host read"):
        assert f"**{name}** · 1 op" in words
    assert "**nonzero** is the op to lower first: up to " in words
    assert "of the latency (profiled in 9 results), in 3 models; 2 ops to lower in all" in words
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "upsample_bicubic2d", "_local_scalar_dense"]
    assert list(ranking["ranked_by"]) == ["time", "calls", "calls"]
    assert ranking.loc["_local_scalar_dense", "class"] == "Host read"
    assert ranking.loc["upsample_bicubic2d", "calls_per_iteration"] == 0.5


def test_the_ranking_of_one_series_is_that_of_the_view(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", backend=["openxla+lazytensor"], test=["eval"])
    shown = tables(at)[0].set_index("op")
    with query.connect(query.current_snapshot(demo)) as con:
        sql = """SELECT * FROM fallback_by_op
            WHERE run_id = '22222222-bbbb' AND backend = 'openxla+lazytensor' AND test = 'eval'"""
        rows = query.fetch(con, sql)
    assert len(rows) == len(shown) == 3
    for row in rows:
        found = shown.loc[row["op"]]
        for name in ("calls_per_iteration", "steady_models_n", "blocked_n", "calls_compile", "results_n", "time_n"):
            assert found[name] == row[name], (row["op"], name)
        assert found["time_share"] == pytest.approx(
            100 * row["time_share"] if row["time_share"] else None, nan_ok=True
        ) or (row["time_share"] is None)


def test_an_op_called_only_while_compiling_is_no_steady_cost(monkeypatch, factory, stored):
    """No model calls it in steady iterations, so it is not what to lower first."""

    def records(**facts):
        ops = [op("sort", 0.0), op("nonzero", 0.5)]
        return [factory.make_record(backend="openxla+dynamo", fallback_ops=ops, **facts)]

    at = open_page(monkeypatch, stored(records), "fallback-ops")
    ranking = tables(at)[0].set_index("op")
    assert dict(ranking["steady_models_n"]) == {"nonzero": 1, "sort": 0}
    assert (
        "**nonzero** is the op to lower first: up to 0.5 calls per iteration (not profiled), in 1 model; 1 op"
        in text(at)
    )


def test_ops_can_be_ranked_by_the_models_that_they_alone_block(monkeypatch, factory, stored):
    def records(**facts):
        def one(model, *ops):
            return factory.make_record(model=model, backend="openxla+dynamo", fallback_ops=ops, **facts)

        return [
            one("a", op("sort", 9.0), op("median", 1.0)),
            one("b", op("nonzero", 1.0)),
            one("c", op("nonzero", 1.0)),
        ]

    store = stored(records)
    assert tables(open_page(monkeypatch, store, "fallback-ops"))[0]["op"].iloc[0] == "sort"
    at = open_page(monkeypatch, store, "fallback-ops", ranking=["Models it alone blocks"])
    first = tables(at)[0].iloc[0]
    assert (first["op"], first["blocked_n"], first["blocked_models"]) == ("nonzero", 2, "b, c")
    assert "Lowering **nonzero** alone would leave 2 models without fallback: b, c" in text(at)


def test_host_reads_have_their_call_site(monkeypatch, factory, stored):
    def records(**facts):
        ops = [op("_local_scalar_dense", klass="host_read", call_site="model.py:12 in forward")]
        return [factory.make_record(backend="openxla+lazytensor", fallback_ops=ops, **facts)]

    at = open_page(monkeypatch, stored(records), "fallback-ops")
    reads = next(table for table in tables(at) if "call_sites" in table.columns)
    assert list(reads["call_sites"]) == ["model.py:12 in forward"]
    assert "0 ops to lower" not in text(at)


def test_the_page_of_an_op_has_its_models_and_its_history(monkeypatch, factory, stored):
    """A run in which models ran and none called the op counts as 0, so that a lowering is seen."""

    def with_op(**facts):
        return [
            factory.make_record(model=model, backend="openxla+dynamo", fallback_ops=[op("nonzero", calls)], **facts)
            for model, calls in (("alexnet", 2.0), ("vgg16", 3.0))
        ]

    def without(**facts):
        return [factory.make_record(model=model, backend="openxla+dynamo", **facts) for model in ("alexnet", "vgg16")]

    store = stored(with_op, without)
    at = open_page(monkeypatch, store, "fallback-ops", op=["nonzero"], run=["run-0"])
    assert not at.exception
    assert "**nonzero** (no lowering) is called in steady iterations of 2 models" in text(at)
    assert list(tables(at)[0]["model"]) == ["vgg16", "alexnet"]
    gone = open_page(monkeypatch, store, "fallback-ops", op=["nonzero"], run=["run-1"])
    assert "No result of this view calls **nonzero**; its history is below" in text(gone)

    from dashboard import data
    from dashboard.selection import Selection

    history = data.rows(
        str(query.current_snapshot(store)), "op_history", Selection("run-1", "inductor"), op="nonzero", most_runs=60
    )
    assert list(zip(history["run_id"], history["models_n"], history["ran_n"], strict=True)) == [
        ("run-0", 2, 2), ("run-1", 0, 2),
    ]  # fmt: skip
    assert history["calls_per_iteration"].iloc[0] == 3.0


def test_all_ops_is_one_click_from_an_op(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", op=["nonzero"])
    at.button(key="all-ops").click().run()
    assert not at.exception
    assert "is the op to lower first" in text(at)


def test_an_op_that_no_record_called_is_ignored_with_a_notice(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", op=["'; DROP TABLE x"])
    assert not at.exception
    assert "DROP TABLE" in at.warning[0].value
    assert "is the op to lower first" in text(at)


def test_the_colour_can_be_the_share_of_time(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", colour=["Share of time"])
    assert not at.exception
    assert "cells without a profile pass are left empty of a number" in text(at)


def test_graph_breaks_stand_by_reason_with_their_models(monkeypatch, factory, stored):
    def records(**facts):
        breaks = [GraphBreak(reason="Dynamic shape operator\n  Explanation: nonzero", count=3)]
        return [factory.make_record(model=model, graph_breaks=breaks, **facts) for model in ("alexnet", "vgg16")]

    reasons = tables(open_page(monkeypatch, stored(records), "fallback-ops"))[0]
    assert list(reasons["headline"]) == ["Dynamic shape operator"]
    assert (reasons["models_n"].iloc[0], reasons["count"].iloc[0], reasons["models"].iloc[0]) == (
        2,
        3,
        "alexnet, vgg16",
    )


def test_names_from_outside_are_shown_as_text(monkeypatch, factory, stored):
    hostile = "<script>alert(1)</script> **x** \N{PILE OF POO}" + "n" * 200

    def records(**facts):
        sites = [op(hostile, call_site=hostile), op("item", klass="host_read", call_site=hostile)]
        breaks = [GraphBreak(reason=hostile, count=1)]
        return [
            factory.make_record(model=hostile, backend=backend, fallback_ops=sites, graph_breaks=breaks, **facts)
            for backend in ("inductor", "openxla+dynamo")
        ]

    store = stored(records)
    for page, query_ in (
        ("fallback-ops", {}),
        ("fallback-ops", {"op": [hostile]}),
        ("speedup", {"chart": ["A against B"]}),
        ("speedup", {"chart": ["Distribution"]}),
        ("compile-time", {"chart": ["First blocks"]}),
        ("compile-time", {"chart": ["Break-even"]}),
    ):
        at = open_page(monkeypatch, store, page, **query_)
        assert not at.exception, (page, query_)
        said = text(at)
        assert "<script>" not in said, (page, query_)
        assert page != "fallback-ops" or "\\<script\\>" in said
