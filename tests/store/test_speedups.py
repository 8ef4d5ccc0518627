"""Pairs, speedups and their geometric means, against values computed by hand."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import advice, query
from store.ingest import ingest
from store.stats.geomean import geomean
from store.stats.median import median, median_interval
from tests.store.factory import make_environment, make_record, write_run
from tests.store.oracle.ratio import Estimate, speedup
from tests.store.peer_records import peer_record, write_peer
from tests.store.scenes import Scenes

SCENES = Scenes()
scene, several = SCENES.scene, SCENES.several


@pytest.fixture
def of_run(scenes, run):
    """Return the pair of the run of a scene."""
    return lambda where="backend = 'eager'", **asked: pair(scenes, f"run_id = '{run}' AND {where}", **asked)


def pair(con, where="backend = 'eager'", baseline="inductor", run=None):
    [row] = query.fetch(
        con,
        f"SELECT * FROM speedups($baseline::VARCHAR, $run::VARCHAR) WHERE {where}",
        {"baseline": baseline, "run": run},
    )
    return row


@scene(make_record(per_iter=[0.01] * 8), make_record(backend="eager", per_iter=[0.04] * 8))
def test_speedup_is_baseline_over_own_latency(of_run):
    row = of_run()
    assert (row["speedup"], row["speedup_reason"]) == (0.25, None)
    assert (row["baseline_latency_s"], row["baseline_steady_n"], row["baseline_status"]) == (0.01, 8, "ok")
    assert of_run("backend = 'inductor'")["speedup"] == 1.0


@settings(max_examples=2, deadline=None)
@given(st.lists(st.lists(st.floats(min_value=1e-4, max_value=1), min_size=12, max_size=12), min_size=4, max_size=4))
def test_the_view_computes_what_the_statistics_define(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("stats")
    sides = {f"m{number}": (values[:6], values[6:]) for number, values in enumerate(models)}
    records = [
        make_record(model=model, backend=backend, per_iter=values)
        for model, both in sides.items()
        for backend, values in zip(("inductor", "eager"), both, strict=True)
    ]
    write_run(folder, records)
    with query.connect(ingest([folder], folder / "store").snapshot) as con:
        found = query.fetch(con, "FROM speedups('inductor', NULL) WHERE backend = 'eager'")
    rows = {row["model"]: row for row in found}
    assert rows.keys() == sides.keys()
    for model, row in rows.items():
        expected = speedup(*(Estimate(median(side), *median_interval(side)) for side in sides[model]))
        assert (row["speedup"], row["speedup_low"], row["speedup_high"]) == pytest.approx(tuple(expected))


@scene(make_record(), make_record(backend="eager", per_iter=[0.04] * 5))
def test_under_six_samples_a_speedup_has_no_interval(of_run):
    row = of_run()
    assert (row["speedup"], row["speedup_low"], row["speedup_high"]) == (0.25, None, None)


def near(side, *again):
    """Give a test the run of two results of which this one is near the time of an empty synchronisation."""
    records = [make_record(per_iter=[0.01] * 8), make_record(backend="eager", per_iter=[0.04] * 8)]
    records[side].findings.append(advice.finding("near_floor", us=8.0, floor_us=4.0, times=3.0))
    return scene(*records, *again).args[1][0]


@pytest.mark.parametrize("run", [near(0), near(1)])
def test_a_side_near_the_time_of_an_empty_sync_has_a_ratio_without_interval(of_run):
    """Whichever side it is."""
    row = of_run()
    assert (row["speedup"], row["speedup_low"], row["speedup_high"]) == (0.25, None, None)


AGAIN = [
    make_record(backend=name, per_iter=[seconds] * 8, attempt=2) for name, seconds in (("inductor", 1), ("eager", 2))
]


@pytest.mark.parametrize("run", [near(0, *AGAIN)])
def test_an_attempt_that_is_not_shown_takes_no_interval(of_run):
    row = of_run()
    assert (row["speedup"], row["speedup_low"], row["speedup_high"]) == (0.5, 0.5, 0.5)


@scene(
    make_record(status="timeout", message="no result within 300 s"),
    make_record(backend="eager", status="oom", message="no room"),
    make_record(backend="openxla+dynamo"),
    make_record(backend="eager", model="vgg16"),
)
def test_the_own_reason_stands_first_then_the_baselines(scenes, run):
    found = query.fetch(scenes, "SELECT * FROM speedups('inductor', NULL) WHERE run_id = $run", {"run": run})
    reasons = {(row["model"], row["backend"]): row["speedup_reason"] for row in found}
    assert reasons == {
        ("resnet18", "inductor"): "no result within 300 s",
        ("resnet18", "eager"): "no room",
        ("resnet18", "openxla+dynamo"): "baseline inductor: no result within 300 s",
        ("vgg16", "eager"): "no baseline result",
    }


@scene(make_record(verification_code="FAIL"), make_record(backend="eager"))
def test_a_wrong_answer_has_no_speedup_on_either_side(of_run):
    assert of_run()["speedup_reason"] == "baseline inductor: wrong answer: verification FAIL"
    assert of_run("backend = 'inductor'")["speedup_reason"] == "wrong answer: verification FAIL"


NOT_COMPARABLE = [
    ({"batch_size": 4}, "batch size 4 against 8"),
    ({"dtype": "bfloat16"}, "dtype bfloat16 against float32"),
    ({"requested_batch_size": 8}, "requested batch size 8 against default"),
    ({"optimizer": "SGD"}, "optimizer SGD against none"),
    ({"loss": "mse"}, "loss mse against default"),
    ({"matmul_precision": "high"}, "matmul precision high against highest"),
    ({"start": "interpreter"}, "start method interpreter against fork"),
    ({"iterations_per_run": 4}, "iterations per block 4 against 1"),
    ({"environment": make_environment(threads=1)}, "threads 1 against 4"),
    (
        {"environment": make_environment(variables={"OMP_WAIT_POLICY": "passive"})},
        "thread policy OMP_WAIT_POLICY=PASSIVE against unknown",
    ),
    (
        {"environment": make_environment(variables={"GOMP_CPU_AFFINITY": "0,2", "XLA_FLAGS": "--a"})},
        "thread policy GOMP_CPU_AFFINITY=0,2 against unknown",
    ),
    (
        {"environment": make_environment(variables={"TORCHINDUCTOR_MAX_AUTOTUNE": "1"})},
        "thread policy TORCHINDUCTOR_MAX_AUTOTUNE=1 against unknown",
    ),
    ({"environment": make_environment(machine_id="other")}, "machine {run} other against {run}"),
    ({"environment": make_environment("next")}, "environment next against default"),
    ({"environment": make_environment(accelerator="X")}, "accelerator model X against Example CPU"),
]


@several(
    [
        record
        for changes, reason in NOT_COMPARABLE
        for record in (make_record(model=reason), make_record(model=reason, backend="eager", **changes))
    ]
)
def test_what_cannot_be_compared_has_no_speedup_and_says_why(scenes, runs):
    [run] = runs
    sql = "SELECT * FROM speedups('inductor', NULL) WHERE backend = 'eager' AND run_id = $run"
    rows = query.fetch(scenes, sql, {"run": run})
    assert {row["model"]: (row["speedup"], row["speedup_reason"]) for row in rows} == {
        reason: (None, f"not comparable: {reason.format(run=run)}") for _, reason in NOT_COMPARABLE
    }


@scene(make_record(), make_record(backend="eager", environment=make_environment(threads=None)))
def test_what_is_unknown_of_an_environment_cannot_be_compared(of_run):
    """In a run of its own: beside results of the same environment it would be known from them."""
    assert of_run()["speedup_reason"] == "not comparable: threads unknown against 4"
    assert of_run()["speedup"] is None


@scene(
    make_record(per_iter=[0.5] * 8, dtype="bfloat16"),
    make_record(per_iter=[0.02] * 8),
    make_record(per_iter=[0.7] * 8, optimizer="SGD"),
    make_record(backend="eager", per_iter=[0.04] * 8),
)
def test_of_several_baselines_the_comparable_one_is_taken(of_run):
    assert of_run()["speedup"] == 0.5


GRAPHS = (make_record(cudagraphs=True, per_iter=[0.02] * 8), make_record(backend="eager", per_iter=[0.04] * 8))


@scene(*GRAPHS)
def test_a_preset_with_cudagraphs_has_its_baseline_with_them(of_run):
    """The peer's and the HUD's inductor on CUDA."""
    row = of_run()
    assert (row["speedup"], row["baseline_variant"]) == (0.5, "inductor cudagraphs")


@scene(*GRAPHS, make_record(per_iter=[0.01] * 8))
def test_beside_a_plain_one_inductor_with_cudagraphs_is_no_baseline(of_run):
    row = of_run()
    assert (row["speedup"], row["baseline_variant"]) == (0.25, "inductor")


SOME_PLAIN = (
    make_record(model="m1"),
    make_record(model="m1", cudagraphs=True, per_iter=[0.005] * 8),
    *(make_record(model=model, cudagraphs=True, per_iter=[0.005] * 8) for model in ("m2", "m3")),
)


@scene(*SOME_PLAIN)
def test_cudagraphs_have_no_speedup_over_themselves_where_the_run_has_inductor_without(scenes, run):
    """Two speedups of 1 by definition made of the one of 2 a geometric mean of 1.26 over three models."""
    [row] = query.fetch(
        scenes,
        "SELECT * FROM geomeans('inductor', NULL, runs := [$run]) WHERE variant = 'inductor cudagraphs'",
        {"run": run},
    )
    assert (row["n"], row["geomean"], row["only_here"]) == (1, pytest.approx(2.0), ["m2", "m3"])


@scene(make_record(), make_record(backend="eager", randomize_input=True))
def test_what_is_timed_has_to_be_equal(of_run):
    """New inputs for each iteration are other work: no speedup, and the reason names them."""
    assert of_run()["speedup"] is None
    assert of_run()["speedup_reason"] == "not comparable: what is timed randomize-input against default"


@scene(make_record(compile_mode="max-autotune"), make_record(backend="eager"))
def test_a_variant_of_the_baseline_backend_is_no_baseline(of_run):
    assert of_run()["speedup_reason"] == "no baseline result"
    assert of_run(baseline="inductor mode=max-autotune")["speedup"] == 1.0


@several([make_record(per_iter=[0.01] * 8)], [make_record(per_iter=[0.04] * 8)])
def test_a_pinned_run_is_the_baseline_of_all(scenes, runs):
    first, second = runs
    row = pair(scenes, f"run_id = '{second}'", run=first)
    assert (row["speedup"], row["baseline_run_id"]) == (0.25, first)
    assert pair(scenes, f"run_id = '{second}'", run="none")["speedup_reason"] == "no baseline result"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """The peer's results of two points in time, and of several batch sizes at the second."""
    folder = tmp_path_factory.mktemp("foreign")
    sizes = [
        peer_record("dcgan", backend=backend, batch_size=batch, total_time=[1, 1, 1, time], timestamp=2)
        for backend, batch, time in (
            ("inductor", 1, 0.1), ("inductor", 8, 0.8), ("eager", 1, 0.2), ("eager", 8, 0.2), ("eager", 2, 0.2),
        )
    ]  # fmt: skip
    write_peer(folder / "a.jsonl", [peer_record(timestamp=1), peer_record(timestamp=2), *sizes])
    with query.connect(ingest([folder / "a.jsonl"], folder / "store").snapshot) as con:
        yield con


