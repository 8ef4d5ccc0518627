"""The verdict on a moved geometric mean, and the numbers it rests on."""

import math

import pytest

from store import query
from store.stats.geomean import geomean, judge_mean
from store.weekly.counts import speedups_table
from store.weekly.lanes import lanes, sides_of
from tests.store.factory import later, make_environment
from tests.store.weekly_runs import write_weeks


@pytest.mark.parametrize(
    ("numbers", "word"),
    [
        ((1.10, 1.05, 1.15, 9), "faster"),
        ((0.90, 0.85, 0.95, 9), "slower"),
        ((1.01, 0.99, 1.02, 9), "same"),
        ((1.10, 0.98, 1.20, 9), "ambiguous"),
        ((1.02, 1.01, 1.05, 9), "ambiguous"),
        ((1.50, None, None, 2), "ambiguous"),
        ((None, None, None, 0), "not comparable"),
    ],
)
def test_faster_and_slower_need_an_interval_clear_of_1_and_an_effect_above_the_floor(numbers, word):
    verdict = judge_mean(*numbers, floor=0.03)
    assert verdict.word == word
    assert not verdict.confirmed
    assert verdict.reason


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("weeks")
    write_weeks(home)
    with query.connect(ingest([home], home / "store").snapshot) as con:
        yield con


def test_changes_are_those_of_the_weekly_review(weeks):
    [lane] = lanes(weeks)
    rows = query.fetch(
        weeks,
        "SELECT * FROM geomean_changes('inductor', NULL, $before, $after) WHERE n > 0 AND variant <> 'inductor'",
        {"before": lane.last.run_id, "after": lane.now.run_id},
    )
    ours = {
        (row["test"], row["variant"]): (row["n"], row["geomean_before"], row["geomean_after"], row["geomean_change"])
        for row in rows
    }
    review = {row[1:3]: row[3:7] for row in speedups_table(weeks, [sides_of(weeks, lane)], "inductor").rows if row[3]}
    assert len(review) > 1
    assert ours.keys() == review.keys()
    for key, numbers in review.items():
        assert ours[key] == pytest.approx(numbers), key


def test_a_change_is_the_product_of_backend_and_baseline_and_has_its_interval(weeks):
    [lane] = lanes(weeks)
    ask = "SELECT * FROM geomean_changes('inductor', NULL, $before, $after) WHERE n >= 3"
    for row in query.fetch(weeks, ask, {"before": lane.last.run_id, "after": lane.now.run_id}):
        assert row["geomean_change"] == pytest.approx(row["by_backend"] * row["by_baseline"])
        assert row["geomean_change"] == pytest.approx(row["geomean_after"] / row["geomean_before"])
        assert row["geomean_change_low"] <= row["geomean_change"] <= row["geomean_change_high"]


def test_interval_is_that_of_the_mean_log(weeks):
    [lane] = lanes(weeks)
    runs = {"before": lane.last.run_id, "after": lane.now.run_id}
    sides = query.fetch(
        weeks,
        "SELECT variant, test, series_id, any_value(speedup) FILTER (run_id = $after)"
        " / any_value(speedup) FILTER (run_id = $before) AS moved"
        " FROM speedups('inductor', NULL, runs := [$before, $after]) GROUP BY ALL",
        runs,
    )
    [row] = query.fetch(
        weeks,
        "SELECT * FROM geomean_changes('inductor', NULL, $before, $after) WHERE variant = 'eager' AND test = 'eval'",
        runs,
    )
    moved = [side["moved"] for side in sides if side["variant"] == "eager" and side["test"] == "eval" and side["moved"]]
    found = geomean(moved)
    assert row["n"] == len(moved)
    assert row["geomean_change"] == pytest.approx(found.value)
    if found.low is None:
        assert row["geomean_change_low"] is None
    else:
        assert math.isclose(row["geomean_change_low"], found.low, rel_tol=1e-9)


