"""Operators: times with their floor, verdicts, forward and backward apart, work, a model's operators, other pages."""

import re

import msgspec
import pytest

from dashboard.formatting import TIMES
from store import query
from store.record import FallbackOp, Finding, Graph, UsedBy
from tests.dashboard.opened import copyable, open_page, tables, text
from tests.tiers import first_of

RELU = "torch.nn.functional.relu(float[64,64])"
MM = "torch.mm(float[8,8], float[8,8])"
MEDIAN = "aten::median(float[64])"
FLOOR = 20e-6


USED = {"model": "torchbench/resnet18", "test": "eval"}
FALLS = {"fallback_ops": [FallbackOp(op="median", klass="no_lowering", calls_per_iteration=1.0, calls_compile=0)]}
LAZY_GRAPH = {"graphs": [Graph(kind="hlo", fingerprint="a", ops=3, op_histogram={}, flops=1024.0)]}
HALF = RELU.replace("float", "bfloat16")


def _phases(forward, backward):
    phases = {"forward_time": [9.0] * 2 + [forward] * 8, "backward_time": [9.0] * 2 + [backward] * 8}
    return {"test": "train", "metrics": phases}


RUNS = {
    "verdicts": [
        (RELU, "inductor", 400, {}),
        (RELU, "eager", 200, {}),
        (RELU, "openxla+dynamo", 800, {}),
        (MM, "inductor", 100, {}),
        (MM, "openxla+dynamo", 100, {}),
    ],
    "near": [(RELU, "inductor", 400, {}), (RELU, "openxla+dynamo", 40, {"near": True})],
    "phases": [
        (RELU, "inductor", 400, _phases(100e-6, 300e-6)),
        (RELU, "openxla+dynamo", 400, _phases(200e-6, 200e-6)),
    ],
    "work": [
        (MM, "eager", 100, {}),
        (MM, "openxla+dynamo", 100, LAZY_GRAPH),
        (RELU, "eager", 100, {"metrics": {"input_bytes": []}}),
    ],
    "used": [
        (RELU, "eager", 1000, {"used_by": UsedBy(**USED, calls=3)}),
        (MM, "eager", 500, {"used_by": UsedBy(**USED, calls=2)}),
    ],
    "falls": [(MEDIAN, "openxla+dynamo", 100, FALLS), (RELU, "openxla+dynamo", 100, {})],
    "types": [(RELU, "eager", 100, {}), (HALF, "eager", 100, {"dtype": "bfloat16"})],
    "failed": [
        (RELU, "inductor", 400, {}),
        (RELU, "openxla+dynamo", 1, {"status": "run_error", "message": "no <b>lowering</b>"}),
    ],
    "no models": [
        (name, backend, micros, FALLS if backend == "openxla+dynamo" else {})
        for name in (RELU, MM, MEDIAN)
        for backend, micros in (("inductor", 400), ("openxla+dynamo", 800))
    ],
    "doubled": [
        (name, "eager", micros, {"used_by": UsedBy(model="torchbench/alexnet", test="eval", calls=2)})
        for name, micros in ((RELU, 1000), (MM, 500))
    ],
    "both tests": [
        (name, "eager", micros, {"test": test, "used_by": UsedBy(**USED, calls=2)})
        for name, micros in ((RELU, 1000), (MM, 500))
        for test in ("eval", "train")
    ],
    "wrong": [
        (name, "eager", micros, {"used_by": UsedBy(**USED, calls=2), "verification_code": code})
        for name, micros, code in ((RELU, 1000, "PASS"), (MM, 500, "FAIL"))
    ],
}
"""Run, which is also its label → operator, backend, microseconds and facts of each of its results."""


@pytest.fixture(scope="module")
def store(factory, ingested, tmp_path_factory):
    """A store of all of these, and of the models that some were recorded from."""
    runs = {
        run: [_operator(factory, *result[:3], run_id=run, label=run, **result[3]) for result in results]
        for run, results in RUNS.items()
    }
    alexnet = {"model": "alexnet", "backend": "eager", "run_id": "doubled", "per_iter": [0.01] * 8}
    runs["doubled"] += [factory.make_record(dtype=dtype, **alexnet) for dtype in ("float32", "bfloat16")]
    resnet = {"model": "resnet18", "per_iter": [0.004] * 8}
    runs["used"].append(factory.make_record(backend="eager", run_id="used", **resnet))
    runs["wrong"].append(factory.make_record(backend="eager", run_id="wrong", verification_code="FAIL", **resnet))
    runs["falls"].append(factory.make_record(backend="openxla+dynamo", run_id="falls", **FALLS, **resnet))
    return ingested(tmp_path_factory.mktemp("operators"), runs)


