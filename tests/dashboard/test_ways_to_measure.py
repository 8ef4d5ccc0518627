"""Charts over runs join only runs that were measured alike, and contain no wrong answer."""

import json
from datetime import UTC, datetime

import pandas as pd
import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from dashboard import data
from dashboard.data import frames
from dashboard.formatting import TIMES
from dashboard.screens.trends.overall import STEPS
from dashboard.ui import answers
from dashboard.view import ViewSelection
from store import changepoints, query
from store.record import FallbackOp, Quiet
from store.state import marks
from tests.dashboard.opened import open_page, tables, text

MODELS = ("alexnet", "dcgan", "vgg16")
RUNS = ("first", "second", "wrong", "halved", "blocks", "policy")
SECONDS = {"inductor": 0.010, "openxla+dynamo": 0.008}


@pytest.fixture(scope="module")
def ways(factory, ingested, tmp_path_factory):
    """Six nights: two alike, a wrong answer, half of the threads, blocks of 20 iterations, and a policy of threads."""

    def night(name, slower=1.0, threads=4, **facts):
        environment = factory.make_environment(threads=threads)
        return [
            factory.make_record(
                run_id=name,
                model=model,
                backend=backend,
                per_iter=[seconds * slower] * 8,
                environment=environment,
                verification_code="FAIL"
                if name == "wrong" and (model, backend) == ("alexnet", "openxla+dynamo")
                else "PASS",
                **facts,
            )
            for model in MODELS
            for backend, seconds in SECONDS.items()
        ]

    runs = {
        "first": night("first"),
        "second": night("second"),
        "wrong": night("wrong", 0.1),
        "halved": night("halved", 1.9, threads=2),
        "blocks": night("blocks", 0.9, iterations_per_run=20),
        "policy": night("policy", 0.9, iterations_per_run=20),
    }
    for record in runs["policy"]:
        record.measurement.quiet = Quiet(rule=1, policy="libraries")
    return ingested(tmp_path_factory.mktemp("ways"), runs)


def of_model(at, column):
    """Return the rows of the charts that have a way to measure, and the specification."""
    [(chart, rows)] = [
        (json.loads(proto.spec), rows)
        for proto in (chart.proto for chart in at.get("vega_lite_chart"))
        for rows in [convert_arrow_bytes_to_pandas_df(each.data.data) for each in proto.datasets]
        if "way" in rows and column in rows
    ]
    lines = [layer["encoding"] for layer in chart["layer"] if layer["mark"]["type"] == "line"]
    assert [line["detail"]["field"] for line in lines] == ["way"]
    return rows


def parts(rows):
    """Return how many runs each line joins, the first of the runs first."""
    return list(rows.sort_values("started").groupby("way", sort=False).size())


SAID = "Lines join only runs that were measured alike; these differ in threads, iterations per block."


def test_one_model_on_trends(monkeypatch, ways):
    at = open_page(monkeypatch, ways, "trends", of_model=["alexnet"], backend=["openxla+dynamo"])
    assert not at.exception
    assert parts(of_model(at, "value")) == [2, 1, 2]
    assert SAID in text(at)
    assert f"1 result without it: 1 {TIMES} wrong answer" in text(at)


def test_the_history_on_page_model(monkeypatch, ways):
    asked = {"model": ["alexnet"], "test": ["eval"], "result": ["openxla+dynamo"], "part": ["History"]}
    at = open_page(monkeypatch, ways, "model", **asked)
    assert not at.exception
    assert parts(of_model(at, "ms")) == [2, 1, 2]
    assert SAID in text(at)


def test_runs_that_were_measured_alike_have_one_line_and_no_sentence(monkeypatch, ways):
    at = open_page(monkeypatch, ways, "trends", run=["second"], of_model=["alexnet"], backend=["openxla+dynamo"])
    assert parts(of_model(at, "value")) == [2]
    assert "Lines join only" not in text(at)


def test_the_last_latencies_on_page_speedup(monkeypatch, ways):
    """Neither the wrong answer nor the night of fewer threads counts."""

    def trends(run):
        at = open_page(monkeypatch, ways, "speedup", run=[run], backend=["openxla+dynamo"])
        assert not at.exception
        [rows] = [table for table in tables(at) if "speedup" in table]
        ours = rows[rows["series"] == "openxla+dynamo"].set_index("model")
        return tuple(ours.loc[model].get("trend") for model in ("alexnet", "dcgan"))

    def times(*factors):
        return pytest.approx([factor * SECONDS["openxla+dynamo"] for factor in factors])

    assert trends("second") == (times(1, 1), times(1, 1))
    assert trends("halved") == (None, None)
    assert trends("policy") == (times(0.9, 0.9), times(0.9, 0.9))
    assert trends("wrong") == (None, times(1, 1, 0.1))