def test_foreign_runs_are_not_compared_with_each_other(foreign):
    """What they leave out may differ: only within one run does an unknown stand for the same fact."""
    first, second = (row[0] for row in foreign.execute("SELECT run_id FROM runs ORDER BY run_started").fetchall())
    of_second = f"run_id = '{second}' AND model = 'BERT_pytorch'"
    row = pair(foreign, of_second, run=first)
    assert row["speedup_reason"] == "not comparable: environment unknown on both sides"
    assert pair(foreign, of_second)["speedup"] == 1.0


def test_foreign_batch_sizes_are_paired_each_with_its_own(foreign):
    found = query.fetch(
        foreign, "SELECT batch_size, speedup FROM speedups('inductor', NULL) WHERE backend = 'eager' ORDER BY 1"
    )
    assert [row["speedup"] for row in found] == [0.5, None, pytest.approx(4.0)]
    [mean] = query.fetch(foreign, "SELECT n, geomean FROM geomeans('inductor', NULL) WHERE backend = 'eager'")
    assert mean == {"n": 1, "geomean": pytest.approx(math.sqrt(2.0))}


@pytest.fixture
def mean(scenes, run):
    """Return the mean of the run of a scene."""

    def of(**kept):
        bound = query.with_baseline(query.Filters(run=(run,), backend=("eager",), **kept), "inductor", None)
        [row] = query.select(scenes, query.named("geomeans"), bound).to_dict("records")
        return row

    return of


