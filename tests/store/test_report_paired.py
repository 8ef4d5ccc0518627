"""The paired report says every number with its n and unit, and every missing one with its reason."""

import csv
import io
import json

import pytest

from store import query
from store.compare import resolve
from store.errors import UsageError
from store.paired import paired_report
from store.paired.read import steps
from store.record import GraphBreak
from store.report import render
from store.report.table import Column, Report, shown
from tests.store.factory import RUN_START, make_environment, make_record
from tests.store.peer_records import peer_record, write_peer
from tests.store.scenes import Scenes


@pytest.fixture(scope="module")
def small(ingested):
    """The report of two models under two backends."""
    records = [
        make_record(model="a", per_iter=[0.010] * 8),
        make_record(model="b", per_iter=[0.010] * 8),
        make_record(model="a", backend="eager", per_iter=[0.040] * 8),
        make_record(model="b", backend="eager", status="oom", message="no room"),
    ]
    with query.connect(ingested((records, ()))) as con:
        return paired_report(con)


def table(report, title):
    [found] = [table for table in report.tables if table.title == title]
    return [dict(zip([column.title for column in found.columns], row, strict=True)) for row in found.rows]


def test_models_stand_side_by_side_in_milliseconds_with_n(small):
    [models, *_] = small.tables
    assert [column.title for column in models.columns[:9]] == [
        "model", "test", "batch size", "inductor latency", "n", "Speedup", "eager latency", "n", "Speedup",
    ]  # fmt: skip
    assert [row[:9] for row in models.rows] == [
        ("a", "eval", "8", 10.0, 8, 1.0, 40.0, 8, 0.25),
        ("b", "eval", "8", 10.0, 8, 1.0, None, None, None),
    ]
    assert [column.unit for column in models.columns[3:6]] == ["ms", "", "x"]


def test_behind_them_stands_what_each_speedup_is_worth(small):
    """New columns come last: what reads a column by its place reads on."""
    [models, *_] = small.tables
    assert [column.title for column in models.columns[9:]] == [
        "inductor speedup, low", "inductor speedup, high", "inductor verdict", "inductor marks",
        "eager speedup, low", "eager speedup, high", "eager verdict", "eager marks",
    ]  # fmt: skip
    first, second = (row[9:] for row in models.rows)
    assert first == (None, None, None, "baseline, unverified", 0.25, 0.25, "slower", "suspected, unverified")
    assert second[4:] == (None, None, None, "out of memory")


def test_geomeans_have_n_and_pass_counts(small):
    [eager, inductor] = table(small, "Geometric means")
    assert (eager["n"], eager["Geomean speedup"], eager["Geomean, low"]) == (1, pytest.approx(0.25), None)
    assert (eager["ran"], eager["verified"]) == ("1/2", "not verified")
    assert inductor["n"] == 2


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def report(scenes, run):
    """The report of the run of a scene."""
    return paired_report(scenes, query.Filters(run=(run,)))


@scene(
    *(
        make_record(
            model=model,
            backend=backend,
            test="train",
            optimizer=optimizer,
            per_iter=[time] * 8,
            status="disturbed" if (model, backend) == ("c", "eager") else "ok",
        )
        for optimizer, models, factor in (("SGD", "abc", 2), ("Adam", "de", 4))
        for model in models
        for backend, time in (("inductor", 0.010), ("eager", 0.010 * factor))
    )
)
def test_means_over_models_of_several_optimizers_are_told_apart(report):
    """The presets train each model with the optimizer of its own: two means of one backend."""
    means = {
        row["optimizer"]: row["Geomean speedup"]
        for row in table(report, "Geometric means")
        if row["variant"] == "eager"
    }
    assert means == {"SGD": pytest.approx(0.5), "Adam": pytest.approx(0.25)}
    [unpaired] = table(report, "Not paired")
    assert (unpaired["optimizer"], unpaired["n"], unpaired["models"]) == ("SGD", 1, "c")
    [shown] = [row for row in report.people if row.title == "Geometric means over models"]
    assert [column.title for column in shown.columns][:3] == ["test", "optimizer", "variant"]


def test_models_that_are_not_paired_are_listed_once(small):
    found = table(small, "Not paired")
    assert [(row["variant"], row["not paired because"], row["n"], row["models"]) for row in found] == [
        ("eager", "failed here", 1, "b"),
    ]


def test_a_missing_speedup_has_its_reason(small):
    [row] = table(small, "Without a speedup")
    assert (row["model"], row["variant"], row["status"], row["no speedup because"]) == ("b", "eager", "oom", "no room")


