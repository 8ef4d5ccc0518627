"""Fallback ops: ranking, heat maps, one op with its models and history, host reads, graph breaks."""

import json
from types import SimpleNamespace

import pytest

from dashboard import data, settings
from dashboard.data.frames import with_suites
from dashboard.screens import fallback_ops
from dashboard.screens.fallback_ops import graph_breaks
from dashboard.ui import charts
from dashboard.view import ViewSelection
from store import query
from store.record import FallbackOp, GraphBreak
from tests.dashboard.opened import copyable, open_page, seen, tables, text
from tests.tiers import first_of


def op(name, calls=1.0, klass="no_lowering", **facts):
    return FallbackOp(op=name, klass=klass, calls_per_iteration=calls, calls_compile=2, **facts)


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


HOSTILE = "<script>alert(1)</script> **x** \N{PILE OF POO}" + "n" * 200
READ = "model.py:12 in forward"
GONE = "Dynamic shape operator\n  Explanation: nonzero"
FAST = {"backend": "openxla+dynamo", "per_iter": [0.01] * 8}
DYNAMO, LAZY = {"backend": "openxla+dynamo"}, {"backend": "openxla+lazytensor"}
RUNS = {
    "profiled": [("resnet18", DYNAMO, [op("nonzero", time_s=0.004), op("sort", time_s=0.001)])],
    "unprofiled": [("resnet18", DYNAMO, [op("sort", calls=9.0), op("nonzero"), op("unique", calls=5.0)])],
    "profiled in bfloat16": [("resnet18", DYNAMO | {"dtype": "bfloat16"}, [op("unique", time_s=0.009)])],
    "profiled at batch 64": [("resnet18", DYNAMO | {"requested_batch_size": 64}, [op("unique", time_s=0.009)])],
    "compiling": [("compiles", DYNAMO, [op("sort", 0.0), op("nonzero", 0.5)])],
    "blocked": [
        ("d", DYNAMO, [op("sort", 9.0), op("median", 1.0)]),
        ("e", DYNAMO, [op("nonzero", 1.0)]),
        ("f", DYNAMO, [op("nonzero", 1.0)]),
    ],
    "reads": [("reads", LAZY, [op("_local_scalar_dense", klass="host_read", call_site=READ)])],
    "breaks": [(model, {"graph_breaks": [GraphBreak(reason=GONE, count=3)]}, []) for model in ("alexnet", "vgg16")],
    "hostile": [
        (
            HOSTILE,
            {"backend": backend, "graph_breaks": [GraphBreak(reason=HOSTILE, count=1)]},
            [op(HOSTILE, call_site=HOSTILE), op("item", klass="host_read", call_site=HOSTILE)],
        )
        for backend in ("inductor", "openxla+dynamo")
    ],
    "paid": [
        ("a", LAZY, [op("sort", 9.0), op("item", 20.0, "host_read")]),
        ("b", LAZY, [op("median", 5.0)]),
        ("c", LAZY, [op("nonzero", 1.0)]),
    ],
    "timed pass": [("timed", FAST, [op("nonzero", time_s=0.02, profiled_iteration_s=0.05)])],
    "untimed pass": [("untimed", FAST, [op("nonzero", time_s=0.02)])],
    "older": [("measured before", LAZY, [op("nonzero")])],
    "suites": [
        ("resnet18", DYNAMO | {"suite": "torchbench"}, [op("sort", calls=1.0)]),
        ("resnet18", DYNAMO | {"suite": "timm_models"}, [op("sort", calls=9.0)]),
        ("vgg16", DYNAMO | {"suite": "timm_models"}, [op("sort", calls=2.0)]),
    ],
}
"""Run, which is also its label → model, facts and fallback ops of each of its results."""


@pytest.fixture(scope="module")
def store(factory, ingested, tmp_path_factory):
    """A store of all of these and of measured payoffs: in `paid` nonzero pays, and sort does worse replaced."""
    older = factory.make_environment(torch_xla="2.8.0")
    runs = {
        run: [
            factory.make_record(model=model, fallback_ops=ops, **{"run_id": run, "label": run} | facts)
            for model, facts, ops in results
        ]
        for run, results in RUNS.items()
    }
    runs["payoffs"] = [
        *without(factory, "c", ms=10.0, run_id="payoffs"),
        *without(factory, "a", ms=20.0, replaced="sort", run_id="payoffs"),
        *without(factory, "measured before", ms=10.0, environment=older, run_id="payoffs"),
    ]
    return ingested(tmp_path_factory.mktemp("fallbacks"), runs)