@scene(
    *(make_record(model=name, per_iter=[0.08] * 8) for name in "abc"),
    *(
        make_record(model=name, backend="eager", per_iter=[time] * 8)
        for name, time in (("a", 0.04), ("b", 0.02), ("c", 0.01))
    ),
)
def test_geomean_has_an_interval_from_three_models_on(mean):
    row = mean()
    expected = geomean([2.0, 4.0, 8.0])
    assert (row["geomean_low"], row["geomean_high"]) == pytest.approx((expected.low, expected.high))


@scene(
    *(make_record(model=name, per_iter=[0.08] * 8) for name in "abcd"),
    make_record(model="e", status="oom", message="no room"),
    make_record(model="f", status="oom", message="no room"),
    make_record(model="a", backend="eager", per_iter=[0.04] * 8, verification_code="PASS"),
    make_record(model="b", backend="eager", per_iter=[0.01] * 8),
    make_record(model="c", backend="eager", status="timeout", message="late"),
    make_record(model="d", backend="eager", per_iter=[0.01] * 8, batch_size=1),
    make_record(model="e", backend="eager"),
    make_record(model="f", backend="eager", status="crashed", message="dead"),
)
def test_geomean_is_over_paired_models_and_lists_the_others(mean):
    row = mean()
    assert (row["n"], row["geomean"]) == (2, pytest.approx(4.0))
    assert pd.isna(row["geomean_low"])
    assert pd.isna(row["geomean_high"])
    assert (row["planned_n"], row["ran_n"], row["verified_n"], row["verify_asked"]) == (6, 4, 1, True)
    lists = {name: list(row[name]) for name in ("only_here", "only_baseline", "not_comparable", "failed")}
    assert lists == {"only_here": ["e"], "only_baseline": ["c"], "not_comparable": ["d"], "failed": ["c", "f"]}