def test_the_newest_run_that_fits_is_reported(demo_con):
    assert "22222222-bbbb" in paired_report(demo_con).title
    chosen = query.Filters(run=("11111111-aaaa",))
    report = paired_report(demo_con, chosen, baseline_run="22222222-bbbb")
    assert report.title.startswith("Speedup over inductor of run 22222222-bbbb, run 11111111-aaaa")
    [mean, *_] = table(report, "Geometric means")
    assert mean["Geomean speedup"] == pytest.approx(0.6 * 0.9)


def test_nothing_that_fits_is_a_usage_error(demo_con):
    with pytest.raises(UsageError, match="Widen them"):
        paired_report(demo_con, query.Filters(model=("nothing",)))
    with pytest.raises(UsageError, match="Widen them"):
        paired_report(demo_con, query.Filters(run=("nothing",)))


def test_text_shows_a_dash_for_what_is_missing_and_never_zero(small):
    said = render(small, "text")
    assert [line.split() for line in said.splitlines() if line.startswith("  eager")] == [
        ["eager", "40.00", "8", "0.25", "0.25\N{EN DASH}0.25", "suspected,", "unverified"],
        ["eager", "—", "—", "—", "—", "out", "of", "memory"],
    ]
    assert "\n      no room\n" in said


LONG = "a_model_with_quite_a_long_name_" * 5


@scene(
    make_record(model=LONG),
    make_record(),
    make_record(backend="eager", status="oom", message="[red]|no [/x] room"),
)
def test_text_is_folded_but_never_cut_and_markup_in_it_is_text(report):
    said = render(report, "text")
    assert LONG in "".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    assert "[red]|no [/x] room" in said
    assert r"[red]\|no [/x] room" in render(report, "markdown")


QUOTED = "`xlabench sql \"SELECT a, b FROM runs\" --home '/my lab'` lists them"


def test_markdown_keeps_commands_as_code_and_nothing_else():
    notes = ("repeat both with `xlabench compare A B --confirm`", "`xlabench <img src=x>` of `net.py`", QUOTED)
    text = render(Report(title="x", tables=(), notes=notes), "markdown")
    assert "- repeat both with `xlabench compare A B --confirm`" in text
    assert f"- {QUOTED}" in text
    assert r"- \`xlabench &lt;img src=x>\` of \`net.py\`" in text


def test_csv_has_all_digits_and_nothing_for_what_is_missing(small):
    [header, first, second, *_] = csv.reader(io.StringIO(render(small, "csv")))
    assert header[0] == "# model"
    assert first[:9] == ["a", "eval", "8", "10.0", "8", "1.0", "40.0", "8", "0.25"]
    assert second[6:9] == ["", "", ""]


def test_json_has_units_and_definitions(small):
    found = json.loads(render(small, "json"))
    column = found["tables"][0]["columns"][3]
    assert column["unit"] == "ms"
    assert column["definition"].startswith("Median time of one iteration")
    assert found["tables"][0]["rows"][1][8] is None


def test_an_unknown_format_is_a_usage_error(small):
    with pytest.raises(UsageError, match="text, csv, json, markdown, tab"):
        render(small, "pdf")


@scene(
    make_record(),
    make_record(backend="eager", per_iter=[0.002] * 8),
    make_record(backend="openxla", verification_code="FAIL"),
)
def test_a_wrong_answer_stands_first_and_what_looks_closer_beside_the_answer_in_every_form(report):
    command = "xlabench run --only torchbench/resnet18 --test=eval --backend=inductor --dump-pytorch-profiles"
    assert [step.command for step in report.steps] == [command]
    assert (
        "never pays here under inductor (5.00\N{MULTIPLICATION SIGN} slower than eager, 95 % CI " in report.steps[0].why
    )
    said = render(report, "text")
    assert said.startswith("WRONG ANSWER: resnet18 eval under openxla")
    assert f"\n    {command}\n" in said, "to be copied, however wide the terminal is"
    assert command in render(report, "markdown")
    assert f"<code>{command}</code>" in render(report, "html")
    found = json.loads(render(report, "json"))
    assert (len(found["alarms"]), found["next_steps"][0]["command"]) == (1, command)