def of(monkeypatch, store, run, **query):
    return open_page(monkeypatch, store, "fallback-ops", run=[run], **query)


def test_classes_are_explained_and_ops_ranked_by_time_where_it_is_known(demo):
    at = seen(demo, "fallback-ops")
    words = text(at)
    for name in ("No lowering", "Opt-in lowering", "Host read"):
        assert f"**{name}**, 1 op: " in words
    assert "**nonzero** is the op to lower first of 2 ops: lowering it saves up to " in words
    assert "(profiled in 9 results), in 3 models" in words
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "upsample_bicubic2d", "_local_scalar_dense"]
    assert list(ranking["ranked_by"]) == ["time", "calls", "calls"]
    assert ranking.loc["_local_scalar_dense", "class"] == "Host read"
    assert ranking.loc["upsample_bicubic2d", "calls_per_iteration"] == 0.5


def test_the_box_of_ops_names_rows_and_cells_only_where_there_are_some(demo, failed):
    assert seen(demo, "fallback-ops").selectbox(key="op").placeholder.endswith("a cell below")
    assert seen(demo, "fallback-ops", backend=["eager"]).selectbox(key="op").placeholder == "All ops; choose one"
    assert "op" not in [box.key for box in seen(failed, "fallback-ops").selectbox], "there is no op to choose"


def test_profiles_of_other_runs_of_the_same_model_count_and_say_so(monkeypatch, store):
    """Those of another data type or batch size do not: `unique` has none."""
    at = of(monkeypatch, store, "unprofiled")
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "sort", "unique"]
    assert list(ranking["saved_s"].fillna(0)) == [4.0, 1.0, 0.0]
    assert list(ranking["profiled_by"].notna()) == [True, True, False]
    said = "lowering it saves up to 4.00 ms of an iteration (profiled by run profiled of 2025"
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


def test_an_op_called_only_while_compiling_is_no_steady_cost(monkeypatch, store):
    """No model calls it in steady iterations, so it is not what to lower first."""
    at = of(monkeypatch, store, "compiling")
    ranking = tables(at)[0].set_index("op")
    assert dict(ranking["steady_models_n"]) == {"nonzero": 1, "sort": 0}
    assert "**nonzero** is the op to lower first: up to 0.5 calls per iteration (not profiled), in 1 model" in text(at)


def test_ops_can_be_ranked_by_the_models_that_they_alone_block(monkeypatch, store):
    assert tables(of(monkeypatch, store, "blocked"))[0]["op"].iloc[0] == "sort"
    at = of(monkeypatch, store, "blocked", ranking=["Models blocked only by this op"])
    first = tables(at)[0].iloc[0]
    assert (first["op"], first["blocked_n"], first["blocked_models"]) == ("nonzero", 2, "e, f")
    assert "Lowering **nonzero** alone would leave 2 models without fallback: e, f" in text(at)


def test_host_reads_have_their_call_site(monkeypatch, store):
    at = of(monkeypatch, store, "reads")
    reads = next(table for table in tables(at) if "call_sites" in table.columns)
    assert list(reads["call_sites"]) == [READ]
    assert "0 ops to lower" not in text(at)