@scene(make_record(status="oom"), make_record(backend="eager"))
def test_geomean_of_no_pair_is_missing_and_not_zero(mean):
    row = mean()
    assert row["n"] == 0
    assert math.isnan(row["geomean"])


@scene(
    *(
        make_record(model=name, backend=backend, per_iter=[time] * 8)
        for name, backend, time in (
            ("a", "inductor", 0.1),
            ("a", "eager", 0.2),
            ("b", "inductor", 0.1),
            ("b", "eager", 0.9),
        )
    )
)
def test_geomean_keeps_to_the_models_of_the_filter(mean):
    row = mean(model=("a",))
    assert (row["n"], row["geomean"], list(row["only_baseline"])) == (1, pytest.approx(0.5), [])


@scene(make_record(model="a", dtype="bfloat16"), make_record(model="b"), make_record(backend="eager"))
def test_a_model_that_the_baseline_has_in_another_dtype_only_is_not_missed(mean):
    assert list(mean()["only_baseline"]) == ["b"]


@scene(
    *(make_record(model=name, accelerator="cuda", environment=make_environment(accelerator="GPU")) for name in "ab"),
    make_record(model="c"),
    make_record(model="a", backend="eager"),
)
def test_models_that_only_a_baseline_on_another_device_has_are_those_of_that_device(scenes, run):
    asked = """SELECT n, only_baseline FROM geomeans('inductor', NULL, baseline_accelerator := $device)
        WHERE run_id = $run AND backend = 'eager'"""
    found = {device: scenes.execute(asked, {"run": run, "device": device}).fetchall() for device in ("cuda", None)}
    assert found == {"cuda": [(1, ["b"])], None: [(0, ["c"])]}


@scene(
    *(
        make_record(model=name, backend=backend, dtype=dtype)
        for name in "ab"
        for backend in ("inductor", "eager")
        for dtype in ("float32", "bfloat16")
    )
)
def test_settings_that_differ_are_separate_geomeans(scenes, run):
    asked = "SELECT dtype, n FROM geomeans('inductor', NULL) WHERE backend = 'eager' AND run_id = $run ORDER BY 1"
    assert scenes.execute(asked, {"run": run}).fetchall() == [("bfloat16", 2), ("float32", 2)]
