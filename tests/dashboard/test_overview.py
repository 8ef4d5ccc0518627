"""Overview: what moved since the run before, what needs attention, the switches, and the numbers of the reports."""

import itertools
from types import SimpleNamespace

import pandas as pd
import pytest

from dashboard import data
from dashboard.formatting import TIMES
from dashboard.screens.overview.costs import _title
from dashboard.screens.overview.numbers import _alike, moved_share
from dashboard.ui import downloads
from dashboard.view import ViewSelection
from store import query
from store.record import FallbackOp
from tests.dashboard import opened
from tests.dashboard.opened import copyable, tables, text
from tests.tiers import first_of

MODELS = ("alexnet", "dcgan", "resnet18", "vgg16")
SPEEDS = {"inductor": 0.010, "openxla+dynamo": 0.012, "openxla+lazytensor": 0.012, "eager": 0.02}


def write_two_nights(factory, home):
    """Two runs, the second also on a GPU: openxla+dynamo loses a fifth, lazy tensors gain as much, one model fails."""
    for night, run in enumerate(("11111111-old", "22222222-new")):
        records = [
            factory.make_record(
                model=model,
                backend=backend,
                accelerator=accelerator,
                run_id=run,
                timestamp=factory.RUN_START + night * factory.DAY,
                environment=factory.make_environment(accelerator=f"Example {accelerator.upper()}"),
                **_outcome(night, model, backend, accelerator),
            )
            for model, backend, accelerator in itertools.product(MODELS, SPEEDS, ("cpu", "cuda")[: night + 1])
        ]
        factory.write_run(home / "runs" / run, records)
    return home


def _outcome(night, model, backend, accelerator):
    if night and (model, backend) == ("dcgan", "eager"):
        return {"status": "crashed", "message": "killed by signal 11"}
    moved = {"openxla+dynamo": 1.25, "openxla+lazytensor": 0.8}.get(backend, 1.0) if night else 1.0
    device = 0.1 if accelerator == "cuda" else 1.0
    seconds = SPEEDS[backend] * moved * device * (1 + MODELS.index(model))
    return {"per_iter": [seconds * (1 + i / 1000) for i in range(8)]}


@pytest.fixture(scope="module")
def nights(factory, tmp_path_factory):
    from store.ingest import ingest

    home = write_two_nights(factory, tmp_path_factory.mktemp("nights"))
    ingest([home], home / "store")
    return home / "store"


@pytest.fixture(scope="module")
def con(nights):
    with query.connect(query.current_snapshot(nights)) as connection:
        yield connection


def seen(store, unfolded=(), **query):
    """Return Overview with its tables, drawn once."""
    return opened.seen(store, unfolded=("numbers", *unfolded), **query)


def open_page(monkeypatch, store, unfolded=(), **query):
    """Return Overview with its tables."""
    return opened.open_page(monkeypatch, store, unfolded=("numbers", *unfolded), **query)


def board(at):
    """Return the table of means by backend."""
    return tables(at)[0].set_index("series")


def test_what_moved_since_the_run_before_has_sign_word_and_numbers(nights):
    at = seen(nights, accelerator=["cpu"])
    assert not at.exception
    change = board(at)["change"]
    assert change["openxla+dynamo"] == f"▼ slower, 0.83 → 0.67{TIMES}"
    assert change["openxla+lazytensor"] == f"▲ faster, 0.83 → 1.04{TIMES}"
    assert change["eager"] == f"≈ unchanged, 0.50 → 0.50{TIMES}"
    assert pd.isna(change["inductor"])
    words = text(at)
    assert f"**openxla\\+dynamo** :red[▼ 1.25{TIMES} slower] in eval on cpu, torchbench" in words
    assert f"(0.83 → 0.67{TIMES}, n = 4)" in words
    assert "(suspected)" in words


def test_a_run_without_an_earlier_one_of_its_series_says_so(monkeypatch, nights):
    at = open_page(monkeypatch, nights, run=["11111111"])
    assert not {"change", "trend"} & set(board(at).columns)
    assert "Since" not in text(at)
    assert not [button for button in at.button if button.label.startswith("**Compare**")]


def test_last_run_draws_the_means_of_the_runs_before_it(nights):
    trend = board(seen(nights, accelerator=["cpu"]))["trend"]
    assert trend["openxla+dynamo"] == pytest.approx([0.8333, 0.6667], abs=1e-4)
    assert trend["inductor"] is None