def test_no_line_crosses_a_mark(monkeypatch, factory, ingested, tmp_path):
    """A user has set one after the first of three nights."""
    nights = {
        name: [factory.make_record(run_id=name, backend=each, per_iter=[s] * 8) for each, s in SECONDS.items()]
        for name in ("before", "after", "last")
    }
    store, state = ingested(tmp_path, nights), tmp_path / "state.sqlite"
    then = datetime.fromtimestamp(nights["before"][0].timestamp + factory.DAY / 2, UTC).replace(tzinfo=None)
    marks.add(state, marks.Mark(marked_at=then, text="new driver", who="ann", created_at=then))
    changepoints.update(store, state)
    at = open_page(monkeypatch, store, "model", model=["resnet18"], result=["openxla+dynamo"], part=["History"])
    assert not at.exception
    assert parts(of_model(at, "ms")) == [1, 2]
    assert "No line crosses a mark" in text(at)
    chosen = ViewSelection(run_id="last", baseline="inductor", backend=("openxla+dynamo",))
    for name in ("latency_history", "last_geomeans"):
        rows = data.rows(str(query.current_snapshot(store)), name, chosen, runs=list(nights), point="same")
        assert {len(trend) for trend in rows["trend"]} == {2}
    for run, before, counted in (("last", "after", (1, 0)), ("after", "before", (0, 1))):
        chosen = ViewSelection(run_id=run, baseline="inductor", backend=("openxla+dynamo",))
        rows = data.rows(str(query.current_snapshot(store)), "cost_changes", chosen, before=before)
        assert set(zip(rows["n"], rows["otherwise_n"], strict=True)) == {counted}
    at = open_page(monkeypatch, store, run=["after"], unfolded=["moved", "numbers"])
    [means] = [table.set_index("series") for table in tables(at) if "change" in table]
    assert means["change"]["openxla+dynamo"] == f"— {answers.PARTED}"
    assert "no change is known" in text(at)
    assert "4 not comparable" in "".join(part.label for part in at.expander)
    [moved] = [table for table in tables(at) if "first_iteration_s_move" in table]
    assert set(moved["first_iteration_s_move"]) == {f"— {answers.PARTED}"}


@pytest.mark.parametrize(
    ("before", "after", "n"),
    [
        ("first", "second", 3),
        ("second", "halved", 0),
        ("halved", "blocks", 0),
        ("blocks", "policy", 3),
        ("second", "wrong", 2),
    ],
)
def test_costs_are_compared_over_models_that_were_measured_alike(ways, before, after, n):
    chosen = ViewSelection(run_id=after, baseline="inductor", backend=("openxla+dynamo",))
    rows = data.rows(str(query.current_snapshot(ways)), "cost_changes", chosen, before=before)
    assert dict(zip(rows["measure"], rows["n"], strict=True)) == {"compiler_time_s": n, "first_iteration_s": n}


def test_a_mean_over_other_models_or_of_models_measured_differently_is_a_hollow_point(monkeypatch, ways):
    at = open_page(monkeypatch, ways, "trends", backend=["openxla+dynamo"])
    assert not at.exception
    [(spec, points)] = [
        (json.loads(proto.spec), rows)
        for proto in (chart.proto for chart in at.get("vega_lite_chart"))
        for rows in [convert_arrow_bytes_to_pandas_df(each.data.data) for each in proto.datasets]
        if "step" in rows
    ]
    [layer] = [layer for layer in spec["layer"] if "fill" in layer["encoding"]]
    assert layer["encoding"]["fill"]["condition"]["test"] == "!datum.step"
    assert not layer["mark"]["filled"], "a mark that is filled as a whole has no outline, so a hollow one is invisible"
    points = points.sort_values("started")
    assert list(points["step"]) == [False, False, True, True, True, False]
    assert [label.partition(", ")[2].partition(";")[2].strip() for label in points["label"]] == [
        "",
        "",
        "without alexnet",
        "with alexnet; measured with other threads: dcgan, vgg16",
        "measured with other iterations per block, threads: alexnet, dcgan, vgg16",
        "",
    ]
    assert STEPS in text(at)
    assert STEPS not in text(open_page(monkeypatch, ways, "trends", run=["second"]))


