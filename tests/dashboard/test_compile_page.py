"""Compile time: measures apart, cold and warm apart, the first blocks in time, and the break-even."""

from types import SimpleNamespace

import pytest

from dashboard.screens import compile_time
from dashboard.screens.compile_time import break_even
from store import query
from store.ingest import ingest
from tests.dashboard.opened import open_page, seen, tables, text

N = "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
KEY = ("first_iteration_s", "time_to_steady_s", "compiler_time_s", "compile_peer_s", "cache", "graphs_number")


EAGER = {"backend": "eager", "metrics": {"peak_memory_bytes": [4e8]}}
LONG = {"first": 900.0, "metrics": {"peak_memory_bytes": [1e6], "dynamo_compile_time_s": [500.0]}}
REFUSED = {"disturbed": {"status": "disturbed"}, "wrong": {"verification_code": "FAIL"}}
RUNS = {
    "both": [
        ("resnet18", {"cache": "cold", "first": 5.0}),
        ("vgg16", {"cache": "cold", "first": 5.0}),
        ("resnet18", {"cache": "warm", "first": 1.0}),
        ("vgg16", {"cache": "warm", "first": 1.0}),
    ],
    **{
        name: [("resnet18", EAGER), ("vgg16", EAGER), ("resnet18", {}), ("vgg16", LONG | how)]
        for name, how in REFUSED.items()
    },
    "looped": [("resnet18", {"first": 1.0, "warmup": (0.002, 0.001), "per_iter": [0.001] * 8})],
    "quick": [("resnet18", {"first": 0.009, "warmup": ()})],
    "retried": [("resnet18", {}), ("alexnet", {}), ("vgg16", {"start": "interpreter", "first": 9.0})],
    "earned": [
        (model, {"backend": backend, "per_iter": [steady] * 8, "first": first, "warmup": ()})
        for model, backend, steady, first in (
            ("alexnet", "inductor", 0.5, 4.5),
            ("alexnet", "openxla+dynamo", 0.25, 8.25),
            ("vgg16", "inductor", 0.5, 4.5),
            ("vgg16", "openxla+dynamo", 0.25, 2.25),
            ("dcgan", "inductor", 0.5, 4.5),
            ("dcgan", "openxla+dynamo", 0.75, 8.25),
        )
    ],
    "ahead-at-first": [
        (model, {"backend": backend, "per_iter": [steady] * 8, "first": first, "warmup": ()})
        for model in ("alexnet", "vgg16")
        for backend, steady, first in (("inductor", 0.5, 4.5), ("openxla+dynamo", 0.75, 2.75))
    ],
}
"""Run, which is also its label → model and facts of each of its results."""


@pytest.fixture(scope="module")
def store(factory, tmp_path_factory):
    home = tmp_path_factory.mktemp("compile")
    for day, (run, results) in enumerate(RUNS.items()):
        factory.write_run(home / "runs" / run, [_record(factory, run, name, day, how) for name, how in results])
    ingest([home], home / "store")
    return home / "store"


def _record(factory, run, model, day, how):
    start = factory.RUN_START + day * factory.DAY
    record = factory.make_record(model=model, run_id=run, label=run, timestamp=start, **how)
    if run == "looped":
        record.measurement.blocks.inner_loops = [1, 10, *[50] * 9]
    return record


def test_compile_measures_stand_apart(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "compile-time", measure=["Compiler time"])
    assert "Compiler time (median over models) in eval on cpu" in text(at)
    table = tables(at)[-1]
    assert set(KEY) - {"cache"} == set(KEY) & set(table.columns), "each cache was cold"
    lazy = table[table["series"] == "openxla+lazytensor"]
    assert set(lazy["compiler_source"].dropna()) == {"XLA CompileTime"}
    assert set(table[table["series"] == "eager"]["why"].dropna()) >= {"eager compiles nothing"}


def test_medians_are_those_of_the_store_with_their_n(demo):
    medians = tables(seen(demo, "compile-time"))[0].set_index(["test", "series"])
    with query.connect(query.current_snapshot(demo)) as con:
        sql = """SELECT test, variant, median(first_iteration_s) AS middle, count(first_iteration_s) AS n
            FROM results WHERE run_id = '22222222-bbbb' GROUP BY ALL"""
        rows = query.fetch(con, sql)
    assert len(rows) == len(medians) == 8
    for row in rows:
        found = medians.loc[(row["test"], row["variant"])]
        assert found["first_iteration_s"] == pytest.approx(row["middle"])
        assert found["first_iteration_n"] == row["n"]


