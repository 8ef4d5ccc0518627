"""The HUD's rule: a golden case for each of its formulas and edges."""

import itertools

import msgspec
import pytest

from store import harness_csv
from store.errors import UsageError
from store.importers import facts
from store.ingest import ingest
from store.query import Filters, connect, fetch
from store.record import Error, Quiet, Verification
from store.report import hud_report, render
from store.verification import HUD_STATUSES, hud_status
from tests.store import hud_files
from tests.store.factory import later, make_config, make_environment, make_record
from tests.store.hud_files import accuracy, failed, performance
from tests.store.scenes import Scenes


def rows_of(con, label):
    found = fetch(con, "FROM hud_rows WHERE run_label = $label", {"label": label})
    return {row["model"]: row for row in found}


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def ours(scenes, run):
    """The rows of a run of ours by model and variant."""
    found = fetch(scenes, "FROM hud_rows WHERE run_id = $run", {"run": run})
    return {(row["model"], row["variant"]): row for row in found}


STATUSES = {
    "pass": True,
    "pass_due_to_skip": True,
    "eager_variation": True,
    "fail_accuracy": False,
    "fail_to_run": False,
    "OOM": False,
    "eager_1st_run_fail": False,
    "eager_1st_run_OOM": False,
    "eager_2nd_run_fail": False,
    "eager_2nd_run_OOM": False,
    "eager_two_runs_differ": False,
    "not_bitwise_equivalent": False,
    "fail_batch_invariance_at_4": False,
    "model_fail_to_load": False,
    "eager_fail_to_run": False,
    "timeout": False,
    "infra_error": False,
    "a_status_of_tomorrow": False,
}


def test_three_statuses_pass_and_no_other(harness):
    assert {model: row["passed"] for model, row in rows_of(harness, "case-statuses").items()} == STATUSES


def times(**latencies):
    return [performance(name, 2.0, latency) for name, latency in latencies.items()]


def of_rate(passed, models):
    """Return so many models, of which so many pass."""
    names = [f"m{number}" for number in range(models)]
    answers = {name: "pass" if number < passed else "fail_accuracy" for number, name in enumerate(names)}
    return [performance(name, 2.0, 10.0) for name in names], answers


WITHOUT_ONE = {**dict.fromkeys("abc", "pass"), "d": "fail_accuracy"}
SUMMED = {
    "backend eager passes whatever its answer": (
        *(times(a=10.0, b=10.0), {"a": "fail_accuracy"}),
        {"passed_n": 2, "models_n": 2},
    ),
    # #{pass and speedup ≠ 0, or pass_due_to_skip} / #{models with any row}
    "the pass rate counts models with any row, and one without vanishes": (
        [performance("wrong", 3.0, 10.0), failed("slow"), *times(good=10.0, alone=9.0)],
        {"good": "pass", "wrong": "fail_accuracy", "slow": "pass", "skipped": "pass_due_to_skip", "only": "pass"},
        {"passed_n": 2, "models_n": 6, "judged_n": 5, "pass_rate": pytest.approx(2 / 6), "pass_percent": 33},
    ),
    "pass_due_to_skip passes without a speedup and is in no mean": (
        *([failed("m"), *times(n=10.0)], {"m": "pass_due_to_skip", "n": "pass"}),
        {"passed_n": 2, "geomean_vs_eager": pytest.approx(2.0), "geomean_vs_eager_n": 1},
    ),
    "backend export passes with speedup 0": ([failed("m")], {"m": "pass"}, {"passed_n": 1}),
    "any other backend with speedup 0 fails": ([failed("m")], {"m": "pass"}, {"passed_n": 0}),
    # As toFixed(0) does.
    "half a percent is rounded up, 12.5": (*of_rate(1, 8), {"pass_percent": 13}),
    "half a percent is rounded up, 0.5": (*of_rate(1, 200), {"pass_percent": 1}),
    "half a percent is rounded up, 99.5": (*of_rate(199, 200), {"pass_percent": 100}),
    "rates are whole percents": (*of_rate(2, 3), {"pass_percent": 67}),
    # (4 · 0.25 · 8)^(1/3) = 2; what failed is left out, a slowdown counts as it is.
    "the geomean is over passing models and not clipped": (
        [
            *(performance(name, speedup, 10.0) for name, speedup in zip("abcd", (4.0, 0.25, 8.0, 100.0), strict=True)),
            failed("e"),
        ],
        {**WITHOUT_ONE, "e": "pass"},
        {"geomean_vs_eager": pytest.approx(2.0, rel=1e-12), "geomean_vs_eager_n": 3},
    ),
    # Compilation (20 - 5)/2 s, a negative one counts; execution (10 + 30 + 80)/3 ms.
    "times are arithmetic means over passing models and not 0": (
        [
            performance("a", 2.0, 10.0, 20.0),
            performance("b", 2.0, 30.0, -5.0),
            performance("c", 2.0, 80.0, 0.0),
            performance("d", 2.0, 900.0, 900.0),
        ],
        WITHOUT_ONE,
        {"compilation_mean_s": 7.5, "compilation_n": 2, "execution_mean_ms": 40.0, "execution_n": 3},
    ),
    # Compression (0.5 + 2)/2, not its geomean 1; peak (4 + 0 + 2 + none)/4 GB.
    "compression is an arithmetic mean, and peaks keep their 0": (
        [
            performance("a", 2.0, 10.0, 1.0, 0.5, 2.0, 4.0),
            performance("b", 2.0, 10.0, 1.0, 0.0, 0.0, 0.0),
            performance("c", 2.0, 10.0, 1.0, 2.0, 4.0, 2.0),
        ],
        {**dict.fromkeys("abc", "pass"), "d": "pass_due_to_skip"},
        {"compression_mean": 1.25, "compression_n": 2, "dynamo_peak_mean_gb": 1.5, "dynamo_peak_n": 4},
    ),
    "a mean of nothing is no value": (
        *([failed("m")], {"m": "fail_to_run"}),
        dict.fromkeys(("compilation_mean_s", "execution_mean_ms", "compression_mean", "dynamo_peak_mean_gb")),
    ),
    "the geomean of no model is 0": (
        *(times(m=10.0), {"m": "OOM"}),
        {"geomean_vs_eager": 0.0, "geomean_vs_eager_n": 0, "geomean_vs_baseline": None},
    ),
}
"""What is summed: the lines of performance, the answers, and what the summary has then."""


