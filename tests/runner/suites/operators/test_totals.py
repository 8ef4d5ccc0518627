"""What a model's operators take together, beside the model."""

import pytest

from runner.suites.operators.totals import DISTURBED, sentences, totals
from store.record import UsedBy
from tests.store.factory import make_environment, make_record


def of(model, calls, **facts):
    record = make_record(suite="operators", model=model, **facts)
    record.used_by = UsedBy(model="timm_models/vit", test="eval", calls=calls)
    return record


@pytest.fixture
def run():
    """Two operators and their model in two backends; inductor could not run one of them."""
    eager, inductor = {"backend": "eager"}, {"backend": "inductor"}
    return [
        of("aten::mm(float[4,4], float[4,4])", 10, per_iter=[0.002] * 5, **eager),
        of("aten::mm(float[4,4], float[4,4])", 10, per_iter=[0.004] * 5, replica=1, **eager),
        of("aten::relu(float[4])", 5, per_iter=[0.001] * 5, **eager),
        of("aten::relu(float[4])", 5, per_iter=[0.002] * 5, **inductor),
        of("aten::mm(float[4,4], float[4,4])", 10, status="run_error", message="no", **inductor),
        make_record(suite="timm_models", model="vit", per_iter=[0.05] * 5, **eager),
        make_record(suite="timm_models", model="other", per_iter=[0.5] * 5, **eager),
    ]


def test_a_total_is_calls_times_the_median_over_processes(run):
    found = totals(run, "timm_models/vit")["eager"]
    assert found.operators_s == {"aten::mm(float[4,4], float[4,4])": 0.03, "aten::relu(float[4])": 0.005}
    assert (found.sum_s, found.model_s, found.without) == (pytest.approx(0.035), 0.05, 0)


def test_an_operator_without_a_time_is_counted_not_added(run):
    found = totals(run, "timm_models/vit")["inductor"]
    assert (found.operators_s, found.without, found.model_s) == ({"aten::relu(float[4])": 0.01}, 1, None)


def test_the_report_says_the_share_and_the_operators_that_take_most(run):
    lines = sentences(totals(run, "timm_models/vit"), "timm_models/vit")
    assert lines[1] == "  eager: sum of 2 operators 35 ms [35, 35], the model 50 ms [50, 50]: 0.70 of it"
    assert lines[2] == "  inductor: sum of 1 operators 10 ms [10, 10]; 1 operators have no time"
    assert lines[3] == "  10 x aten::mm(float[4,4], float[4,4]): eager 30 ms"
    assert lines[4] == "  5 x aten::relu(float[4]): eager 5 ms, inductor 10 ms"
    assert "say nothing about fused models" in lines[-1]


def test_operators_near_their_floor_are_counted_with_their_share(run):
    for record in run:
        record.metrics["empty_sync_s"] = [0.0004]
    found = totals(run, "timm_models/vit")
    assert found["eager"].near_floor == {"aten::relu(float[4])"}
    assert "; 1 of them below 3 x their floor, 14% of the sum" in sentences(found, "timm_models/vit")[1]
    assert "floor" not in sentences(found, "timm_models/vit")[2]


def test_a_disturbed_measurement_says_that_its_ratio_means_little(run):
    busy = of("aten::sum(float[4])", 2, per_iter=[0.001, 0.001, 0.001, 0.9, 0.9], backend="eager")
    assert DISTURBED in sentences(totals([*run, busy], "timm_models/vit"), "timm_models/vit")
    assert DISTURBED not in sentences(totals(run, "timm_models/vit"), "timm_models/vit")


def test_variants_and_environments_have_totals_of_their_own():
    """What was measured as a control, and what is wrong, is in none."""
    relu, times = "aten::relu(float[4])", {"per_iter": [0.001] * 5}
    run = [
        of(relu, 5, **times),
        of(relu, 5, per_iter=[0.003] * 5, compile_mode="max-autotune"),
        of(relu, 5, per_iter=[0.009] * 5, twin_of="the first", purpose="calibration"),
        of("aten::mm(float[4,4], float[4,4])", 2, verification_code="FAIL", **times),
    ]
    found = totals(run, "timm_models/vit")
    sums = {backend: total.sum_s for backend, total in found.items()}
    assert sums == {"inductor": pytest.approx(0.005), "inductor mode=max-autotune": pytest.approx(0.015)}
    assert found["inductor"].without == 1
    other = of(relu, 5, environment=make_environment("new"), **times)
    names = {"inductor in default", "inductor mode=max-autotune in default", "inductor in new"}
    assert set(totals([*run, other], "timm_models/vit")) == names