def test_a_warm_cache_is_a_series_of_its_own(monkeypatch, store):
    at = open_page(monkeypatch, store, "compile-time", run=["both"])
    assert not at.exception
    medians = tables(at)[0].set_index("series")
    assert medians.loc["inductor", "first_iteration_s"] == pytest.approx(4.99)
    assert medians.loc["inductor cache=warm", "first_iteration_s"] == pytest.approx(0.99)
    said = text(at).replace("\\", "")
    assert f"**inductor** 4.99 s ({N}2), **inductor cache=warm** 990 ms ({N}2)" in said


@pytest.mark.parametrize("run", REFUSED)
def test_no_median_has_a_disturbed_result_or_a_wrong_answer(monkeypatch, store, run):
    """Overview's costs are those of the same results."""
    medians = tables(open_page(monkeypatch, store, "compile-time", run=[run]))[0].set_index("series").loc["inductor"]
    assert medians[["first_iteration_s", "compiler_time_s"]].to_list() == pytest.approx([0.99, 0.7])
    assert (medians["first_iteration_n"], medians["compiler_time_n"]) == (1, 1)
    [costs] = [rows for rows in tables(open_page(monkeypatch, store, run=[run])) if "memory_ratio" in rows]
    costs = costs.set_index("series").loc["inductor"]
    assert (costs["memory_ratio"], costs["memory_n"]) == (pytest.approx(4e8 / (200 * 2**20)), 1)
    assert (costs["first_iteration_s"], costs["compiler_time_s"]) == (pytest.approx(0.99), pytest.approx(0.7))


def test_a_time_below_0_is_said_to_be_noise(monkeypatch, store):
    said = text(open_page(monkeypatch, store, "compile-time", run=["quick"]))
    assert f"**inductor** about 0 s ({N}1)" in said
    assert "A time below 0 is noise" in said


def test_a_median_is_over_one_way_to_start_and_says_what_it_leaves_out(monkeypatch, store):
    """A group that is retried as it newly fails starts in new interpreters, which the others of its run do not."""
    at = open_page(monkeypatch, store, "compile-time", run=["retried"])
    left_out = "started by a fork; 1 in a new interpreter left out"
    assert "The processes of 1 result started in a new interpreter" in text(at)
    assert f"({N}2, {left_out})" in text(at)
    [costs] = [rows for rows in tables(open_page(monkeypatch, store, run=["retried"])) if "compiler_time_s" in rows]
    for shown in (tables(at)[0], costs):
        row = shown.set_index("series").loc["inductor"]
        assert (row["first_iteration_s"], row["compiler_time_s"]) == (pytest.approx(0.99), pytest.approx(0.7))
        assert (row["first_iteration_n"], row["start"]) == (2, left_out)
    assert "new interpreter" not in text(open_page(monkeypatch, store, "compile-time", run=["both"]))


def test_graphs_are_counts(monkeypatch, demo):
    said = text(open_page(monkeypatch, demo, "compile-time", measure=["Graphs"]))
    assert f"Graphs (largest number of a model) in eval on cpu: **inductor** 2 ({N}6)" in said


def test_the_first_blocks_of_a_model_are_those_of_its_record(monkeypatch, demo):
    at = open_page(
        monkeypatch, demo, "compile-time", compile_chart=["First blocks"], blocks_of=["resnet18 · eval · torchbench"]
    )
    assert not at.exception
    blocks = tables(at)[1]
    lazy = blocks[blocks["series"] == "openxla+lazytensor"]
    assert list(lazy["kind"]) == ["first", "warmup", "steady"]
    assert list(lazy["begin_s"]) == pytest.approx([0, lazy["total_s"].iloc[0], lazy["total_s"].iloc[:2].sum()])
    assert lazy["compile_s"].iloc[0] == pytest.approx(600)
    said = text(at)
    assert "The durations overlap and do not add up to the block" in said
    assert "inductor: dynamo reports 700 ms of compilation in total; it does not report the blocks." in said


def test_a_block_that_repeats_its_iterations_is_as_long_as_all_of_them(monkeypatch, store):
    blocks = tables(open_page(monkeypatch, store, "compile-time", run=["looped"], compile_chart=["First blocks"]))[1]
    assert list(blocks["total_s"]) == pytest.approx([1000, 20, 50, 50])
    assert list(blocks["begin_s"]) == pytest.approx([0, 1000, 1020, 1070])
    assert list(blocks["executions"]) == [1, 10, 50, 50]