ROWS = {
    "statuses": (
        [performance(status, 2.0, 10.0) for status in STATUSES],
        {status: status for status in STATUSES},
    ),
    "batches": (
        [performance("m", 2.0, 10.0, batch_size=8), performance("m", 3.0, 20.0, batch_size=4)],
        [accuracy("m", "fail_accuracy", batch_size=2), accuracy("m", "pass", batch_size=4)],
    ),
    "one side": ([performance("timed", 2.0, 10.0)], {"checked": "pass"}),
    "twice": (
        [performance("m", 2.0, 10.0), performance("m", 4.0, 5.0), failed("m")],
        [accuracy("m", "pass"), accuracy("m", "timeout")],
    ),
}
"""What is looked at row by row: the lines of performance, and the answers."""
BASELINES = {
    "means": {
        backend: (times(a=first, b=second), dict.fromkeys("ab", "pass"))
        for backend, first, second in (("inductor", 10.0, 40.0), ("openxla+dynamo", 20.0, 20.0))
    },
    "failed baseline": {
        "inductor": (times(m=10.0), {"m": "fail_accuracy"}),
        "openxla+dynamo": (times(m=20.0), {"m": "pass"}),
    },
    "no mean": {"inductor": (times(m=10.0), {"m": "OOM"})},
}
"""What is looked at beside a baseline: by backend the lines of performance, and the answers."""


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    """The store of all of these, each as a run of one backend whose label is its case."""
    home = tmp_path_factory.mktemp("harness")
    for number, (name, (rows, answers, _)) in enumerate(SUMMED.items()):
        backend = next((each for each in ("eager", "export") if name.startswith(f"backend {each}")), "inductor")
        hud_files.write(home / f"case-{number}", rows, answers, backend=backend)
    for name, (rows, answers) in ROWS.items():
        hud_files.write(home / f"case-{name}", rows, answers)
    for name, backends in BASELINES.items():
        for backend, (rows, answers) in backends.items():
            hud_files.write(home / f"case-{name}", rows, answers, backend=backend)
    with connect(ingest(sorted(home.iterdir()), home / "store").snapshot) as con:
        yield con


@pytest.fixture(scope="module")
def sums(harness):
    found = {row["run_label"]: row for row in fetch(harness, "FROM hud_summary('inductor', NULL)")}
    return {name: found[f"case-{number}"] for number, name in enumerate(SUMMED)}


@pytest.mark.parametrize("name", SUMMED)
def test_a_backend_is_summed_by_the_rule(sums, name):
    *_, expected = SUMMED[name]
    assert {key: sums[name][key] for key in expected} == expected