def test_the_page_of_an_op_has_its_models_and_its_history(monkeypatch, factory, ingested, tmp_path):
    """A run in which models ran and none called the op counts as 0, so that a lowering is seen.

    What never becomes steady did not run.
    """

    def made(run, **models):
        return [
            factory.make_record(
                model=model, run_id=run, **DYNAMO | facts, fallback_ops=[op("nonzero", calls)] * (calls > 0)
            )
            for model, (calls, facts) in models.items()
        ]

    unsteady = (2.0, {"status": "never_steady"})
    runs = {
        "run-0": made("run-0", alexnet=(2.0, {}), vgg16=(3.0, {})),
        "run-1": made("run-1", alexnet=(0, {}), vgg16=(0, {})),
        "run-2": made("run-2", alexnet=unsteady, dcgan=unsteady, vgg16=(0, {})),
        "run-3": made("run-3", alexnet=(1.0, {"backend": "torchxla_trivial"})),
    }
    store = ingested(tmp_path, runs)
    at = of(monkeypatch, store, "run-0", op=["nonzero"])
    assert not at.exception
    assert "**nonzero** (no lowering) is called in steady iterations of 2 models" in text(at)
    assert list(tables(at)[0]["model"]) == ["vgg16", "alexnet"]
    gone = of(monkeypatch, store, "run-1", op=["nonzero"])
    assert "No result of this view calls **nonzero**; its history is below" in text(gone)
    shown = ViewSelection("run-3", "inductor")
    history = data.rows(str(query.current_snapshot(store)), "op_history", shown, op="nonzero", most_runs=60)
    assert list(zip(history["run_id"], history["models_n"], history["ran_n"], strict=True)) == [
        ("run-0", 2, 2), ("run-1", 0, 2), ("run-2", 0, 1), ("run-3", 1, 1),
    ]  # fmt: skip
    assert history["calls_per_iteration"].iloc[0] == 3.0
    assert history["calls_per_iteration"].iloc[1:3].isna().all()


@pytest.mark.parametrize(("results", "said"), [(1, ", 10% (profiled in 1 result)"), (2, ", up to 10% (profiled in 2")])
def test_time_and_share_of_an_op_may_be_those_of_two_results(results, said):
    row = SimpleNamespace(time_share=0.1, saved_s=0.005, time_n=results)
    assert f"lowering it saves up to 5.00 ms of an iteration{said}" in fallback_ops.cost(row)