@pytest.mark.parametrize(
    ("reason", "alike", "said"), [("oom", 1, ", 1 of 6: oom"), ("oom", 6, ": oom"), (None, None, ", oom")]
)
def test_a_reason_says_how_many_of_those_without_a_number_have_it(reason, alike, said):
    row = SimpleNamespace(main_reason=reason, main_reason_n=alike, results_n=8, measured_n=2)
    assert _alike(row, "oom") == said


def test_ran_shows_where_it_moved(nights):
    ran = board(seen(nights, accelerator=["cpu"]))["ran"]
    assert ran["eager"] == "▼ fewer, 4/4 → 3/4"
    assert ran["inductor"] == "4/4"


@pytest.fixture(scope="module")
def costlier(factory, tmp_path_factory):
    """Two nights: under openxla+dynamo compiling takes half as long again, memory halves, an op and a FAIL are new."""
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("costlier")
    op = FallbackOp(op="nonzero", klass="opt_in_lowering", calls_per_iteration=2.0, calls_compile=4)
    for night, run in enumerate(("11111111-old", "22222222-new")):
        records = [
            factory.make_record(
                model=model,
                backend=backend,
                run_id=run,
                timestamp=factory.RUN_START + night * factory.DAY,
                first=(5.0 + place / 10) * (1.5 if night and backend == "openxla+dynamo" else 1.0),
                verification_code="FAIL" if night and (model, backend) == ("dcgan", "openxla+dynamo") else "PASS",
                fallback_ops=[op] if night and (model, backend) == ("vgg16", "openxla+dynamo") else (),
                metrics={"peak_memory_bytes": [2e9 / (1 + (night if backend == "openxla+dynamo" else 0))]},
            )
            for place, model in enumerate(MODELS)
            for backend in ("eager", "inductor", "openxla+dynamo")
        ]
        factory.write_run(home / "runs" / run, records)
    ingest([home], home / "store")
    return home / "store"


def test_each_number_has_what_it_was_before_and_a_verdict(costlier):
    moved = tables(seen(costlier, unfolded=["moved"]))[2].set_index("series")
    dynamo, inductor = moved.loc["openxla+dynamo"], moved.loc["inductor"]
    assert dynamo["first_iteration_s_move"] == "▼ slower, 5.16 s → 7.74 s, n = 3", "a wrong answer costs nothing"
    assert dynamo["memory_ratio_move"] == f"▲ less memory, 1.00{TIMES} → 2.00{TIMES}, n = 3"
    assert dynamo["verified_move"] == "▼ fewer, 4/4 → 3/4"
    assert dynamo["fallback_move"] == "▼ more, 0/4 → 1/4"
    assert inductor["verified_move"] == "≈ unchanged, 4/4"
    assert inductor["first_iteration_s_move"] == "≈ unchanged, 5.14 s → 5.14 s, n = 4"
    assert pd.isna(inductor["fallback_move"])
    assert pd.isna(moved.loc["eager", "memory_ratio_move"])


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ((4, 4), (3, 4), "▼ fewer, 4/4 → 3/4"),
        ((3, 4), (5, 8), "▼ smaller share, 3/4 → 5/8"),
        ((3, 8), (2, 4), "▲ larger share, 3/8 → 2/4"),
        ((3, 4), (6, 8), "≈ unchanged, 6/8"),
    ],
)
def test_a_share_of_another_whole_is_no_number_that_moved(then, now, said):
    assert moved_share(then, now) == said


def test_how_many_costs_moved_and_which_got_worse_is_said_before_the_table_is_opened(costlier):
    at = seen(costlier)
    [title] = [part.label for part in at.expander if part.label.startswith("Costs since")]
    of = r"openxla\+dynamo in eval cpu torchbench"
    worse = f"Verified of {of}, Fallback of {of} and 1 more"
    assert title.endswith(f": :green[▲ 1 better], :red[▼ 3 worse] ({worse}), 7 unchanged or ambiguous")
    assert len(tables(at)) == 2