def test_geomean_of_no_model_has_no_value_in_the_report(harness):
    [run] = {row["run_id"] for row in rows_of(harness, "case-no mean").values()}
    table = hud_report(harness, Filters(run=(run,))).tables[0]
    assert table.rows[0][[column.title for column in table.columns].index("Geomean vs eager")] is None


def test_accuracy_and_performance_meet_at_different_batch_sizes(harness):
    """The harness checks answers at a batch size of its own; an equal one goes first."""
    asked = "SELECT batch_size, accuracy FROM hud_rows WHERE run_label = 'case-batches' ORDER BY batch_size"
    found = fetch(harness, asked)
    assert found[0] == {"batch_size": 4, "accuracy": "pass"}
    assert found[1]["accuracy"] in ("pass", "fail_accuracy")


def test_missing_on_one_side_fails_or_stands_alone(harness):
    found = rows_of(harness, "case-one side")
    assert (found["timed"]["accuracy"], found["timed"]["passed"], found["timed"]["judged"]) == (None, False, False)
    assert (found["checked"]["hud_speedup"], found["checked"]["passed"]) == (None, True)


def test_of_a_model_measured_twice_the_row_that_did_not_fail_counts(harness):
    found = fetch(harness, "FROM hud_rows WHERE run_label = 'case-twice'")
    assert [(row["hud_speedup"], row["accuracy"]) for row in found] == [(4.0, "pass")]


def harness_summary(con, label):
    """Return the summary of each variant of a run of the harness."""
    found = fetch(con, "FROM hud_summary('inductor', NULL) WHERE run_label = $label", {"label": label})
    return {row["variant"]: row for row in found}


def test_over_another_baseline_the_same_mean_is_a_number_of_its_own(harness):
    """Latencies 10 and 40 ms of inductor, 20 and 20 ms of XLA: √(10/20 · 40/20) = 1, beside 2 over eager."""
    found = harness_summary(harness, "case-means")
    xla = found["openxla+dynamo"]
    assert (xla["geomean_vs_eager"], xla["geomean_vs_baseline"]) == (pytest.approx(2.0), pytest.approx(1.0))
    assert (xla["geomean_vs_baseline_n"], found["inductor"]["geomean_vs_baseline"]) == (2, pytest.approx(1.0))


def test_a_baseline_that_did_not_pass_is_none(harness):
    found = harness_summary(harness, "case-failed baseline")["openxla+dynamo"]
    assert (found["geomean_vs_baseline"], found["geomean_vs_baseline_n"]) == (None, 0)


def test_a_baseline_can_be_of_another_point_in_time(stored, tmp_path):
    for number, latency in ((1, 10.0), (2, 5.0)):
        folder = hud_files.write(tmp_path / f"night-{number}", [performance("m", 2.0, latency)], {"m": "pass"})
        for path in folder.iterdir():
            facts.write(path, {"time": f"2026-01-0{number}T00:00:00"})
    con = stored(paths=[tmp_path / "night-1", tmp_path / "night-2"])
    runs = {row["run_label"]: row["run_id"] for row in fetch(con, "FROM hud_rows")}
    points = {
        runs["night-1"]: {"night-1": 1.0, "night-2": 2.0},
        "oldest": {"night-1": 1.0, "night-2": 2.0},
        "latest": {"night-1": 0.5, "night-2": 1.0},
        "same": {"night-1": 1.0, "night-2": 1.0},
        None: {"night-1": 1.0, "night-2": 1.0},
    }
    for point, expected in points.items():
        found = fetch(con, "FROM hud_summary('inductor', $point)", {"point": point})
        assert {row["run_label"]: row["geomean_vs_baseline"] for row in found} == expected, point


# From our own results


def measured(backend, model="m", per_iter=0.01, **changes):
    metrics = {"setup_peak_memory_bytes": [changes.pop("peak", 2e9)]}
    return make_record(model=model, backend=backend, per_iter=[per_iter] * 6, metrics=metrics, **changes)


PAIR = [
    measured("eager", per_iter=0.02, first=0.5, peak=3e9, iterations_per_run=2, verification_code="PASS"),
    measured("inductor", per_iter=0.01, first=4.0, peak=2e9, iterations_per_run=2, verification_code="PASS"),
]


