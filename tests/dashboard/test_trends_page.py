"""Trends: means, rates and model counts over the runs of a label, confirmed changes and marks."""

import json
from datetime import datetime, timedelta

import pandas as pd
import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from dashboard import settings
from dashboard.formatting import TIMES, ratio
from dashboard.screens import trends
from dashboard.screens.trends.overall import events_of
from store import query
from store.charts import history
from store.record import Quiet
from store.state.marks import NAMES
from tests.dashboard.nightly_runs import CHANGED_AT, RUNS, store_of_nights
from tests.dashboard.opened import open_page, seen, tables, text


@pytest.fixture(scope="module")
def nights(factory, tmp_path_factory):
    return store_of_nights(factory, tmp_path_factory.mktemp("nights"))


@pytest.fixture
def opened(monkeypatch, nights):
    monkeypatch.delenv(settings.HOME_VARIABLE, raising=False)

    def make(**params):
        given = {name: [value] for name, value in params.items()}
        at = seen(nights, "trends", unfolded=["part-numbers", "one-model"], **given)
        assert not at.exception
        return at

    return make


def numbers(at):
    return next(table for table in tables(at) if "geomean" in table.columns)


def test_the_answer_says_from_where_to_where_and_over_how_many_models(opened):
    """A mark parts the runs of the fourth model, alexnet."""
    words = text(opened())
    change = f"from **0.83{TIMES}** to **0.76{TIMES}** in eval on cpu, torchbench"
    assert f"**openxla\\+dynamo** over inductor went {change}, over the same 3 models since 2025-10-09" in words
    assert f"1 confirmed change of a latency, judged over all {RUNS} runs: vgg16 eval under openxla\\+dynamo " in words
    assert f":red[▼ 1.30{TIMES} slower] since 2025-10-" in words
    assert words.index("1 confirmed change") < words.index("went from")
    assert "(between these two runs its own time shows no significant change)" in words


LONE = "<script>alert(1)</script>"
"""A label of one run."""
SUITES = {"huggingface": (4, 1.0), "timm_models": (3, 1.5), "dummy": (5, 3.0)}
"""How many models a suite has, and by what they get slower."""


@pytest.fixture(scope="module")
def labels(factory, ingested, tmp_path_factory):
    """A store of a label of two runs of several suites, one of one run, and one of turns that came to be judged."""
    runs = {
        f"night-{night}": [
            factory.make_record(
                suite=suite,
                model=f"model_{number}",
                backend=backend,
                run_id=f"night-{night}",
                label="suites",
                per_iter=[0.01 * (slower if night and backend == "openxla+dynamo" else 1)] * 8,
            )
            for suite, (models_n, slower) in SUITES.items()
            for number in range(models_n)
            for backend in ("inductor", "openxla+dynamo")
        ]
        for night in range(2)
    }
    runs["one"] = [factory.make_record(run_id="one", label=LONE)]
    for name, quiet in {"a": None, "b": None, "c": Quiet(rule=1, policy="libraries")}.items():
        record = factory.make_record(run_id=name, label="judged")
        record.measurement.quiet = quiet
        runs[name] = [record]
    return ingested(tmp_path_factory.mktemp("labels"), runs)


def test_the_page_opens_where_a_mean_moved_most_and_never_with_synthetic_models(monkeypatch, labels):
    at = open_page(monkeypatch, labels, "trends", run=["night-1"], label=["suites"])
    order = ("timm_models", "huggingface", "dummy")
    assert at.selectbox(key="trend_section").options == [f"eval · cpu · {suite}" for suite in order]


def test_the_page_opens_where_the_largest_confirmed_change_is():
    """A change of one model may be confirmed where no mean of two runs moved significantly."""
    place = {"test": "eval", "accelerator": "cpu"}
    rows = pd.DataFrame([place | {"suite": suite, "n": n} for suite, n in (("timm_models", 2), ("huggingface", 1))])
    ratios = {"timm_models": 1.5, "huggingface": 0.5}
    changes = [place | {"suite": suite, "change_ratio": size, "run_after": "b"} for suite, size in ratios.items()]
    suites = [suite for *_, suite in trends._sections(None, rows, pd.DataFrame(changes), ("b",))]
    assert suites == ["huggingface", "timm_models"]


def test_one_model_is_drawn_when_it_is_asked_for(monkeypatch, nights):
    def charts(**given):
        at = open_page(monkeypatch, nights, "trends", **{name: [value] for name, value in given.items()})
        assert not at.exception
        [title] = [part.label for part in at.expander if part.label.startswith("One model")]
        assert title == "One model over the runs · 1 model with a confirmed change"
        return len(at.get("vega_lite_chart"))

    shut = charts()
    assert charts(of_model="alexnet") == charts(number="Peak memory") == shut + 1