def test_costs_of_two_accelerators_are_counted_apart():
    """Rows that differ in nothing but where they ran."""
    rows = pd.DataFrame({"series": "eager", "test": "eval", "suite": "torchbench", "accelerator": ["cpu", "cuda"]})
    title = _title(rows.assign(verified_move="▼ fewer, 4/4 → 3/4"), ["verified"], "nightly")
    named = "Verified of eager in eval cpu torchbench, Verified of eager in eval cuda torchbench"
    assert title == f"Costs since nightly: :red[▼ 2 worse] ({named}), 0 unchanged or ambiguous"


def test_the_files_of_what_moved_have_the_numbers_and_their_intervals(monkeypatch, costlier):
    filed = {}
    below = downloads.below
    monkeypatch.setattr(
        downloads, "below", lambda frame, key, *more: filed.update({key: frame}) or below(frame, key, *more)
    )
    shown = tables(open_page(monkeypatch, costlier, unfolded=["moved"]))[2]
    row = filed["moves"].set_index("series").loc["openxla+dynamo"]
    assert row["first_iteration_s_better"] == pytest.approx(1 / 1.5, rel=0.01)
    assert (
        row["first_iteration_s_better_low"] <= row["first_iteration_s_better"] <= row["first_iteration_s_better_high"]
    )
    assert row["first_iteration_s_n"] == 3
    assert "first_iteration_s_better" not in shown


def test_the_costs_of_a_row_have_the_memory_ratio_of_the_store(costlier):
    costs = tables(seen(costlier))[1].set_index("series")
    with query.connect(query.current_snapshot(costlier)) as con:
        sql = """SELECT exp(avg(ln(memory_ratio))) AS ratio, count(*) AS n FROM memory
            WHERE run_id = '22222222-new' AND variant = 'openxla+dynamo' AND model <> 'dcgan'"""
        [expected] = query.fetch(con, sql)
    assert (costs.loc["openxla+dynamo", "memory_ratio"], expected["ratio"]) == (pytest.approx(2), pytest.approx(2))
    assert costs.loc["openxla+dynamo", "memory_n"] == expected["n"] == 3


def test_the_models_behind_a_mean_are_listed_and_those_that_are_in_none(monkeypatch, demo):
    at = open_page(monkeypatch, demo, test=["eval"], backend=["openxla+dynamo"])
    assert not [table for table in tables(at) if "what" in table], "asked for by a click"
    at.session_state["pairing"] = True
    lists = next(table for table in tables(at.run()) if "what" in table).set_index("what")
    assert not at.exception
    with query.connect(query.current_snapshot(demo)) as con:
        sql = """SELECT * FROM pair_lists('inductor', '22222222-bbbb')
            WHERE run_id = '22222222-bbbb' AND test = 'eval' AND variant = 'openxla+dynamo'"""
        [expected] = query.fetch(con, sql)
    assert lists.loc["in the mean", ["n", "models"]].to_list() == [expected["n"], ", ".join(expected["paired"])]
    assert expected["failed_left"] == ["resnet50"]
    assert lists.loc["no valid result here: failed, disturbed or a wrong answer", "models"] == "resnet50"


def test_attention_is_a_short_list_of_links(monkeypatch, nights):
    at = open_page(monkeypatch, nights, accelerator=["cpu"])
    labels = [button.label for button in at.button]
    assert "**1 failed** (1 new) · dcgan" in labels
    assert any(label.startswith("**4 compiled results are slower than inductor** · ") for label in labels)
    at.button(key="to-base").click().run()
    assert [title.value for title in at.title] == ["Compare"]
    assert at.session_state["accelerator"] == ["cpu"]


def test_a_baseline_on_another_accelerator_is_labelled_and_has_no_verdict(monkeypatch, nights):
    at = open_page(monkeypatch, nights, accelerator=["cuda"], baseline_accelerator=["cpu"])
    words = text(at).replace("\\", "")
    assert "baseline inductor, same run, on cpu: cross-device" in words
    assert "in eval on cuda, torchbench; cross-device, so no verdict" in words
    row = board(at).loc["openxla+lazytensor"]
    assert row["geomean"] == pytest.approx(10 / 0.96, rel=0.01)
    assert row[["interval", "change"]].isna().all()
    assert "cross-device" in row["note"]


def test_a_baseline_may_be_of_one_model_of_an_accelerator(monkeypatch, nights):
    at = open_page(monkeypatch, nights, accelerator=["cuda"], baseline_accelerator=["Example CPU"])
    assert not at.warning
    assert board(at).loc["openxla+lazytensor", "geomean"] == pytest.approx(10 / 0.96, rel=0.01)