def _operator(factory, model, backend, micros, *, near=False, used_by=None, **facts):
    """Make the record of an operator whose call takes so many microseconds."""
    metrics = {"empty_sync_s": [FLOOR], "input_bytes": [16384.0]} | facts.pop("metrics", {})
    found = factory.make_record(
        suite="operators",
        model=model,
        backend=backend,
        per_iter=[micros * 1e-6 * (1 + 0.001 * step) for step in range(8)],
        batch_size=None,
        metrics=metrics,
        **facts,
    )
    findings = [Finding(code="near_floor", text="near", next_step=None)] if near else []
    return msgspec.structs.replace(found, findings=findings, used_by=used_by)


def of(monkeypatch, store, run, **query_):
    return open_page(monkeypatch, store, "operators", run=[run], **query_)


def test_each_operator_has_the_times_of_all_backends_and_their_verdicts(monkeypatch, store):
    at = of(monkeypatch, store, "verdicts")
    assert not at.exception
    shown = tables(at)[0]
    row = shown.set_index("operator").loc["torch.nn.functional.relu"]
    assert row["arguments"] == "float[64,64]"
    assert row["latency_s inductor"] == pytest.approx(401.4)
    assert (row["speedup eager"], row["speedup openxla+dynamo"]) == (f"▲ 2.00{TIMES}", f"▼ 0.50{TIMES}")
    assert shown.set_index("operator").loc["torch.mm"]["speedup openxla+dynamo"] == f"≈ 1.00{TIMES}"
    assert row["steady_n"] == 8
    assert "**openxla\\+dynamo** is slower than inductor on **1 of 2 operators**" in text(at)
    assert "says nothing about a model" in text(at)
    assert "the floor of what can be measured (eager 20.0 µs; inductor 20.0 µs; openxla\\+dynamo 20.0 µs)" in text(at)


def test_an_operator_near_its_floor_has_a_ratio_and_no_verdict(monkeypatch, store):
    at = of(monkeypatch, store, "near")
    row = tables(at)[0].iloc[0]
    assert row["speedup openxla+dynamo"] == f"10.00{TIMES}"
    assert row["note"] == "openxla+dynamo: below 3 times the time of an empty sync"
    assert "has no verdict against inductor on **1 of 1 operator**" in text(at)
    against = of(monkeypatch, store, "near", baseline=["openxla+dynamo"])
    assert tables(against)[0].iloc[0]["note"] == "inductor: the baseline is below 3 times the time of an empty sync"


def test_forward_and_backward_stand_apart_with_the_floor_of_one_wait(monkeypatch, store):
    at = of(monkeypatch, store, "phases", part=["Forward alone"])
    assert not at.exception
    every = tables(at)[1].set_index("series").loc["openxla+dynamo"]
    assert (every["forward_s"], every["backward_s"]) == (pytest.approx(200), pytest.approx(200))
    assert (every["forward_speedup"], every["backward_speedup"]) == (pytest.approx(0.5), pytest.approx(1.5))
    assert "train · cpu · forward alone" in text(at)
    assert "(inductor 10.0 µs; openxla\\+dynamo 10.0 µs)" in text(at)


def test_work_is_what_is_known_of_it(monkeypatch, store):
    at = of(monkeypatch, store, "work", operator_order="Name")
    [chart] = [buttons for buttons in at.get("button_group") if buttons.key == "operator_chart"]
    at = chart.set_value("Against FLOP").run()
    assert not at.exception
    assert at.query_params["operator_order"] == "Name"  # also in a link that is copied while the times are not drawn
    every = tables(at)[1].set_index(["operator", "series"])
    eager = every.loc["torch.mm", "eager"]
    assert (eager["flops"], eager["input_bytes"]) == (pytest.approx(1024e-6), pytest.approx(16384 / 2**20))
    assert eager["flops_per_s"] == pytest.approx(1024 / 100.35e-6 * 1e-9, rel=1e-3)
    relu = every.loc["torch.nn.functional.relu", "eager"]
    assert relu[["flops", "input_bytes", "bytes_per_s"]].isna().all()
    assert "1 result without it are not drawn" in text(at)


def test_operators_of_a_model_have_their_share_of_it(monkeypatch, store):
    at = of(monkeypatch, store, "used", baseline=["eager"])
    assert not at.exception
    assert "Of torchbench/resnet18, eval" in text(at)
    sums, shares = tables(at)[2:4]
    assert sums.iloc[0]["calls_s"] == pytest.approx(4.014, rel=1e-3)
    assert (sums.iloc[0]["model_latency_s"], sums.iloc[0]["calls"]) == (pytest.approx(4.0), 5)
    assert sums.iloc[0]["model_share"] == pytest.approx(100.35, rel=1e-3)
    assert list(shares["operator"]) == ["torch.nn.functional.relu", "torch.mm"]
    assert list(shares["calls"]) == [3, 2]
    assert list(shares["model_share eager"]) == pytest.approx([75.26, 25.09], rel=1e-3)