def test_results_that_were_measured_otherwise_are_in_no_change(stored_runs):
    """With half of the threads no backend became slower: `xlabench compare` calls such runs not comparable."""
    models = ("alexnet", "dcgan", "resnet18", "vgg16")
    backends = {"inductor": 0.01, "openxla+dynamo": 0.008}

    def night(factor, of_model):
        return [
            later(
                model=model,
                backend=backend,
                per_iter=[seconds * (factor if of_model(model) else 1)] * 8,
                environment=make_environment(threads=2 if factor > 1 and of_model(model) else 4),
            )
            for model in models
            for backend, seconds in backends.items()
        ]

    for changed, n in ((models, 0), (("vgg16",), 3)):
        con = stored_runs(night(1, changed.__contains__), night(1.9, changed.__contains__))
        rows = query.fetch(con, "SELECT * FROM geomean_changes('inductor', NULL, 'run-1', 'run-2')")
        assert [(row["n"], row["otherwise_n"], row["by_backend"]) for row in rows] == [
            (n, len(changed), None if n == 0 else pytest.approx(1.0))
        ] * 2
        [lane] = lanes(con, since="run-1")
        [row] = speedups_table(con, [sides_of(con, lane)], "inductor").rows
        assert (row[3], row[-1]) == (n, len(changed))
        assert row[6] == (None if n == 0 else pytest.approx(1.0))


def test_the_weekly_review_compares_speedups_of_two_runs_only_where_they_were_measured_alike(stored_runs):
    """With other threads a backend gains on inductor though its code is the same: no change of a mean shows that."""

    def night(seconds, threads):
        return [
            later(model=model, backend=backend, per_iter=[time] * 8, environment=make_environment(threads=threads))
            for model in ("alexnet", "dcgan", "vgg16")
            for backend, time in (("inductor", 0.01), ("openxla+dynamo", seconds if model == "vgg16" else 0.01))
        ]

    con = stored_runs(night(0.01, 4), night(0.005, 4)[:4] + night(0.005, 8)[4:])
    [lane] = lanes(con, since="run-1")
    [row] = speedups_table(con, [sides_of(con, lane)], "inductor").rows
    assert row[3:8] == (2, 1.0, 1.0, 1.0, None)
    assert row[-3:] == (0, 0, 1)


def test_a_mean_over_other_models_or_of_models_measured_differently_is_a_step(stored_runs):
    """The fourth mean is of the models of the third, measured alike; of a failed model there is none between."""

    def night(models, **facts):
        return [later(model=model, backend=backend, **facts) for model in models for backend in ("inductor", "eager")]

    con = stored_runs(
        night(("a", "b")),
        night(("a", "b", "c")),
        night(("a", "c"), environment=make_environment(threads=2)),
        [*night(("a", "c"), environment=make_environment(threads=2)), later(model="b", status="crashed")],
        night(("d",), iterations_per_run=20) + night(("a", "c"), iterations_per_run=20),
    )
    asked = "FROM geomean_steps('inductor', NULL, $runs) WHERE variant = 'eager' ORDER BY run_id"
    rows = query.fetch(con, asked, {"runs": [f"run-{number}" for number in range(1, 6)]})
    assert [[row[name] for name in ("run_id", "added", "gone", "otherwise", "settings")] for row in rows] == [
        ["run-2", ["c"], [], [], []],
        ["run-3", [], ["b"], ["a", "c"], ["threads"]],
        ["run-5", ["d"], [], ["a", "c"], ["iterations per block", "threads"]],
    ]
    assert {(row["suite"], row["test"], row["backend"]) for row in rows} == {("torchbench", "eval", "eager")}
    assert query.fetch(con, asked, {"runs": ["run-3", "run-4"]}) == []
    [only] = query.fetch(con, asked, {"runs": ["run-1", "run-4"]})
    assert (only["added"], only["gone"], only["otherwise"]) == (["c"], ["b"], ["a"])


def test_the_weekly_table_has_a_mean_for_each_suite_and_setting(stored_runs):
    """A mean over models, their operators and two data types is no number of any of them."""

    def night(factor):
        return [
            later(backend=backend, per_iter=[seconds] * 8, **of)
            for of, seconds_of in (
                ({"model": "alexnet"}, 0.01),
                ({"model": "alexnet", "dtype": "bfloat16"}, 0.01 * factor),
                ({"suite": "operators", "model": "torch.mm(float[4,4], float[4,4])"}, 0.04),
            )
            for backend, seconds in (("inductor", 0.01), ("eager", seconds_of))
        ]

    con = stored_runs(night(1), night(2))
    [lane] = lanes(con, since="run-1")
    table = speedups_table(con, [sides_of(con, lane)], "inductor")
    titles = [column.title for column in table.columns]
    rows = [dict(zip(titles, row, strict=True)) for row in table.rows]
    assert [(row["suite"], row["dtype"], row["n"], row["now"], row["now / last"]) for row in rows] == [
        ("operators", "float32", 1, 0.25, 1.0),
        ("torchbench", "bfloat16", 1, 0.5, 0.5),
        ("torchbench", "float32", 1, 1.0, 1.0),
    ]