def test_numbers_are_those_of_the_store(opened, nights):
    rows = numbers(opened())
    with query.connect(query.current_snapshot(nights)) as con:
        means = query.select(con, "FROM geomeans('inductor', NULL)")
        rates = query.select(con, "FROM run_status")
    assert len(rows) == len(means) == 2 * RUNS
    shown = rows[rows["series"] == "openxla+dynamo"].iloc[0]
    newest = means[(means["run_id"] == f"night-{RUNS - 1}") & (means["variant"] == "openxla+dynamo")].iloc[0]
    assert (shown["geomean"], shown["n"]) == (newest["geomean"], newest["n"])
    failing = rates[(rates["run_id"] == "night-05") & (rates["variant"] == "openxla+dynamo")].iloc[0]
    at_night = rows[(rows["series"] == "openxla+dynamo") & (rows["ran"] != "4/4")]
    assert set(at_night["ran"]) == {f"{failing['ran_n']}/{failing['planned_n']}"} == {"3/4"}
    assert set(at_night["n"]) == {3}


def test_no_run_is_newer_than_the_shown_one_and_as_many_as_are_asked_for(opened):
    rows = numbers(opened(run="night-12", last="12"))
    assert len(rows) == 2 * 12
    assert f"{rows['run_started'].max():%Y-%m-%d}" == "2025-10-21"


def test_the_answer_is_over_models_that_both_runs_have(opened):
    """In run 5 dcgan has no speedup, and a mark lies between the two runs of alexnet: both are in neither mean."""
    assert "over the same 2 models" in text(opened(run="night-05"))


def test_models_of_the_filter_are_the_models_of_the_mean(opened):
    rows = numbers(opened(model="vgg16"))
    assert set(rows["n"]) == {1}


def test_a_mean_over_all_models_of_the_filter_moved_as_the_store_says(opened, nights):
    words = text(opened(model="vgg16"))
    with query.connect(query.current_snapshot(nights)) as con:
        sql = """SELECT geomean_before, geomean_after
            FROM geomean_changes('inductor', NULL, 'night-00', $run, models := ['vgg16'])
            WHERE variant = 'openxla+dynamo'"""
        [moved] = query.fetch(con, sql, {"run": f"night-{RUNS - 1:02}"})
    before, after = ratio(moved["geomean_before"]), ratio(moved["geomean_after"])
    assert before != after
    assert f"from **{before}** to **{after}** in eval on cpu, torchbench, over one model since" in words


def drawn(at):
    """Return each chart of the page: its specification, and what is drawn."""
    charts = [chart.proto for chart in at.get("vega_lite_chart")]
    return [(json.loads(chart.spec), [_rows(each.data) for each in chart.datasets]) for chart in charts]


def _rows(sent):
    return convert_arrow_bytes_to_pandas_df(sent.data)


def values(chart, name):
    return {value for rows in chart[1] if name in rows for value in rows[name].dropna()}


def test_means_rates_and_numbers_of_models_are_drawn_and_lines_where_one_changed(opened):
    means, rates, models, single = drawn(opened(rate="Verified"))
    assert len({spec["height"] for spec, _ in (means, rates, models)}) == 1
    assert min(values(means, "value")) == pytest.approx(0.78, abs=0.01)
    assert values(rates, "value") <= {0.75, 1.0}
    assert values(models, "value") == {3.0, 4.0}
    assert values(single, "kind") == {"change"}
    assert {"rule", "point", "line"} <= {layer["mark"]["type"] for layer in single[0]["layer"]}
    for spec, _ in (means, rates, models, single):
        [picked] = [one for layer in spec["layer"] for one in layer.get("params", ())]
        assert (picked["name"], picked["select"]["fields"]) == ("picked", ["run_id"])
    marked = drawn(opened(of_model="alexnet"))[-1]
    assert values(marked, "short") == {"new <b>driver</b>"}


def test_a_confirmed_change_is_drawn_and_listed(opened):
    at = opened()
    changes = next(table for table in tables(at) if "change_ratio" in table.columns)
    [row] = changes.to_dict("records")
    assert (row["verdict"], row["model"], row["series"]) == ("▼ slower", "vgg16", "openxla+dynamo")
    assert row["change_ratio"] == pytest.approx(1.3, rel=0.01)
    assert row["runs"] == f"{CHANGED_AT} → {RUNS - CHANGED_AT}"