def test_a_fallback_op_leads_to_what_it_takes_alone_and_back(monkeypatch, store):
    at = open_page(monkeypatch, store, "fallback-ops", run=["falls"], op=["median"])
    assert at.button(key="alone-aten::median").label == "Measured alone as **aten\\:\\:median**, 1 call"
    there = of(monkeypatch, store, "falls", operator=["aten::median"])
    assert not there.exception
    assert list(tables(there)[0]["operator"]) == ["aten::median"]
    back = there.button(key="falls-back-median").label
    assert back == "Fallback op **median** (no lowering): called by 1 model and 1 operator of this run"
    there.button(key="all-operators").click().run()
    assert len(tables(there)[0]) == 2


def test_data_types_part_rows_and_never_backends(monkeypatch, store):
    at = of(monkeypatch, store, "types")
    assert not at.exception
    shown = tables(at)[0]
    assert list(shown["arguments"]) == ["bfloat16[64,64]", "float[64,64]"]
    assert "latency_s eager" in shown.columns


def test_a_run_without_operators_says_how_they_are_measured(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "operators", operator=["'; DROP TABLE x"])
    assert not at.exception
    assert at.info[0].value == "This run measured no operators."
    assert any("--ops-of" in block for block in copyable(at))
    assert "DROP TABLE" in at.warning[0].value


def test_what_failed_has_no_time_and_its_reason(monkeypatch, store):
    at = of(monkeypatch, store, "failed")
    row = tables(at)[0].iloc[0]
    assert row["latency_s openxla+dynamo"] != row["latency_s openxla+dynamo"]
    assert row["note"].startswith("openxla+dynamo: ")
    assert "no <b>lowering</b>" in row["note"]


def test_a_filter_leaves_its_backends(monkeypatch, store):
    at = of(monkeypatch, store, "verdicts", backend=["eager"], model=[RELU])
    assert list(tables(at)[1]["series"]) == ["eager"]
    none = of(monkeypatch, store, "verdicts", backend=["eager"], model=[MM])
    assert "pass the filters" in none.info[0].value


@pytest.mark.parametrize("page", first_of(["overview", "fallback-ops", "speedup", "compile-time", "trends", "model"]))
def test_operators_are_not_counted_as_models(monkeypatch, store, page):
    at = open_page(monkeypatch, store, page, run=["no models"])
    assert not at.exception
    words = "\n".join([text(at), *(button.label for button in at.button), *(part.label for part in at.expander)])
    # Trends counts series, one of which is no model either.
    assert page == "trends" or re.search(r"\d operators?\b", words)
    assert not re.search(r"\d models?\b", words)


def test_an_operator_stands_once_though_the_run_has_two_configurations_of_its_model(store):
    """Nobody knows which one it was recorded from, so the model has no latency, and no operator is doubled."""
    with query.connect(query.current_snapshot(store)) as con:
        asked = "WHERE run_id = 'doubled' AND of_model IS NOT NULL"
        rows = query.fetch(con, f"SELECT model_latency_s FROM operators {asked}")
        [total] = query.fetch(con, "SELECT * FROM operator_totals WHERE run_id = 'doubled'")
    assert [row["model_latency_s"] for row in rows] == [None, None]
    assert (total["operators_n"], total["calls"], total["model_latency_s"]) == (2, 4, None)
    assert total["calls_s"] == pytest.approx(0.003, rel=0.01)


def test_the_sum_of_a_models_operators_leaves_out_what_train_measured_of_them(store):
    """`--config operators.json` measures both tests unless one is named; no iteration makes a call in both."""
    with query.connect(query.current_snapshot(store)) as con:
        [total] = query.fetch(con, "SELECT * FROM operator_totals WHERE run_id = 'both tests'")
    assert (total["operators_n"], total["measured_n"], total["calls"]) == (2, 2, 4)
    assert total["calls_s"] == pytest.approx(0.003, rel=0.01)


def test_wrong_answers_have_no_part_in_the_sum_of_a_models_operators_and_give_the_model_no_time(store):
    with query.connect(query.current_snapshot(store)) as con:
        [total] = query.fetch(con, "SELECT * FROM operator_totals WHERE run_id = 'wrong'")
    assert (total["operators_n"], total["measured_n"]) == (2, 1)
    assert total["calls_s"] == pytest.approx(0.002, rel=0.01)
    assert (total["model_latency_s"], total["model_share"]) == (None, None)
