"""Fallback ops: ranking, heat maps, one op with its models and history, host reads, graph breaks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dashboard import data
from dashboard.data.frames import with_suites
from dashboard.screens import fallback_ops
from dashboard.screens.fallback_ops import graph_breaks
from dashboard.ui import charts
from dashboard.view import ViewSelection
from store import query
from store.ingest import ingest
from store.record import FallbackOp, GraphBreak
from tests.dashboard.opened import copyable, open_page, tables, text


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
        assert f"**{name}**, 1 op: " in words
    assert "**nonzero** is the op to lower first: lowering it saves up to " in words
    assert "(profiled in 9 results), in 3 models; 2 ops to lower in all" in words
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "upsample_bicubic2d", "_local_scalar_dense"]
    assert list(ranking["ranked_by"]) == ["time", "calls", "calls"]
    assert ranking.loc["_local_scalar_dense", "class"] == "Host read"
    assert ranking.loc["upsample_bicubic2d", "calls_per_iteration"] == 0.5


def test_the_box_of_ops_names_rows_and_cells_only_where_there_are_some(monkeypatch, demo, failed):
    assert open_page(monkeypatch, demo, "fallback-ops").selectbox(key="op").placeholder.endswith("a cell below")
    assert open_page(monkeypatch, failed, "fallback-ops").selectbox(key="op").placeholder == "All ops; choose one"


def test_profiles_of_other_runs_of_the_same_model_count_and_say_so(monkeypatch, stored, factory):
    def run(number, *ops):
        def make_records(**facts):
            record = {"model": "resnet18", "backend": "openxla+dynamo", "label": f"night {number}"} | facts
            return [factory.make_record(**record, fallback_ops=list(ops))]

        return make_records

    profiled = run(1, op("nonzero", time_s=0.004), op("sort", time_s=0.001))
    store = stored(profiled, run(2, op("sort", calls=9.0), op("nonzero"), op("unique", calls=5.0)))
    at = open_page(monkeypatch, store, "fallback-ops")
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "sort", "unique"]
    assert list(ranking["saved_s"].fillna(0)) == [4.0, 1.0, 0.0]
    assert list(ranking["profiled_by"].notna()) == [True, True, False]
    said = "lowering it saves up to 4 ms of an iteration (profiled by run night 1 of 2025"
    assert said in text(at).replace("\\", "")
    assert "0 profiled, 2 only in other runs of the same models" in text(at)


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
    at = open_page(monkeypatch, store, "fallback-ops", ranking=["Models blocked only by this op"])
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
    from dashboard.view import ViewSelection

    history = data.rows(
        str(query.current_snapshot(store)), "op_history", ViewSelection("run-1", "inductor"), op="nonzero", most_runs=60
    )
    assert list(zip(history["run_id"], history["models_n"], history["ran_n"], strict=True)) == [
        ("run-0", 2, 2), ("run-1", 0, 2),
    ]  # fmt: skip
    assert history["calls_per_iteration"].iloc[0] == 3.0


@pytest.mark.parametrize(("results", "said"), [(1, ", 10% (profiled in 1 result)"), (2, ", up to 10% (profiled in 2")])
def test_time_and_share_of_an_op_may_be_those_of_two_results(results, said):
    row = SimpleNamespace(time_share=0.1, saved_s=0.005, time_n=results)
    assert f"lowering it saves up to 5 ms of an iteration{said}" in fallback_ops.cost(row)


def test_the_history_of_an_op_counts_only_models_that_ran(factory, stored):
    """Two of three call the op and never become steady: of the one that ran, none calls it."""

    def records(**facts):
        facts |= {"backend": "openxla+dynamo"}
        unsteady = {"status": "never_steady", "fallback_ops": [op("nonzero", 2.0)]}
        return [
            *(factory.make_record(model=model, **unsteady, **facts) for model in ("alexnet", "dcgan")),
            factory.make_record(model="vgg16", **facts),
        ]

    snapshot = str(query.current_snapshot(stored(records)))
    rows = data.rows(snapshot, "op_history", ViewSelection("run-0", "inductor"), op="nonzero", most_runs=60)
    assert list(zip(rows["models_n"], rows["ran_n"], strict=True)) == [(0, 1)]
    assert rows["calls_per_iteration"].isna().all()


def test_the_latencies_of_an_op_say_over_how_many_samples(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", op=["nonzero"])
    models = next(table for table in tables(at) if "steady_n" in table)
    with query.connect(query.current_snapshot(demo)) as con:
        sql = """SELECT r.model, r.steady_n FROM fallback_calls AS c JOIN result_rows AS r USING (record_id)
            WHERE c.run_id = '22222222-bbbb' AND c.op = 'nonzero'"""
        expected = {row["model"]: row["steady_n"] for row in query.fetch(con, sql)}
    assert dict(zip(models["model"], models["steady_n"], strict=True)) == expected != {}


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
    assert "cells without a profile pass have no number" in text(at)


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


def test_reasons_and_numbers_of_results_are_those_of_the_views(review_store, review_con):
    """The page counts in Python over rows that it already has; SQL counts here."""
    seen = 0
    for run in query.runs(review_con)["run_id"]:
        shown = ViewSelection(run_id=run, baseline="inductor")
        breaks = data.rows(str(query.current_snapshot(review_store)), "graph_breaks", shown)
        sql = """SELECT
                split_part(reason, chr(10), 1) AS headline, count(DISTINCT (suite, model)) AS models_n,
                count(DISTINCT (experiment_id, environment)) AS results_n, max(count) AS count,
                string_agg(DISTINCT model, ', ' ORDER BY model) AS models,
                string_agg(DISTINCT variant, ', ' ORDER BY variant) AS variants, reason
            FROM graph_breaks WHERE run_id = $run GROUP BY reason ORDER BY models_n DESC, count DESC, reason"""
        given = query.fetch(review_con, sql, {"run": run})
        assert graph_breaks.reasons(breaks).to_dict("records") == given
        results = data.rows(str(query.current_snapshot(review_store)), "fallback_coverage", shown)
        [(ran, called)] = review_con.execute(
            """SELECT count(*), count(*) FILTER (fallback_ops_n > 0)
            FROM result_rows WHERE run_id = $run AND ran AND starts_with(backend, 'openxla')""",
            {"run": run},
        ).fetchall()
        xla = results[results["ran"] & results["backend"].str.startswith("openxla")]
        assert (len(xla), int((xla["fallback_ops_n"] > 0).sum())) == (ran, called)
        seen += len(given)
    assert seen


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
        ("compile-time", {"compile_chart": ["First blocks"]}),
        ("compile-time", {"compile_chart": ["Break-even"]}),
    ):
        at = open_page(monkeypatch, store, page, **query_)
        assert not at.exception, (page, query_)
        said = text(at)
        assert "<script>" not in said, (page, query_)
        assert page != "fallback-ops" or "\\<script\\>" in said


def without(factory, model, *, ms, replaced="nonzero", **facts):
    """Return the two sides of a payoff: with the op 18 ms, without it as asked for."""
    side = {
        "model": model,
        "backend": "openxla+lazytensor",
        "purpose": "payoff",
        "verification_code": "PASS",
        "order": "interleaved",
        **facts,
    }
    steps = [1 + 0.001 * (step % 5) for step in range(10)]
    return [
        record
        for replica in range(3)
        for record in (
            factory.make_record(
                **side, replica=replica, fallback_ops=[op(replaced, 4.0)], per_iter=[0.018 * step for step in steps]
            ),
            factory.make_record(
                **side, replica=replica, without_fallback=(replaced,), per_iter=[ms / 1e3 * step for step in steps]
            ),
        )
    ]


@pytest.fixture
def paid(factory, stored):
    """A run of ops of three kinds, and one that measured two of them: `nonzero` pays, `sort` does worse replaced."""

    def records(**facts):
        def one(model, *ops):
            return factory.make_record(model=model, backend="openxla+lazytensor", fallback_ops=ops, **facts)

        return [
            one("a", op("sort", 9.0), op("item", 20.0, "host_read")),
            one("b", op("median", 5.0)),
            one("c", op("nonzero", 1.0)),
        ]

    def payoffs(**facts):
        return [*without(factory, "c", ms=10.0, **facts), *without(factory, "a", ms=20.0, replaced="sort", **facts)]

    return stored(records, payoffs)


def test_ops_are_ranked_by_the_payoff_that_was_measured(monkeypatch, paid):
    """What is not measured stands between proven gains and proven losses, by its cost."""
    at = open_page(monkeypatch, paid, "fallback-ops")
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "median", "sort", "item"]
    assert ranking.loc["nonzero", "payoff"] == pytest.approx(1.8, rel=0.01)
    said = dict(ranking["payoff_said"])
    assert (said["median"], said["item"]) == ("not measured", "nothing to lower")
    assert said["nonzero"].startswith("proven: 1.80")
    assert said["sort"].startswith("slower when replaced: 0.90")
    assert "**nonzero** is the op to lower first: without it c was 1.80" in text(at)
    by_cost = tables(open_page(monkeypatch, paid, "fallback-ops", ranking=["Milliseconds saved"]))[0]
    assert list(by_cost["op"]) == ["sort", "median", "nonzero", "item"]


def test_a_run_that_measured_payoffs_is_no_run_of_the_pages(paid):
    with query.connect(query.current_snapshot(paid)) as con:
        assert [row["run_id"] for row in query.fetch(con, "SELECT run_id FROM runs")] == ["run-0"]


def test_the_page_of_an_op_has_its_payoff_or_the_command_that_measures_it(monkeypatch, paid):
    at = open_page(monkeypatch, paid, "fallback-ops", op="nonzero")
    measured = next(table for table in tables(at) if "payoff" in table.columns)
    assert list(measured["model"]) == ["c"]
    assert measured["payoff"].iloc[0] == pytest.approx(1.8, rel=0.01)
    assert measured["with_latency_s"].iloc[0] == pytest.approx(18.0, rel=0.01)
    assert "Measured speedup without the op: c eval openxla" in text(at)
    commands = copyable(open_page(monkeypatch, paid, "fallback-ops", op="median"))
    assert "xlabench run --only torchbench/b --test eval --without-fallback median" in commands
    assert "there is nothing to lower" in text(open_page(monkeypatch, paid, "fallback-ops", op="item"))


def test_a_payoff_of_other_versions_is_not_shown(monkeypatch, factory, stored):
    def records(**facts):
        return [factory.make_record(model="c", backend="openxla+lazytensor", fallback_ops=[op("nonzero")], **facts)]

    def payoffs(**facts):
        older = factory.make_environment(torch_xla="2.8.0")
        return without(factory, "c", ms=10.0, environment=older, **facts)

    ranking = tables(open_page(monkeypatch, stored(records, payoffs), "fallback-ops"))[0]
    assert list(ranking["payoff_said"]) == ["not measured"]


def test_the_page_of_a_model_has_the_payoffs_of_its_ops(monkeypatch, paid):
    one = {"result": ["openxla+lazytensor"], "part": ["Fallback ops"]}
    ops = {model: tables(open_page(monkeypatch, paid, "model", model=[model], **one))[-1] for model in ("c", "b", "a")}
    ops = {model: next(iter(found.set_index("op").itertuples())) for model, found in ops.items()}
    assert (ops["c"].Index, ops["c"].payoff) == ("nonzero", pytest.approx(1.8, rel=0.01))
    assert ops["c"].payoff_said.startswith("1.80")
    assert ops["c"].payoff_said.endswith("proven")
    assert (ops["b"].Index, ops["b"].payoff_said) == ("median", "not measured")


def test_models_of_one_name_from_two_suites_are_two_columns_of_the_map(monkeypatch, stored, factory):
    def run(**facts):
        facts |= {"backend": "openxla+dynamo"}
        return [
            factory.make_record(model="resnet18", suite="torchbench", fallback_ops=[op("sort", calls=1.0)], **facts),
            factory.make_record(model="resnet18", suite="timm_models", fallback_ops=[op("sort", calls=9.0)], **facts),
            factory.make_record(model="vgg16", suite="timm_models", fallback_ops=[op("sort", calls=2.0)], **facts),
        ]

    store = stored(run)
    assert not open_page(monkeypatch, store, "fallback-ops").exception
    shown = str(query.current_snapshot(store))
    calls = data.rows(shown, "fallback_calls", ViewSelection("run-0", "inductor"), op=None, klass=None)
    cells = with_suites(calls).set_index("model")["calls_per_iteration"]
    assert cells.to_dict() == {"timm_models/resnet18": 9.0, "torchbench/resnet18": 1.0, "vgg16": 2.0}
    drawn = []
    monkeypatch.setattr(charts, "selectable", lambda drawing, **_how: drawn.append(drawing))
    assert not open_page(monkeypatch, store, "fallback-ops").exception
    points = drawn[0].rows.set_index("model")["value"]
    assert points.to_dict() == cells.to_dict()