def test_a_pinned_baseline_stays_the_run_it_names(monkeypatch, nights):
    at = open_page(monkeypatch, nights, accelerator=["cpu"], baseline_run=["11111111"], baseline=["openxla+dynamo"])
    row = board(at).loc["openxla+dynamo"]
    assert row["geomean"] == pytest.approx(0.8, rel=0.01)
    assert "baseline openxla\\+dynamo, run nightly of 2025\\-10\\-09" in text(at)


@pytest.mark.parametrize(("only", "n"), first_of([("no fallback ops", 2), ("no graph breaks", 2)]))
def test_a_switch_leaves_out_models_with_fallback_ops_or_graph_breaks(monkeypatch, demo, only, n):
    at = open_page(monkeypatch, demo, only=[only], test=["eval"])
    assert not at.exception
    assert board(at).loc["openxla+dynamo", "n"] == n
    assert "12 results" in text(at)


def test_hud_rule_which_a_link_may_say_in_one_word_shows_the_tables_of_the_report(monkeypatch, demo):
    from store.query import Filters
    from store.report.hud import hud_report

    at = open_page(monkeypatch, demo, rule=["hud"], test=["eval"])
    assert not at.warning
    with query.connect(query.current_snapshot(demo)) as con:
        [run, *_] = query.runs(con)["run_id"]
        report = hud_report(con, Filters(run=(run,), test=("eval",)))
    shown = tables(at)[0]
    assert "**Compilers**" in text(at)
    assert len(shown) == len(report.tables[0].rows)
    assert shown["Geomean vs eager"].tolist() == pytest.approx([row[4] for row in report.tables[0].rows])
    assert all(note.split(":", maxsplit=1)[0] in text(at).replace("\\", "") for note in report.notes)


def test_peer_rule_which_a_link_may_say_in_one_word_shows_the_table_of_the_report(monkeypatch, demo):
    from store.report.peer import PeerOptions, peer_report

    at = open_page(monkeypatch, demo, rule=["peer"], test=["eval"], backend=["openxla+dynamo"])
    assert not at.warning
    assert "**Speedup over latest inductor**" in text(at)
    with query.connect(query.current_snapshot(demo)) as con:
        report = peer_report(con, PeerOptions(baseline="latest"))
    shown = tables(at)[0]
    assert shown.iloc[:, 3].tolist() == pytest.approx([row[3] for row in report.tables[0].rows])


def test_a_rule_of_a_link_that_does_not_exist_is_dropped_with_a_notice(monkeypatch, demo):
    at = open_page(monkeypatch, demo, rule=["mine"], only=["no bugs"], baseline_accelerator=["abacus"])
    assert not at.exception
    notice = at.warning[0].value
    assert all(word in notice for word in ("mine", "no bugs", "abacus"))
    assert "change" in tables(at)[0].columns


def _small(factory):
    """Return label → the facts of the results of its runs, a day after each other."""
    fallback = FallbackOp(op="sort", klass="no_lowering", calls_per_iteration=1, calls_compile=0)
    compiled = ("inductor", "openxla+dynamo")
    return {
        "no baseline": [
            [{"model": model, "backend": name} for model in MODELS for name in ("eager", "openxla+dynamo")]
        ],
        "only eager": [[{"model": model, "backend": "eager"} for model in MODELS]],
        "slower": [
            [
                {"model": model, "backend": backend, "per_iter": [seconds if backend != "inductor" else 0.01] * 8}
                for model in ("alexnet", "dcgan", "vgg16")
                for backend in compiled
            ]
            for seconds in (0.004, 0.006)
        ],
        "suites": [
            [
                {"suite": suite, "backend": name, "fallback_ops": [fallback] if name == "openxla+dynamo" else ()}
                for suite in ("torchbench", "timm_models")
                for name in compiled
            ]
        ],
        "disturbed": [
            [
                {"model": model, "backend": backend, "status": status}
                for model in ("alexnet", "dcgan")
                for backend in compiled
            ]
            for status in ("ok", "disturbed")
        ],
    }