def test_changes_and_marks_stand_as_upright_lines_within_the_time_that_is_drawn():
    first, last = (datetime(2026, 11, day) for day in (1, 20))  # noqa: DTZ001 (UTC)
    rows = pd.DataFrame({"run_started": [first, last], "model": "vgg16", "accelerator_model": "H100"})
    marks = pd.DataFrame(
        [
            {"marked_at": at, "text": text, "who": "ann", **dict.fromkeys(NAMES), **of}
            for at, text, of in (
                (first, "of all", {}),
                (last, "of it", {"model": "vgg16"}),
                (last, "of another", {"model": "alexnet"}),
                (last, "of another device", {"accelerator_model": "A100"}),
                (first - timedelta(days=1), "too old", {}),
            )
        ]
    )
    ratios = {"change_ratio": 1.3, "change_low": 1.2, "change_high": 1.4}
    moved = pd.DataFrame([{"started_after": last, **ratios}])
    events = events_of(marks, rows, moved)
    assert list(events["short"]) == ["of all", "of it", "slower"]
    points = rows.assign(run_id="r", run="r", started=first, variant="v", backend="v", value=1.0, label="")
    drawing = history.lines(points, "Latency (ms)", events=events)
    assert [layer["mark"]["type"] for layer in drawing.spec["layer"]].count("rule") == 2
    assert f"slower by 1.30{TIMES} (1.20" in list(drawing.events["text"])[-1]


def test_a_change_for_the_better_is_faster_by_a_factor_above_1():
    at = datetime(2026, 11, 20)  # noqa: DTZ001 (UTC)
    rows = pd.DataFrame({"run_started": [at]})
    ends = {"change_low": [0.5, None], "change_high": [1 / 1.5, None]}
    changes = pd.DataFrame({"started_after": at, "change_ratio": 1 / 1.6, **ends})
    assert list(events_of(pd.DataFrame(), rows, changes)["text"]) == [
        f"faster by 1.60{TIMES} (1.50\N{EN DASH}2.00)",
        f"faster by 1.60{TIMES} (\N{EM DASH})",
    ]


def test_a_mark_is_listed_as_text(opened):
    at = opened(model="alexnet")
    marks = next(table for table in tables(at) if "of" in table.columns)
    assert list(marks["text"]) == ["new <b>driver</b>"]
    assert list(marks["of"]) == ["model alexnet"]


def test_what_failed_has_no_point_and_its_reason(opened):
    words = text(opened(of_model="dcgan"))
    assert f"3 results without it: 3 {TIMES} killed by signal 11" in words.replace("\\", "")


def test_the_number_of_models_is_a_chart_only_where_it_changes(monkeypatch, nights, labels):
    """Where it never does, it stands beside the name of the means: that chart would be a level line."""
    shown = [text(open_page(monkeypatch, store, "trends")) for store in (nights, labels)]
    assert ["Models behind the means" in words for words in shown] == [True, False]
    [words] = [text(open_page(monkeypatch, labels, "trends", run=["night-1"], label=["suites"]))]
    assert "Speedup over inductor, means of 3 models" in words


def test_one_run_is_no_trend(monkeypatch, labels):
    at = open_page(monkeypatch, labels, "trends", run=["one"], label=[LONE])
    assert not at.exception
    assert "This label has one run, and a trend needs two" in text(at)
    assert "Click two points" not in text(at)
    assert "<script>" not in text(at)


def test_a_history_of_failures_says_why_there_is_no_speedup(monkeypatch, failed):
    at = open_page(monkeypatch, failed, "trends")
    assert "No result of these runs has a speedup; 8 results without a valid number: 8 run error." in text(at)


def test_runs_that_other_programs_disturbed_are_not_called_failed(monkeypatch, factory, tmp_path):
    from store.ingest import ingest

    records = [
        factory.make_record(model=model, backend=backend, status=status, label="night")
        for model, status in (("resnet18", "disturbed"), ("vgg16", "disturbed"), ("dcgan", "run_error"))
        for backend in factory.BACKENDS
    ]
    factory.write_run(tmp_path / "runs" / "one", records)
    ingest([tmp_path], tmp_path / "store")
    words = text(open_page(monkeypatch, tmp_path / "store", "trends"))
    assert "12 results without a valid number: 8 disturbed by other programs, 4 run error." in words
    assert "No result of these runs has a speedup" in words


def test_where_turns_begin_to_be_judged_an_upright_line_says_so(monkeypatch, factory, nights, labels):
    """Numbers from before may hold the work of other programs; a store of one kind of runs has no such line."""
    from dashboard.data import query_text
    from dashboard.screens.trends import _with_rule

    begins = []
    for store in (nights, labels):
        with query.connect(query.current_snapshot(store)) as con:
            begins.append(query.fetch(con, query_text.sql("rule_begins")))
    assert begins[0] == []
    first = datetime.fromtimestamp(factory.RUN_START + 5 * factory.DAY)  # noqa: DTZ006 - tests run in UTC
    assert [(row["marked_at"].day, row["who"]) for row in begins[1]] == [(first.day, "xlabench")]
    marks = pd.DataFrame(columns=["mark_id", "marked_at", "text", "who", *NAMES])
    drawn = _with_rule(marks, pd.DataFrame(begins[1]))
    rows = pd.DataFrame({"run_started": [row["marked_at"] for row in begins[1]] * 2, "model": ["alexnet"] * 2})
    assert list(events_of(drawn, rows)["short"]) == ["disturbed turns are left out from here on"]
    at = open_page(monkeypatch, labels, "trends", run=["c"], label=["judged"])
    assert not at.exception