@scene(*PAIR)
def test_our_results_follow_the_formulas_of_the_harness(ours):
    """They are those of `store.harness_csv`, which writes the harness's CSV from records."""
    expected = harness_csv.performance(PAIR, harness_csv.Options(backend=(None, "inductor")))[0]
    found = ours["m", "inductor"]
    pairs = {
        "hud_speedup": "speedup",
        "abs_latency_ms": "abs_latency",
        "compilation_latency_s": "compilation_latency",
        "compression_ratio": "compression_ratio",
        "eager_peak_gb": "eager_peak_mem",
        "dynamo_peak_gb": "dynamo_peak_mem",
    }
    for column, theirs in pairs.items():
        assert found[column] == pytest.approx(expected[theirs], rel=1e-12), column
    assert (found["hud_speedup"], found["abs_latency_ms"], found["accuracy"]) == (2.0, 20.0, "pass")


def verifications():
    for code in HUD_STATUSES:
        yield Verification(code=code)
    for code, by in itertools.product(("EAGER_FAILED", "EXCEPTION_RAISED", "VERIFIER_DIDNT_RUN"), ("oom", "allclose")):
        yield Verification(code=code, decided_by=by)
    yield Verification(code="VERIFIER_SKIPPED", decided_by="table")
    for kind in ("Timeout", "RuntimeError"):
        yield Verification(code="EXCEPTION_RAISED", error=Error(phase="verify", type=kind, message="x"))
    yield Verification(code="EXCEPTION_RAISED", error=Error(phase="load", type="ImportError", message="x"))


CASES = {f"m{number}": found for number, found in enumerate(verifications())}


@scene(
    *(
        msgspec.structs.replace(measured("inductor", name, verification_code=found.code), verification=found)
        for name, found in CASES.items()
    )
)
def test_an_answer_has_the_status_that_the_harness_would_write(ours):
    assert {name: ours[name, "inductor"]["accuracy"] for name in CASES} == {
        name: hud_status(found) for name, found in CASES.items()
    }


@scene(
    measured("inductor", "ran"),
    make_record(model="skipped", status="skipped", per_iter=()),
    planned=[make_config(model="not_run")],
)
def test_what_was_skipped_or_not_run_has_no_row(ours):
    assert set(ours) == {("ran", "inductor")}


@scene(measured("eager"), make_record(model="m", backend="inductor", status="oom", per_iter=()))
def test_a_failure_has_a_row_without_numbers(ours):
    found = ours["m", "inductor"]
    assert (found["hud_speedup"], found["abs_latency_ms"], found["passed"]) == (None, None, False)


@scene(measured("inductor", verification_code="PASS"))
def test_without_eager_there_is_no_speedup_and_the_latency_stays(ours):
    found = ours["m", "inductor"]
    assert (found["hud_speedup"], found["compilation_latency_s"], found["abs_latency_ms"]) == (None, None, 10.0)


@scene(measured("eager", batch_size=4), measured("inductor", batch_size=8))
def test_another_batch_size_of_eager_is_no_partner(ours):
    assert ours["m", "inductor"]["hud_speedup"] is None


ELSEWHERE = make_environment(machine_id="another")


@pytest.mark.parametrize(
    "otherwise",
    [{"environment": ELSEWHERE}, {"environment": make_environment(threads=1)}, {"start": "interpreter"}],
    ids=["machine", "threads", "start"],
)
def test_eager_of_another_machine_or_measured_in_another_way_is_no_partner(stored, otherwise):
    con = stored([measured("eager", peak=4e9, **otherwise), measured("inductor")])
    [found] = fetch(con, "FROM hud_rows WHERE variant = 'inductor'")
    assert (found["hud_speedup"], found["compilation_latency_s"], found["compression_ratio"]) == (None, None, None)


@pytest.mark.parametrize(
    "otherwise",
    [{"iterations_per_run": 20}, {"environment": make_environment(threads=1)}, {"environment": ELSEWHERE}],
    ids=["iterations per block", "threads", "machine"],
)
def test_a_baseline_of_another_run_is_of_the_same_machine_and_was_measured_alike(stored_runs, otherwise):
    """The latency of a row is that of a block: 20 iterations were a speedup of 20."""
    night = [{"backend": backend, "verification_code": "PASS"} for backend in ("inductor", "openxla+dynamo")]
    for changes, expected in (({}, 1.0), (otherwise, None)):
        con = stored_runs([later(**facts, **changes) for facts in night], [later(**facts) for facts in night])
        rows = fetch(con, "FROM hud_summary('inductor', 'run-1') WHERE run_id = 'run-2'")
        assert [row["geomean_vs_baseline"] for row in rows] == [expected] * 2


