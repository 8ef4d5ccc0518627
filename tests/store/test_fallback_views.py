"""Fallback ops by op and by model."""

import pytest

from store import query
from store.record import FallbackOp
from tests.store.factory import make_record
from tests.store.scenes import Scenes


def op(name, calls=1.0, klass="no_lowering", compile_calls=0, **facts):
    return FallbackOp(op=name, klass=klass, calls_per_iteration=calls, calls_compile=compile_calls, **facts)


def record(model, *ops, backend="openxla+dynamo", **facts):
    return make_record(model=model, backend=backend, fallback_ops=ops, **facts)


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def of_run(scenes, run):
    """Return the rows of a view of the run of a scene."""
    return lambda view: query.fetch(scenes, f"SELECT * FROM {view} WHERE run_id = $run", {"run": run})


@pytest.fixture
def by_op(of_run):
    return {row["op"]: row for row in of_run("fallback_by_op") if row["backend"] == "openxla+dynamo"}


@scene(
    record("alexnet", op("nonzero", 2.0)),
    record("vgg16", op("nonzero", 5.0), op("sort", 1.0)),
    record("dcgan", op("sort", 3.0), op("nonzero", 0.0, compile_calls=7)),
    record("resnet18"),
    record("resnet18", op("nonzero", 9.0), backend="openxla+lazytensor"),
)
def test_an_op_has_its_models_and_those_that_it_alone_blocks(by_op):
    found = by_op
    keys = ("results_n", "models_n", "steady_models_n", "blocked_n", "calls_per_iteration", "calls_compile", "models")
    assert {key: found["nonzero"][key] for key in keys} == {
        "results_n": 3, "models_n": 3, "steady_models_n": 2, "blocked_n": 1, "calls_per_iteration": 5.0,
        "calls_compile": 7, "models": ["alexnet", "dcgan", "vgg16"],
    }  # fmt: skip
    assert found["nonzero"]["blocked_models"] == ["alexnet"]
    assert found["sort"]["blocked_models"] == ["dcgan"]


@scene(record("alexnet", op("nonzero", time_s=0.02, profiled_iteration_s=0.05), per_iter=[0.01] * 8))
def test_the_time_share_is_one_of_an_iteration_of_the_profile_pass(by_op, of_run):
    assert by_op["nonzero"]["time_share"] == pytest.approx(0.4)
    [model] = of_run("fallback_by_model")
    assert (model["time_s"], model["time_share"]) == (0.02, pytest.approx(0.4))


@scene(
    record("alexnet", op("nonzero", time_s=0.002), per_iter=[0.01] * 8),
    record("vgg16", op("nonzero", time_s=0.003), per_iter=[0.03] * 8),
    record("dcgan", op("nonzero")),
)
def test_the_time_share_of_older_records_is_one_of_the_latency(by_op):
    row = by_op["nonzero"]
    assert (row["time_s"], row["time_share"], row["time_n"]) == (0.003, pytest.approx(0.2), 2)


@scene(record("alexnet", op("nonzero", 2.0, call_site="a.py:1"), op("nonzero", 3.0, call_site="b.py:2")))
def test_call_sites_of_an_op_are_one_op(by_op, of_run):
    row = by_op["nonzero"]
    assert (row["calls_per_iteration"], row["blocked_models"]) == (5.0, ["alexnet"])
    [model] = of_run("fallback_by_model")
    assert (model["fallback_ops_n"], model["ops"], model["only_op"]) == (1, ["nonzero"], "nonzero")


@scene(
    record(
        "alexnet",
        op("sort", 1.0, time_s=0.001),
        op("nonzero", 4.0, "opt_in_lowering", time_s=0.002),
        op("item", 0.0, "host_read", compile_calls=2),
        per_iter=[0.01] * 8,
    ),
    record("vgg16"),
)
def test_a_model_has_its_ops_by_class_and_share(of_run):
    [row] = of_run("fallback_by_model")
    keys = ("model", "fallback_ops_n", "steady_ops_n", "no_lowering_n", "opt_in_lowering_n", "host_read_n", "only_op")
    assert [row[key] for key in keys] == ["alexnet", 3, 2, 1, 1, 1, None]
    assert (row["ops"], row["calls_compile"]) == (["nonzero", "sort", "item"], 2)
    assert (row["fallback_calls_per_iteration"], row["time_share"]) == (5.0, pytest.approx(0.3))


@scene(
    record("alexnet", op("nonzero", 2.0, call_site="b.py:2", time_s=0.002), op("nonzero", 1.0, call_site="a.py:1")),
    record("vgg16", op("nonzero", 5.0), op("sort", 0.0, compile_calls=3)),
    record("dcgan", op("nonzero", 5.0), op("sort", 1.0)),
)
def test_calls_of_a_result_have_their_share_and_their_places(of_run):
    rows = of_run("fallback_calls")
    found = {(row["model"], row["op"]): row for row in rows}
    assert len(rows) == len(found) == 5
    alexnet = found["alexnet", "nonzero"]
    assert (alexnet["calls_per_iteration"], alexnet["call_sites"]) == (3.0, ["a.py:1", "b.py:2"])
    assert alexnet["time_share"] == pytest.approx(0.2)
    assert {key for key, row in found.items() if row["alone"]} == {("alexnet", "nonzero"), ("vgg16", "nonzero")}
    assert {key for key, row in found.items() if not row["steady"]} == {("vgg16", "sort")}


@scene(
    record("clean"),
    record("clean", backend="openxla+lazytensor", status="oom"),
    record("calls", op("nonzero", 2.0)),
    record("failed", status="oom"),
    record("failed", backend="eager"),
    record("without XLA", backend="eager"),
)
def test_a_model_is_clean_if_a_result_that_can_have_fallback_ops_says_so(scenes, run):
    found = scenes.execute("SELECT model, unknown FROM unclean(['no fallback ops'], [$run]) ORDER BY ALL", {"run": run})
    assert found.fetchall() == [("calls", False), ("failed", True)]
    assert scenes.execute("FROM unclean([], [$run])", {"run": run}).fetchall() == []