@scene(
    make_record(backend="eager", per_iter=[0.002] * 8),
    *(
        make_record(model=model, per_iter=[seconds] * 8, **changes)
        for model, seconds_of in (("pays", (0.010, 0.001)), ("loses", (0.010, 0.004)), ("open", (0.010, 0.002)))
        for seconds, changes in zip(seconds_of, ({}, {"compile_mode": "max-autotune"}), strict=True)
    ),
    *(
        make_record(model=model, backend="eager", per_iter=[0.002] * 8)
        for model in ("pays", "loses", "open", "refused", "near")
    ),
    make_record(model="near", per_iter=[0.00204] * 8),
    make_record(model="refused", per_iter=[0.010] * 8),
    make_record(model="refused", per_iter=[0.001] * 8, compile_mode="max-autotune", status="disturbed"),
)
def test_compiling_never_pays_under_a_backend_if_no_variant_of_it_pays(report):
    """Under max-autotune one is ahead, one does not differ, one was refused; one loses 2 %, less than the noise floor.

    Only the one that loses twice is named.
    """
    [step] = report.steps
    assert step.why.startswith(
        "Compiling loses eval never pays here under inductor (2.00\N{MULTIPLICATION SIGN} slower"
    )


def test_nobody_is_told_to_measure_again_what_another_tool_measured(stored, tmp_path):
    records = [peer_record(backend=backend) for backend in ("inductor", "openxla+dynamo")]
    report = paired_report(stored(paths=[write_peer(tmp_path / "results.jsonl", records)]))
    [marks] = [table for table in report.people if table.title == "Marks"]
    assert ("unverified", None) in {(mark, to_do) for mark, _, _, to_do in marks.rows}
    assert {to_do for *_, to_do in marks.rows} == {None}


def test_the_command_that_looks_closer_repeats_the_inputs_that_were_typed():
    row = {"kind": "graph_break", "suite": "own", "model": "my net.py:N@1", "test": "eval", "backend": "inductor"}
    [step] = steps([{**row, "what": "item", "amount": 1, "inputs": '["f32[2,8]"]'}])
    words = "'my net.py:N@1' '--input=f32[2,8]' --test=eval --backend=inductor --fullgraph"
    assert step.command == f"xlabench run {words}"


PRINTS, PRINTS_ONCE, ITEM = (
    GraphBreak(reason=reason, count=count)
    for reason, count in (("call to print", 2), ("call to print", 1), ("item", 1))
)


@scene(
    *(
        make_record(graph_breaks=[PRINTS, ITEM], environment=make_environment(name), cache=cache)
        for name in ("old", "new")
        for cache in ("cold", "warm")
    ),
    make_record(backend="openxla+dynamo", graph_breaks=[PRINTS_ONCE]),
)
def test_breaks_of_a_graph_are_those_of_one_result_and_not_the_sum_over_environments_and_caches(report):
    """Both environments and both states of the cache break it three times; the other backend breaks it once."""
    [step] = report.steps
    assert "under inductor, openxla+dynamo, 1 to 3 times (call to print)" in step.why


OWN = {"suite": "own", "run_id": "new", "timestamp": RUN_START + 9}


def test_a_changed_file_is_said_to_be_a_new_series(stored):
    before = make_record(suite="own", model="net.py:Net@00000000", run_id="old")
    con = stored([before, make_record(model="net.py:Net@11111111", **OWN), make_record(model="b.py:Net@2", **OWN)])
    said = render(paired_report(con), "json")
    assert "net.py:Net@11111111 is a new series: its source has changed since net.py:Net@00000000 was measured" in said
    assert said.count("is a new series:") == 1
    assert "a changed file starts a new series" in said


def test_an_answer_that_a_later_run_verifies_counts_as_that_run_found_it(stored):
    """As after a first look; the run that only verifies is not the newest, and makes a wrong answer no speedup."""
    looks = [make_record(), make_record(backend="eager", per_iter=[0.002] * 8)]
    later = {"run_id": "run-2", "timestamp": RUN_START + 9, "status": "verify_only"}
    checks = [make_record(verification_code="PASS", **later)]
    checks.append(make_record(backend="eager", verification_code="FAIL", **later))
    con = stored([*looks, *checks])
    report = paired_report(con)
    assert "run run-1" in report.title
    assert resolve(con, "latest").run_id == "run-1"
    [inductor, eager] = report.people[0].rows
    assert inductor[6] == "baseline, verified later"
    assert (eager[4], eager[6]) == (None, "wrong answer")
    assert report.alarms == ("WRONG ANSWER: resnet18 eval under eager does not return what eager returns.",)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.0000"), (8.4e-10, "8.4e-10"), (0.00006, "0.0001"), (-1e-6, "-1e-06"), (None, "—")]
)
def test_only_0_is_shown_as_0(value, text):
    """A q of 0.0000 claims a certainty that no measurement has."""
    assert shown(value, Column(title="q", digits=4, numeric=True)) == text