def test_the_latencies_of_an_op_say_over_how_many_samples(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", op=["nonzero"])
    models = next(table for table in tables(at) if "steady_n" in table)
    with query.connect(query.current_snapshot(demo)) as con:
        sql = """SELECT r.model, r.steady_n FROM fallback_calls AS c JOIN result_rows AS r USING (record_id)
            WHERE c.run_id = '22222222-bbbb' AND c.op = 'nonzero'"""
        expected = {row["model"]: row["steady_n"] for row in query.fetch(con, sql)}
    assert dict(zip(models["model"], models["steady_n"], strict=True)) == expected != {}


def test_names_of_backends_are_whole_on_the_page_of_an_op(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "fallback-ops", op=["nonzero"])
    [columns] = [json.loads(table.proto.columns) for table in at.dataframe if "calls_compile" in table.value]
    assert columns["series"]["pinned"]


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


@pytest.mark.parametrize(
    ("run", "said", "percent"),
    [
        ("timed pass", "lowering it saves up to 20.0 ms of an iteration, 40% (profiled in 1 result)", 40),
        ("untimed pass", "it takes nearly the whole iteration, up to 10.0 ms (profiled in 1 result)", 200),
    ],
)
def test_an_op_costs_its_share_of_the_pass_that_timed_it(monkeypatch, store, run, said, percent):
    """Older records do not say how long an iteration of the pass was: their share is one of the latency."""
    at = of(monkeypatch, store, run, colour=["Share of time"])
    assert said in text(at)
    assert tables(at)[0]["time_share"].iloc[0] == pytest.approx(percent)


def test_graph_breaks_stand_by_reason_with_their_models(monkeypatch, store):
    reasons = tables(of(monkeypatch, store, "breaks"))[0]
    assert list(reasons["headline"]) == ["Dynamic shape operator"]
    assert (reasons["models_n"].iloc[0], reasons["count"].iloc[0], reasons["models"].iloc[0]) == (
        2,
        3,
        "alexnet, vgg16",
    )


WITH_BREAKS = ("e065a9cb-9d6c-4852-956d-b8d1b4592a62", "3c8dcd8d-5463-4b62-972f-1ab8e6356e96")
"""Runs that looked for fallback ops, and a night."""


def test_reasons_and_numbers_of_results_are_those_of_the_views(review_store, review_con):
    """The page counts in Python over rows that it already has; SQL counts here."""
    seen = 0
    for run in WITH_BREAKS:
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


@pytest.mark.parametrize(
    ("page", "chosen"),
    first_of(
        [
            ("fallback-ops", {}),
            ("fallback-ops", {"op": [HOSTILE]}),
            ("speedup", {"chart": ["A against B"]}),
            ("speedup", {"chart": ["Distribution"]}),
            ("compile-time", {"compile_chart": ["First blocks"]}),
            ("compile-time", {"compile_chart": ["Break-even"]}),
        ],
        2,
    ),
)
def test_names_from_outside_are_shown_as_text(monkeypatch, store, page, chosen):
    at = open_page(monkeypatch, store, page, run=["hostile"], **chosen)
    assert not at.exception
    said = text(at)
    assert "<script>" not in said
    assert page != "fallback-ops" or "\\<script\\>" in said


def test_ops_are_ranked_by_the_payoff_that_was_measured(monkeypatch, store):
    """What is not measured stands between proven gains and proven losses, by its cost."""
    at = of(monkeypatch, store, "paid")
    ranking = tables(at)[0].set_index("op")
    assert list(ranking.index) == ["nonzero", "median", "sort", "item"]
    assert ranking.loc["nonzero", "payoff"] == pytest.approx(1.8, rel=0.01)
    said = dict(ranking["payoff_said"])
    assert (said["median"], said["item"]) == ("not measured", "nothing to lower")
    assert said["nonzero"].startswith("proven: 1.80")
    assert said["sort"].startswith("slower when replaced: 0.90")
    assert "**nonzero** is the op to lower first of 3 ops: without it c was 1.80" in text(at)
    by_cost = tables(of(monkeypatch, store, "paid", ranking=["Milliseconds saved"]))[0]
    assert list(by_cost["op"]) == ["sort", "median", "nonzero", "item"]


def test_a_run_that_measured_payoffs_is_no_run_of_the_pages(store):
    with query.connect(query.current_snapshot(store)) as con:
        assert {row["run_id"] for row in query.fetch(con, "SELECT run_id FROM runs")} == set(RUNS)


def test_the_page_of_an_op_has_its_payoff_or_the_command_that_measures_it(monkeypatch, store):
    at = of(monkeypatch, store, "paid", op="nonzero")
    measured = next(table for table in tables(at) if "payoff" in table.columns)
    assert list(measured["model"]) == ["c"]
    assert measured["payoff"].iloc[0] == pytest.approx(1.8, rel=0.01)
    assert measured["with_latency_s"].iloc[0] == pytest.approx(18.0, rel=0.01)
    assert "Measured speedup without the op: c eval openxla" in text(at)
    commands = copyable(of(monkeypatch, store, "paid", op="median"))
    command = "xlabench run --only torchbench/b --test eval --without-fallback median"
    assert f"{command} --home {settings.home()}" in commands
    assert "there is nothing to lower" in text(of(monkeypatch, store, "paid", op="item"))


def test_a_payoff_of_other_versions_is_not_shown(monkeypatch, store):
    assert list(tables(of(monkeypatch, store, "older"))[0]["payoff_said"]) == ["not measured"]


def test_the_page_of_a_model_has_the_payoffs_of_its_ops(monkeypatch, store):
    one = {"result": ["openxla+lazytensor"], "part": ["Fallback ops"]}
    ops = {
        model: tables(open_page(monkeypatch, store, "model", run=["paid"], model=[model], **one))[-1]
        for model in ("c", "b")
    }
    ops = {model: next(iter(found.set_index("op").itertuples())) for model, found in ops.items()}
    assert (ops["c"].Index, ops["c"].payoff) == ("nonzero", pytest.approx(1.8, rel=0.01))
    assert ops["c"].payoff_said.startswith("1.80")
    assert ops["c"].payoff_said.endswith("proven")
    assert (ops["b"].Index, ops["b"].payoff_said) == ("median", "not measured")


def test_models_of_one_name_from_two_suites_are_two_columns_of_the_map(monkeypatch, store):
    shown = str(query.current_snapshot(store))
    calls = data.rows(shown, "fallback_calls", ViewSelection("suites", "inductor"), op=None, klass=None)
    cells = with_suites(calls).set_index("model")["calls_per_iteration"]
    assert cells.to_dict() == {"timm_models/resnet18": 9.0, "torchbench/resnet18": 1.0, "vgg16": 2.0}
    drawn = []
    monkeypatch.setattr(charts, "selectable", lambda drawing, **_how: drawn.append(drawing))
    assert not of(monkeypatch, store, "suites").exception
    points = drawn[0].rows.set_index("model")["value"]
    assert points.to_dict() == cells.to_dict()
