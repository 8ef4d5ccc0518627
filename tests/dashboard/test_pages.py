"""Each page over a full store, an empty one, and one whose run failed as a whole."""

import re
import shutil

import duckdb
import msgspec
import pytest

from dashboard import settings
from dashboard.formatting import TIMES, interval
from dashboard.ui.answers import times
from store import query
from store.importers import facts
from store.ingest import ingest
from tests.dashboard.opened import copyable, open_page, seen, tables, text
from tests.tiers import first_of

PAGES = {
    "overview": "Overview",
    "speedup": "Speedup",
    "compile-time": "Compile time",
    "fallback-ops": "Fallback ops",
    "operators": "Operators",
    "trends": "Trends",
    "compare": "Compare",
    "model": "Model",
    "runs": "Runs & jobs",
}
UNFOLDED = {"trends": ("part-numbers",)}
every_page = pytest.mark.parametrize("page", PAGES)


@every_page
def test_page_shows_its_title_and_no_exception(demo, page):
    at = seen(demo, page, unfolded=UNFOLDED.get(page, ()))
    assert not at.exception
    assert [title.value for title in at.title] == [PAGES[page]]
    assert len(at.dataframe) >= (page != "operators")  # the demonstration measured none
    assert not at.code, "the browser would fetch what colours programs"


@every_page
def test_page_states_where_its_numbers_come_from(demo, page):
    origin = text(seen(demo, page, unfolded=UNFOLDED.get(page, ())))
    assert "run **nightly** (newest)" in origin.casefold()
    assert "torch 2\\.9\\.1" in origin
    assert "2025-10-10 08:53 UTC" in origin
    assert "ingested" in origin


