"""Where nothing can be judged, the first sentence of a page says so: no change found is no answer without a result."""

import json

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from store import query
from store.weekly import weekly_report
from tests.dashboard.opened import open_page, seen, text

RUNS = ("night-1", "night-2")


@pytest.fixture(scope="module")
def failures(factory, ingested, tmp_path_factory):
    """A store of two runs in which every experiment crashed."""
    runs = {
        run: [
            factory.make_record(model=model, backend=backend, status="crashed", run_id=run, label="all-failed")
            for model in ("resnet18", "vgg16")
            for backend in factory.BACKENDS
        ]
        for run in RUNS
    }
    return ingested(tmp_path_factory.mktemp("failures"), runs)


@pytest.fixture(scope="module")
def two(factory, ingested, tmp_path_factory):
    """A store of two good runs whose label has a character of Markdown."""
    runs = {
        run: [
            factory.make_record(model=model, backend=backend, run_id=run, label="nightly-eval")
            for model in ("resnet18", "vgg16", "alexnet")
            for backend in factory.BACKENDS
        ]
        for run in RUNS
    }
    return ingested(tmp_path_factory.mktemp("two"), runs)


def test_no_comparable_experiment_is_no_all_clear(failures):
    words = text(seen(failures, "compare", a=[RUNS[0]], b=[RUNS[1]]))
    assert "Whether anything got slower is unknown: none of 8 experiments can be compared" in words
    assert "Nothing got worse" not in words


def test_an_experiment_that_failed_twice_is_counted_once(failures):
    words = text(seen(failures, "compare", a=[RUNS[0]], b=[RUNS[1]]))
    [line] = [line for line in words.splitlines() if "Without a finding: " in line]
    assert "8 still failing" in line
    assert "not comparable" not in line


@pytest.mark.parametrize(("page", "reason"), [("speedup", "speedup_reason"), ("compile-time", "why")])
def test_a_table_without_a_number_has_the_reason_also_where_all_rows_have_the_same(failures, page, reason):
    [first, *_] = seen(failures, page).dataframe
    assert reason in first.proto.column_order
    assert not {"latency_s", "first_iteration_s"} & set(first.proto.column_order)


def test_the_only_run_of_a_store_has_a_next_step_on_pages_of_two_runs(monkeypatch, failed):
    compare, trends = (text(open_page(monkeypatch, failed, page)) for page in ("compare", "trends"))
    assert "Choose two of its backends, or measure another run" in compare
    assert "the same `xlabench run` command measures another" in trends


def test_without_results_of_xla_fallback_ops_are_unknown(monkeypatch, factory, ingested, tmp_path):
    store = ingested(tmp_path, {"one": [factory.make_record(run_id="one")]})
    words = text(open_page(monkeypatch, store, "fallback-ops"))
    command = f"`xlabench run --home {tmp_path} --backend openxla+dynamo`"
    assert f"so fallback ops are unknown; {command} measures some" in words


def test_the_weekly_review_says_the_same(failures):
    with query.connect(query.current_snapshot(failures)) as con:
        verdict = weekly_report(con, [RUNS[1]], RUNS[0]).verdict
    assert verdict.startswith("Whether anything got slower is unknown: none of 8 experiments can be compared;")


@pytest.fixture(scope="module")
def other_label(factory, ingested, tmp_path_factory):
    """A store of two runs of two labels that measured two models each, none of them in common."""
    runs = {
        label: [factory.make_record(model=model, run_id=label, label=label) for model in models]
        for label, models in (("weekly", ("resnet18", "vgg16")), ("mine", ("alexnet", "dcgan")))
    }
    return ingested(tmp_path_factory.mktemp("labels"), runs)


def test_runs_without_a_common_experiment_are_no_all_clear(other_label):
    words = text(seen(other_label, "compare", a=["weekly"], b=["mine"]))
    assert "Whether anything got slower is unknown: A and B share no experiment" in words
    with query.connect(query.current_snapshot(other_label)) as con:
        verdict = weekly_report(con, ["mine"], "weekly").verdict
    assert verdict.startswith("Whether anything got slower is unknown: both runs share no experiment;")


def test_what_only_another_label_plans_is_not_dropped(other_label):
    words = text(seen(other_label, "compare", a=["weekly"], b=["mine"]))
    assert "no longer tried" not in words
    assert "2 not tried in B" in words
    assert "2 tried in B only" in words


def test_a_trend_of_failures_says_that_nothing_ran(failures):
    words = text(seen(failures, "trends"))
    assert "No experiment ran in eval on cpu, torchbench in these 2 runs" in words
    assert "No confirmed change" not in words


def test_the_chart_of_rates_has_a_legend_where_no_chart_of_speedups_has_one(failures):
    [chart] = seen(failures, "trends").get("vega_lite_chart")
    colours = [layer["encoding"]["color"] for layer in json.loads(chart.proto.spec)["layer"]]
    assert [colour["legend"]["orient"] for colour in colours] == ["top", "top"]


def test_too_few_runs_for_a_confirmed_change_are_no_answer(two):
    words = text(seen(two, "trends"))
    assert "No change of a latency can be confirmed yet: that takes 10 runs, and here are 2" in words


def test_the_label_of_the_run_before_is_escaped_once(two):
    captions = [caption.value for caption in seen(two).caption]
    [line] = [caption for caption in captions if caption.startswith("The coloured line of a cell")]
    assert r"since nightly\-eval of" in line


def test_two_runs_without_controls_are_told_once(two):
    words = text(seen(two, "compare", a=[RUNS[0]], b=[RUNS[1]]))
    assert words.count("False alarms: ") == 1
    assert "neither run has A/A controls" in words


def test_a_mean_of_one_model_is_not_drawn_beside_the_model(two):
    """It would be the same number, and without the model's interval."""
    drawn = []
    for choice in ({}, {"model": ["vgg16"]}):
        [chart] = seen(two, "speedup", **choice).get("vega_lite_chart")
        sent = [convert_arrow_bytes_to_pandas_df(each.data.data) for each in chart.proto.datasets]
        drawn.append(any("geomean" in set(rows["model"]) for rows in sent if "model" in rows))
    assert drawn == [True, False]


def test_one_model_is_a_doubt_unless_the_reader_chose_it(two):
    assert "one model only" not in text(seen(two, "speedup", model=["vgg16"]))