def test_an_unknown_model_of_the_blocks_is_the_longest_wait(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "compile-time", compile_chart=["First blocks"], blocks_of=["nope"])
    assert not at.exception
    assert at.selectbox(key="blocks_of").value == at.selectbox(key="blocks_of").options[0]


def test_when_a_backend_has_earned_its_compile_time(monkeypatch, store):
    at = open_page(monkeypatch, store, "compile-time", run=["earned"], compile_chart=["Break-even"])
    assert not at.exception
    said = text(at).replace("\\", "")
    assert (
        "In eval on cpu **openxla+dynamo** is ahead of inductor, compiling included, on 2 of 3 models: "
        "from the start on 1, after 17 iterations on 1, never on 1 (dcgan)" in said
    )
    table = tables(at)[1].set_index("model")
    assert dict(table["outcome"]) == {
        "alexnet": "after 17 iterations", "dcgan": "never", "vgg16": "from the start",
    }  # fmt: skip
    assert table.loc["alexnet", "break_even_s"] == 12.25
    at.multiselect(key="model").select("dcgan").run()
    never = "**openxla+dynamo** never gets ahead of inductor, compiling included, on the one model (dcgan)"
    assert never in text(at).replace("\\", "")


def test_a_backend_that_compiles_in_less_time_and_is_slower_is_ahead_at_first(monkeypatch, store):
    """It waits 2 s against 4 s and loses 0.25 s in each iteration: ahead for 7, even after 8."""
    at = open_page(monkeypatch, store, "compile-time", run=["ahead-at-first"], compile_chart=["Break-even"])
    said = text(at).replace("\\", "")
    ahead = "**openxla+dynamo** is ahead of inductor, compiling included, only for the first 7 iterations"
    assert f"{ahead} (median) on both models (alexnet, vgg16)" in said
    assert "never gets ahead" not in said
    assert set(tables(at)[1]["outcome"]) == {"only for 7 iterations"}
    at.multiselect(key="model").select("vgg16").run()
    assert f"{ahead} on the one model (vgg16)" in text(at).replace("\\", "")


@pytest.mark.parametrize(("models", "names"), [(("a", "b", "c"), " (a, b, c)"), (("a", "b", "c", "d"), "")])
def test_what_holds_for_all_models_names_no_three_of_many(models, names):
    row = SimpleNamespace(series="x", suites=["timm_models"], never_models=models, never_n=len(models))
    row.known_n, row.ahead_n, row.after_n, row.at_first_n = len(models), 0, 0, 0
    said = break_even._sentence(("eval", "cpu"), row, "inductor")
    assert said.endswith(f"never gets ahead of inductor, compiling included, on any of {len(models)} models{names}")


@pytest.mark.parametrize(("many", "names"), [(3, (" (a0, a1, a2)", " (b0, b1)")), (26, ("", " (b0, b1)"))])
def test_a_backend_that_stays_ahead_on_no_model_is_said_to_and_names_no_three_of_many(many, names):
    first, never = [f"a{number}" for number in range(many)], ["b0", "b1"]
    row = SimpleNamespace(series="x", suites=["timm_models"], known_n=many + 2, ahead_n=0, after_n=0, undecided_n=0)
    row.at_first_n, row.ahead_at_first_n, row.at_first_models = many, 44, first
    row.never_n, row.never_models = many + 2, [*first, *never]
    assert break_even._sentence(("eval", "cpu"), row, "inductor") == (
        f"In eval on cpu **x** stays ahead of inductor, compiling included, on none of {many + 2} models: "
        f"only for the first 44 iterations (median) on {many}{names[0]}, never on 2{names[1]}"
    )


def test_the_most_frequent_reason_says_how_many_of_those_without_a_number_have_it():
    row = SimpleNamespace(main_reason="timeout", main_reason_n=2, without_n=5)
    assert compile_time._main_reason(row) == "2 of 5: timeout"
    assert compile_time._main_reason(SimpleNamespace(**vars(row) | {"without_n": 2})) == "timeout"


def test_a_break_even_without_a_baseline_has_its_reason(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "compile-time", compile_chart=["Break-even"], model=["alexnet"], test=["train"])
    assert not at.exception
    said = text(at)
    assert "No break-even against inductor: baseline inductor" in said