@every_page
def test_empty_store_says_how_to_fill_it(monkeypatch, empty, page):
    at = open_page(monkeypatch, empty, page)
    assert not at.exception
    assert [title.value for title in at.title] == [PAGES[page]]
    commands = " ".join(copyable(at))
    assert "--smoke" in commands
    assert re.search(r"xlabench run --suite-name timm_models --filter resnet18 --home \S+", commands)
    assert re.search(r"xlabench run mymodel.py --home \S+", commands)
    assert re.search(r"xlabench ingest PATH --home \S+", commands)
    assert not at.code


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A store that has numbers of others only."""
    home = tmp_path_factory.mktemp("imported")
    published = home / "published" / "table.csv"
    published.parent.mkdir()
    published.write_text("model,speedup\na,2.0\nb,8.0\n")
    facts.write(published, {"baseline": "inductor", "origin": "a talk", "backend": "openxla+dynamo"})
    ingest([home], home / "store")
    return home / "store"


@pytest.mark.parametrize("page", first_of(PAGES))
def test_a_store_of_imports_only_shows_them_on_every_page(monkeypatch, imported, page):
    at = open_page(monkeypatch, imported, page)
    assert not at.exception
    words = text(at)
    assert "No results yet" not in words
    assert "1 import of published numbers, and no run measured here" in words
    means = tables(at)[1]
    assert (means["geomean"].to_list(), means["n"].to_list()) == ([pytest.approx(4.0)], [2])
    assert "--smoke" in " ".join(copyable(at))


@pytest.mark.parametrize("page", first_of(PAGES, 4))
def test_a_run_that_failed_as_a_whole_shows_reasons_and_no_number(monkeypatch, failed, page):
    at = open_page(monkeypatch, failed, page)
    assert not at.exception
    assert "0.00" not in text(at)
    assert f"**none ran** (8 {TIMES} run error)" in text(at)


def test_a_run_that_failed_as_a_whole_is_not_called_complete(failed):
    at = seen(failed)
    assert "measured nothing: 0 of 8 planned experiments ran, 8 failed" in text(at)
    assert "2 failed: &lt;b&gt;bold" in "".join(element.proto.body for element in at.get("html"))


@pytest.mark.parametrize(("page", "key"), first_of([("speedup", "section"), ("compile-time", "compile_section")]))
def test_synthetic_models_never_stand_first(monkeypatch, factory, tmp_path, page, key):
    names = {"dummy": ("toy", "toy_two", "toy_three"), "torchbench": ("resnet18", "vgg16")}
    records = [
        factory.make_record(suite=suite, model=model, backend=backend)
        for suite, models in names.items()
        for model in models
        for backend in ("inductor", "openxla+dynamo")
    ]
    factory.write_run(tmp_path / "runs" / "one", records)
    ingest([tmp_path], tmp_path / "store")
    at = open_page(monkeypatch, tmp_path / "store", page)
    options = at.selectbox(key=key).options[:2]
    assert [option.rpartition(" ")[2] for option in options] == ["torchbench", "dummy"]
    [headline] = [line.value for line in at.markdown if line.value.startswith("####")]
    assert "dummy" not in headline


def _of_eval(table):
    """Return the rows of a table of Overview that are of inference, by series."""
    return table[table["test"] == "eval"].set_index("series")


def test_overview_counts_the_plan_and_states_the_geomean(demo):
    at = seen(demo)
    words = text(at)
    assert "is not complete: 40 of 48 planned experiments ran, 4 failed, 1 never steady, 1 skipped, 2 not run" in words
    assert f"**openxla\\+dynamo** is **{times(0.857)} slower** than inductor (95 % CI " in words
    assert (
        f"{interval(1 / 0.857, 1 / 0.857)}{TIMES}, geomean of 4 models, 4 slower) in eval on cpu, torchbench" in words
    )
    table = _of_eval(tables(seen(demo, unfolded=["numbers"]))[0])
    assert table.loc["openxla+dynamo", "ran"] == "4/6"
    assert table.loc["openxla+dynamo", "verified"] == "4/4"
    assert table.loc["openxla+dynamo", "n"] == 4
    assert table.loc["openxla+dynamo", "note"] == "1 failed, 1 skipped"
    costs = _of_eval(tables(at)[0])
    assert costs.loc["openxla+dynamo", "fallback"] == "2/4"
    assert costs.loc[["eager", "inductor"], "fallback"].isna().all()


def test_overview_has_the_time_that_compilers_report_beside_what_one_waits(demo):
    costs = _of_eval(tables(seen(demo))[0])
    with query.connect(query.current_snapshot(demo)) as con:
        sql = """SELECT median(compiler_time_s) AS seconds, count(compiler_time_s) AS n
            FROM result_rows WHERE run_id = (SELECT arg_max(run_id, run_started) FROM runs) AND test = 'eval'
            AND variant = 'inductor'"""
        [expected] = query.fetch(con, sql)
    assert costs.loc["inductor", "compiler_time_s"] == pytest.approx(expected["seconds"])
    assert costs.loc["inductor", "compiler_time_n"] == expected["n"] > 0


def test_overview_lists_what_needs_attention_with_reasons(monkeypatch, demo):
    found = tables(open_page(monkeypatch, demo, unfolded=["findings"]))[-1]
    assert list(found["finding"].unique()) == [
        "out of memory",
        "compile error",
        "timeout",
        "crashed",
        "never steady",
        "not run",
        "slower than baseline",
    ]
    assert found["why"].str.len().min() > 0
    assert "eager" not in set(found.loc[found["finding"] == "slower than baseline", "variant"])


def test_geomean_follows_the_model_filter(monkeypatch, demo):
    at = open_page(monkeypatch, demo, model=["resnet18", "alexnet"], test=["eval"])
    assert "geomean of 2 models" in text(at)


@pytest.mark.parametrize(
    ("given", "said"),
    first_of(
        [
            ("oldest", "baseline inductor, oldest result of each series"),
            ("11111111", "baseline inductor, run nightly of 2025-10-09 08:53 UTC"),
            ("Oldest results", "baseline inductor, oldest result of each series"),
        ],
        2,
    ),
)
def test_baseline_of_another_run_changes_the_ratio(monkeypatch, demo, given, said):
    query = {"model": ["resnet18"], "test": ["eval"], "baseline_run": [given]}
    at = open_page(monkeypatch, demo, "speedup", **query)
    table = tables(at)[0].set_index("series")
    assert table.loc["inductor", "speedup"] == pytest.approx(1 / 0.9)
    assert said in text(at).replace("\\", "")
    assert not at.warning


def test_the_latest_baseline_may_be_newer_than_the_shown_run(monkeypatch, demo):
    query = {"model": ["resnet18"], "test": ["eval"], "run": ["11111111"], "baseline_run": ["latest"]}
    at = open_page(monkeypatch, demo, "speedup", **query)
    assert tables(at)[0].set_index("series").loc["inductor", "speedup"] == pytest.approx(0.9)
    assert "baseline inductor, latest result of each series" in text(at)


def test_run_of_the_url_is_shown(monkeypatch, demo):
    for given in (
        "11111111",
        "nightly · 2025-10-09 08:53 UTC · torch 2.9.1 · 46 of 48 so far · 11111111",
    ):
        assert "2025-10-09 08:53 UTC" in text(open_page(monkeypatch, demo, run=[given])), given


def test_unknown_values_of_a_link_are_dropped_with_a_notice(monkeypatch, demo):
    at = open_page(monkeypatch, demo, suite=["torchbench", "nope"], run=["gone"], baseline=["'; DROP TABLE x"])
    assert not at.exception
    notice = at.warning[0].value
    assert "nope" in notice
    assert "gone" in notice
    assert "DROP TABLE" in notice
    assert at.session_state["suite"] == ["torchbench"]
    assert "48 results" in text(at)


def test_the_boxes_of_runs_show_the_run_that_is_shown(monkeypatch, demo):
    """Not what a link calls it, and above all not a name that was ignored; the notice stays until the view changes."""
    at = open_page(monkeypatch, demo, "speedup", run=["gone"], baseline_run=["gone too"])
    assert [at.selectbox(key=key).value for key in ("run", "baseline_run")] == ["Newest run", "Same run"]
    assert not {"run", "baseline_run"} & set(at.query_params)
    assert "“gone”" in at.run().warning[0].value
    assert not at.multiselect(key="test").set_value(["eval"]).run().warning
    at = open_page(monkeypatch, demo, "speedup", run=["11111111"], baseline_run=["oldest"])
    older = "nightly · 2025-10-09 08:53 UTC · torch 2.9.1 · 46 of 48 so far · 11111111"
    assert [at.selectbox(key=key).value for key in ("run", "baseline_run")] == [older, "Oldest results"]


def test_the_button_of_the_sidebar_clears_the_filters(monkeypatch, demo):
    filters = {"suite": ["torchbench"], "model": ["alexnet"], "test": ["eval"]}
    at = open_page(monkeypatch, demo, "speedup", **filters, baseline=["eager"])
    at.button(key="clear").click().run()
    assert (at.session_state["model"], at.session_state["baseline"]) == ([], "eager")
    assert "48 results" in text(at)


def test_runs_show_a_matrix_of_statuses(demo):
    runs, matrix, experiments = tables(seen(demo, "runs"))[:3]
    assert list(runs["not_run_n"]) == [2, 2]
    assert matrix.set_index(["model", "test"]).loc[("dcgan", "train"), "openxla+dynamo"] == "out of memory"
    assert experiments["reproduce"].str.startswith("xlabench run").sum() == 46


def test_markup_of_records_is_shown_as_text(monkeypatch, failed):
    at = open_page(monkeypatch, failed, unfolded=["findings"])
    assert "<script>" not in text(at)
    assert "\\<script\\>" in text(at)
    why = tables(at)[-1]["why"]
    assert (why == "<b>bold</b> **loud** [link](x) `code` $a$").all()


@pytest.fixture(scope="module")
def two_models(factory, tmp_path_factory):
    """A store of a run of one model, and the next day of another one."""
    home = tmp_path_factory.mktemp("two")
    for day, model in enumerate(("resnet18", "vgg16")):
        start = factory.RUN_START + day * factory.DAY
        factory.write_run(home / "runs" / model, [factory.make_record(model=model, run_id=model, timestamp=start)])
    ingest([home], home / "store")
    return home / "store"


@pytest.mark.parametrize("page", first_of(["runs", "speedup", "overview", "compile-time", "fallback-ops", "model"]))
def test_filters_without_a_row_are_named_and_a_button_clears_them(monkeypatch, two_models, page):
    """Compare and Trends are of other runs, too, and this one measured no operators."""
    at = open_page(monkeypatch, two_models, page, model=["resnet18"])
    assert not at.exception
    assert "pass the filters (Model: resnet18)" in at.info[0].value
    at.button(key="clear-here").click().run()
    assert not at.info
    assert "1 result of run" in text(at)


@pytest.fixture(scope="module")
def of_a_peer(factory, tmp_path_factory):
    """A store of a foreign file, without plan, environment and dtype."""
    kept = ("model", "experiment", "repeat", "iterations_per_run", "metrics", "timestamp")
    lines = []
    for backend in factory.BACKENDS:
        record = msgspec.to_builtins(factory.make_record(backend=backend))
        experiment = {
            name: record["experiment"][name] for name in ("accelerator", "xla", "dynamo", "test", "batch_size")
        }
        lines.append(msgspec.json.encode({name: record[name] for name in kept} | {"experiment": experiment}))
    home = tmp_path_factory.mktemp("peer")
    (home / "results.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    ingest([home], home / "store")
    return home / "store"


@pytest.mark.parametrize("page", first_of(list(PAGES)[::-1], 2))
def test_results_of_the_peers_runner_are_shown(monkeypatch, of_a_peer, page):
    """The pages say unknown, not zero."""
    at = open_page(monkeypatch, of_a_peer, page)
    assert not at.exception
    assert "torch unknown" in text(at)
    assert page != "runs" or "no plan" in tables(at)[0]["origin"].iloc[0]


def test_an_index_of_another_version_says_what_to_run(monkeypatch, demo, tmp_path):
    store = shutil.copytree(demo, tmp_path / "store")
    snapshot = query.current_snapshot(store)
    with duckdb.connect(str(snapshot)) as con:
        con.execute("UPDATE index_facts SET value = 'another' WHERE name = 'views'")
    at = open_page(monkeypatch, store, "speedup")
    assert not at.exception
    assert [title.value for title in at.title] == ["Speedup"]
    assert "xlabench ingest" in text(at)
    assert copyable(at) == [f"xlabench ingest --home {settings.home()}"]


@pytest.mark.parametrize("page", first_of(["overview", "speedup", "runs"]))
def test_a_damaged_pointer_is_no_empty_store(monkeypatch, empty, page):
    empty.mkdir()
    (empty / "CURRENT").write_text("index-1.duckdb\n")
    at = open_page(monkeypatch, empty, page)
    assert not at.exception
    assert [title.value for title in at.title] == [PAGES[page]]
    assert "CURRENT is damaged" in text(at).replace("\\", "")
    assert "--smoke" not in " ".join(copyable(at))


@pytest.fixture(scope="module")
def rerun(factory, tmp_path_factory):
    """A store of a night of four models, half as fast under eager, and of a run that measured one of them again."""
    home = tmp_path_factory.mktemp("rerun")
    for day, (run, models) in enumerate({"night": ("a", "b", "c", "d"), "again": ("a",)}.items()):
        at = factory.RUN_START + day * factory.DAY
        records = [
            factory.make_record(
                model=model,
                backend=backend,
                run_id=run,
                label=run,
                timestamp=at,
                per_iter=[0.01 * (2 * (day + 1) if backend == "eager" else 1)] * 8,
            )
            for model in models
            for backend in ("inductor", "eager")
        ]
        factory.write_run(home / "runs" / run, records)
    ingest([home], home / "store")
    return home / "store"


def test_what_measures_a_few_cells_again_is_not_the_newest_run(monkeypatch, rerun):
    page = seen(rerun)
    assert "8 results of run" in text(page)
    label = page.button(key="newer-rerun").label
    assert label.startswith("1 newer run only measured a few results again: **again** of")
    one = open_page(monkeypatch, rerun, "model", model=["a"])
    again = [button for button in one.button if (button.key or "").startswith("rerun-")]
    assert [button.label.partition(" of ")[0] for button in again] == [
        "**eager** was measured again by again",
        "**inductor** was measured again by again",
    ]
    assert again[0].label.endswith(" an iteration, n = 8")
    again[0].click().run()
    assert "2 results of run" in text(one)
    assert not [button for button in one.button if (button.key or "").startswith("rerun-")]
    other = open_page(monkeypatch, rerun, "model", model=["b"])
    assert not [button for button in other.button if (button.key or "").startswith("rerun-")]


def test_a_rerun_stands_at_the_cells_that_it_measured_again_and_counts_in_no_mean(monkeypatch, rerun):
    overview = seen(rerun)
    [matrix] = [element.proto.body for element in overview.get("html") if 'class="xl-matrix"' in element.proto.body]
    [address, told] = re.search(r'class="again"><a href="([^"]+)" target="_self">([^<]+)<', matrix).groups()
    assert "run=again" in address
    assert told.endswith(f"measured again: a 0.25{TIMES}")
    assert f"0.50{TIMES}</a>" in matrix, "the mean is that of the night"
    assert "1 result was measured again** by run again of" in overview.button(key="models-rerun-again").label
    speedup = open_page(monkeypatch, rerun, "speedup")
    table = tables(speedup)[0].set_index(["model", "variant" if "variant" in tables(speedup)[0] else "series"])
    assert table.loc[("a", "eager"), "rerun"].endswith(f"0.25{TIMES} · again")
    assert table["rerun"].notna().sum() == 2
    assert table.loc[("a", "eager"), "speedup"] == pytest.approx(0.5)
    speedup.button(key="speedup-rerun-again").click().run()
    assert "2 results of run" in text(speedup)
    assert not [button for button in speedup.button if "-rerun-" in (button.key or "")]


def test_a_newer_run_that_only_verifies_is_said_to_verify(monkeypatch, factory, tmp_path):
    runs = {"first": {}, "verified": {"status": "verify_only", "per_iter": (), "verification_code": "PASS"}}
    for day, (run, changes) in enumerate(runs.items()):
        at = factory.RUN_START + day * factory.DAY
        record = factory.make_record(run_id=run, timestamp=at, **changes)
        factory.write_run(tmp_path / "runs" / run, [record])
    ingest([tmp_path], tmp_path / "store")
    at = open_page(monkeypatch, tmp_path / "store")
    assert at.button(key="newer-verifying").label.startswith("1 newer run only verified answers: **nightly** of")
    assert "newer-rerun" not in {button.key for button in at.button}


def test_a_newer_run_of_something_else_is_shown_however_small_it_is(monkeypatch, factory, ingested, tmp_path):
    """A user who has just measured a model of their own must find it; a rerun of a few results is one click away."""
    models = {"night": "abcde", "mine": "x", "again": "a"}
    runs = {
        run: [factory.make_record(model=name, run_id=run, label=run) for name in names] for run, names in models.items()
    }
    at = open_page(monkeypatch, ingested(tmp_path, runs))
    assert "1 result of run **mine** (newest)" in text(at)
    at.button(key="newer-rerun").click().run()
    assert "1 result of run **again**" in text(at)


def test_a_filter_in_use_stands_above_the_content_and_goes_by_a_click(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "speedup", test=["eval"], backend=["eager", "inductor"])
    assert at.button(key="chip-backend").label == "Backend: eager, inductor"
    at.button(key="chip-test").click().run()
    assert at.session_state["test"] == []
    assert at.session_state["backend"] == ["eager", "inductor"]
    assert not [each for each in at.button if each.key == "chip-test"]