@pytest.mark.parametrize(
    ("run", "trend"),
    [("second", [1.25, 1.25]), ("wrong", [1.25] * 3), ("halved", None), ("policy", [1.25, 1.25])],
)
def test_a_small_line_of_overview_is_over_the_models_of_the_shown_mean(ways, run, trend):
    """The mean of the night of the wrong answer is over two models, which the nights before it have, too."""
    chosen = ViewSelection(run_id=run, baseline="inductor", backend=("openxla+dynamo",))
    runs = {"runs": list(RUNS), "point": "same"}
    rows = data.rows(str(query.current_snapshot(ways)), "last_geomeans", chosen, **runs)
    assert [list(row) for row in rows["trend"]] == ([] if trend is None else [pytest.approx(trend)])


def test_a_small_line_of_overview_leaves_out_the_models_that_the_page_leaves_out(factory, ingested, tmp_path):
    """A model with a fallback op in the shown run is in no mean of the page, so in none of its line."""

    def night(name):
        made = [
            factory.make_record(run_id=name, model=model, backend=backend, per_iter=[seconds] * 8)
            for model, speedup in (("alexnet", 1.25), ("dcgan", 5.0))
            for backend, seconds in (("inductor", 0.010), ("openxla+dynamo", 0.010 / speedup))
        ]
        made[-1].fallback_ops = [FallbackOp(op="nonzero", klass="host_read", calls_per_iteration=1.0, calls_compile=1)]
        return made

    store = str(query.current_snapshot(ingested(tmp_path, {name: night(name) for name in ("first", "second")})))
    runs = {"runs": ["first", "second"], "point": "same"}
    for only, mean in (((), 2.5), (("no fallback ops",), 1.25)):
        chosen = ViewSelection(run_id="second", baseline="inductor", backend=("openxla+dynamo",), only=only)
        [shown] = data.rows(store, "geomeans", chosen)["geomean"]
        [trend] = data.rows(store, "last_geomeans", chosen, **runs)["trend"]
        assert [shown, *trend] == pytest.approx([mean] * 3)


@pytest.fixture(scope="module")
def transfers(factory, ingested, tmp_path_factory):
    """A run of each way to measure that brings the inputs to the device in each iteration, and one that does not."""

    def run(name, seconds, threads=4, **facts):
        environment = factory.make_environment(threads=threads)
        made = [
            factory.make_record(run_id=name, backend=backend, per_iter=[seconds] * 8, environment=environment, **facts)
            for backend in ("eager", "torchxla_trace_once")
        ]
        for record in made:
            record.experiment.include_transfers = name != "shown"
        return made

    runs = {
        "alike": run("alike", 0.011),
        "threads": run("threads", 0.5, threads=1),
        "blocks": run("blocks", 0.5, iterations_per_run=20),
        "shown": run("shown", 0.010),
    }
    return ingested(tmp_path_factory.mktemp("transfers"), runs)


def test_the_last_rung_of_the_overhead_ladder_is_of_a_run_that_was_measured_alike(transfers):
    """The newest run with the other choice has other blocks: its difference is no cost of transfers."""
    of = {"of_suite": "torchbench", "of_model": "resnet18", "of_test": "eval"}
    chosen = ViewSelection(run_id="shown", baseline="inductor")
    rows = data.rows(str(query.current_snapshot(transfers)), "overhead_ladder", chosen, run="shown", **of)
    last = rows[rows["rung"] == rows["rung"].max()]
    assert list(last["run_id"]) == ["alike"]
    assert list(last["change_s"]) == pytest.approx([0.001])


def test_an_unknown_policy_is_that_of_its_neighbours_but_none_that_names_variables():
    """A record that does not know its policy was measured where no such variable was set."""
    policies = ["OMP_WAIT_POLICY=PASSIVE", None, "libraries", None, "OMP_WAIT_POLICY=PASSIVE"]
    rows = [
        {"series_id": "s", "run_started": number, "run_id": str(number), "measured": "", "policy": policy, "epoch": 0}
        for number, policy in enumerate(policies)
    ]
    ways = frames.with_settings_key(pd.DataFrame(rows))["way"].tolist()
    assert ways == [f"{policies[0]}0", "libraries0", "libraries0", "libraries0", f"{policies[0]}0"]