def test_a_baseline_of_another_run_was_measured_under_the_same_policy_of_threads(stored_runs):
    """The oldest of those is meant; where the policy is unknown, as of older records, it is no difference."""

    def night(policy, seconds):
        def make(**run):
            record = measured("inductor", per_iter=seconds, verification_code="PASS", **run)
            record.measurement.quiet = policy and Quiet(rule=1, policy=policy)
            return record

        return [make]

    con = stored_runs(night("raised", 0.04), night("libraries", 0.02), night("libraries", 0.01), night(None, 0.01))
    rows = fetch(con, "FROM hud_summary('inductor', 'oldest') ORDER BY run_id")
    assert [row["geomean_vs_baseline"] for row in rows] == [1.0, 1.0, 2.0, 4.0]


# The report


def test_the_report_names_what_speedups_are_over_and_each_n(demo_con):
    text = render(hud_report(demo_con, baseline_backend="openxla+lazytensor"), "text")
    titles = [column.title for column in hud_report(demo_con, baseline_backend="openxla+lazytensor").tables[0].columns]
    assert [title for title in titles if "eomean" in title] == ["Geomean vs eager", "geomean vs openxla+lazytensor"]
    assert titles.count("n") == 6
    assert "80 %, 4/5" in text
    assert "The HUD has none over openxla+lazytensor" in " ".join(text.split())


@scene(
    *(
        make_record(model=model, backend=backend, test="train", optimizer=optimizer, verification_code="PASS")
        for model, optimizer in (("a", "SGD"), ("b", "Adam"))
        for backend in ("eager", "inductor")
    )
)
def test_means_of_several_optimizers_are_told_apart(scenes, run):
    compilers = hud_report(scenes, Filters(run=(run,))).tables[0]
    place = [column.title for column in compilers.columns].index("optimizer")
    assert sorted(str(row[place]) for row in compilers.rows) == ["Adam", "Adam", "SGD", "SGD"]


@scene(measured("eager"), measured("inductor"))
def test_without_a_check_the_report_says_so_and_not_0_percent(scenes, run):
    report = hud_report(scenes, Filters(run=(run,)))
    text = render(report, "csv")
    assert "not verified, 1 model" in text
    assert "1 models" not in text
    assert "0 %, 0/1" not in text
    assert any("--verify" in note for note in report.notes)


def test_nobody_is_told_to_verify_what_was_imported(stored, tmp_path):
    con = stored(paths=[hud_files.write(tmp_path / "files", times(m=10.0))])
    assert hud_report(con).notes[-1] == "Without a check of the answers nothing passes; the imported files have none."


PASSED = {"verification_code": "PASS"}


def with_graphs(model):
    """Return the results of a model that no other test has: the latest of all machines is asked for."""
    return [
        measured("eager", model, per_iter=0.02, **PASSED),
        measured("inductor", model, per_iter=0.01, cudagraphs=True, **PASSED),
    ]


[ALONE] = scene(*with_graphs("graphs")).args[1]
[BESIDE_PLAIN] = scene(*with_graphs("plain"), measured("inductor", "plain", per_iter=0.04, **PASSED)).args[1]


@pytest.mark.parametrize("point", [None, "latest"])
def test_inductor_with_cuda_graphs_is_the_baseline_where_there_is_none_without(scenes, point):
    """As preset `hud` measures it on CUDA."""
    summary = "SELECT variant, geomean_vs_baseline FROM hud_summary('inductor', $point) WHERE run_id = $run"
    found = {
        run: dict(scenes.execute(summary, {"point": point, "run": run}).fetchall()) for run in (ALONE, BESIDE_PLAIN)
    }
    assert found[ALONE] == {"eager": pytest.approx(0.5), "inductor cudagraphs": pytest.approx(1.0)}
    assert found[BESIDE_PLAIN]["eager"] == pytest.approx(2.0)


def test_the_newest_run_is_reported_unless_one_is_named(demo_con):
    assert "22222222-bbbb" in hud_report(demo_con).title
    assert "11111111-aaaa" in hud_report(demo_con, Filters(run=("11111111-aaaa",))).title


def test_filters_narrow_the_report(demo_con):
    tables = hud_report(demo_con, Filters(test=("eval",), backend=("inductor",), model=("dcgan",))).tables
    assert (len(tables[0].rows), len(tables[1].rows)) == (1, 1)


def test_nothing_that_fits_is_said(demo_con):
    with pytest.raises(UsageError, match="No result fits"):
        hud_report(demo_con, Filters(suite=("none",)))