@pytest.fixture(scope="module")
def small(factory, tmp_path_factory):
    """A store of small runs, each label with its own."""
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("small")
    for place, (label, runs) in enumerate(_small(factory).items()):
        for day, results in enumerate(runs):
            run, at = f"run-{place}-{day}", factory.RUN_START + (10 * place + day) * factory.DAY
            records = [factory.make_record(run_id=run, label=label, timestamp=at, **facts) for facts in results]
            factory.write_run(home / "runs" / run, records)
    ingest([home], home / "store")
    return home / "store"


def test_a_run_without_the_baseline_offers_another_one(monkeypatch, small):
    at = open_page(monkeypatch, small, labelled=["no baseline"])
    assert board(at)["geomean"].isna().all()
    assert set(board(at)["note"]) == {"no speedup: no valid result of inductor to compare with"}
    at.button(key="offer-baseline").click().run()
    assert board(at)["geomean"].notna().all()


def test_a_run_of_one_backend_offers_no_baseline_and_calls_nothing_slower(monkeypatch, small):
    for chosen in ({}, {"baseline": ["eager"]}):
        at = opened.open_page(monkeypatch, small, labelled=["only eager"], **chosen)
        assert "offer-baseline" not in {button.key for button in at.button}
        assert "No result has a speedup, so none can be called slower or faster" in text(at)
    assert "only the baseline was measured; measure another backend as well" in text(at)


def test_link_names_the_run_and_every_choice(monkeypatch, demo):
    view = {"test": ["eval"], "baseline": ["eager"], "only": ["no graph breaks"], "rule": ["HUD"]}
    at = open_page(monkeypatch, demo, unfolded=("link",), **view)
    [link] = [block for block in copyable(at) if block.startswith("?") or "://" in block]
    assert "run=22222222-bbbb" in link
    assert "test=eval" in link
    assert "baseline=eager" in link
    assert "only=no+graph+breaks" in link
    assert "rule=HUD" in link


def test_last_ingest_stands_under_the_filters(demo):
    at = opened.seen(demo)
    assert [caption.value for caption in at.sidebar.caption if caption.value.startswith("Last ingest 2")]


QUERIES = (
    "results",
    "experiments",
    "sides",
    "speedups",
    "geomeans",
    "counts",
    "attention",
    "fallback_ops",
    "graph_breaks",
    "memory_ratios",
    "pairing",
)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("only", [("no fallback ops",), pytest.param((), marks=pytest.mark.thorough)])
def test_the_statement_beside_a_table_gives_its_rows(nights, con, name, only):
    chosen = ViewSelection(
        run_id="22222222-new",
        baseline="inductor",
        model=("it's", *MODELS[:3]),
        backend=("eager", "openxla+dynamo"),
        accelerator=("cuda",),
        only=only,
    )
    shown = data.rows(str(query.current_snapshot(nights)), name, chosen)
    copied = query.select(con, data.statement(name, chosen))
    assert len(shown) == len(copied)
    pd.testing.assert_frame_equal(shown, copied, check_dtype=False)


def test_several_wrong_answers_are_said_in_the_plural(monkeypatch, review_store):
    at = open_page(monkeypatch, review_store, run=["2af2f9b8"])
    assert "**2 wrong answers** · " in at.button(key="to-wrong answer").label


def test_what_became_slower_is_no_nothing(monkeypatch, small):
    """Three models that are still faster than the baseline, and slower than the day before."""
    at = opened.open_page(monkeypatch, small, labelled=["slower"])
    assert "Every planned experiment that was not skipped" not in text(at)
    assert any(button.label.endswith("1 series slower (suspected)") for button in at.button)


def test_models_of_one_name_in_two_suites_are_two(monkeypatch, small):
    at = opened.open_page(monkeypatch, small, labelled=["suites"])
    assert "2 models by backend" in [part.value for part in at.subheader]
    assert any(button.label.endswith("· sort in 2 models") for button in at.button)


def test_a_run_that_other_programs_disturbed_measured_nothing_and_compares_nothing(monkeypatch, small):
    words = text(opened.open_page(monkeypatch, small, labelled=["disturbed"]))
    assert "measured nothing: 0 of 4 planned experiments ran, 4 disturbed by other programs" in words
    assert "changed significantly" not in words
    notes = board(open_page(monkeypatch, small, labelled=["disturbed"]))["note"]
    assert set(notes.drop("inductor")) == {"2 disturbed by other programs"}
