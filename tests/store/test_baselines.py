"""Any baseline: another run, the latest, the oldest, another device; and what the paired rule takes and leaves."""

import pytest

from store import query
from tests.store.factory import later, make_config, make_environment, make_record
from tests.tiers import first_of


def speedups(con, point, device=None, where="run_id = 'run-3' AND backend = 'eager'"):
    sql = f"SELECT * FROM speedups('inductor', $point, baseline_accelerator := $device) WHERE {where}"
    return query.fetch(con, sql, {"point": point, "device": device})


def day(inductor, eager=0.08, **facts):
    return [later(per_iter=[inductor] * 8, **facts), later(backend="eager", per_iter=[eager] * 8)]


@pytest.mark.parametrize(
    ("point", "run", "speedup"),
    [
        (None, "run-3", 0.5),
        ("same", "run-3", 0.5),
        ("latest", "run-4", 0.25),
        ("oldest", "run-1", 0.125),
        ("run-2", "run-2", 1.0),
    ],
)
def test_the_baseline_is_of_the_run_that_is_asked_for(stored_runs, point, run, speedup):
    con = stored_runs(day(0.01), day(0.08), day(0.04), day(0.02))
    [row] = speedups(con, point)
    assert (row["baseline_run_id"], row["speedup"], row["cross_device"]) == (run, speedup, False)


@pytest.mark.parametrize(("point", "run"), [("latest", "run-2"), ("oldest", "run-2")])
def test_a_failed_baseline_is_passed_over_where_another_run_has_a_valid_one(stored_runs, point, run):
    con = stored_runs(day(0.01, status="oom"), day(0.04), day(0.02, verification_code="FAIL"))
    assert [row["baseline_run_id"] for row in speedups(con, point)] == [run]


def test_the_latest_baseline_is_of_the_own_series(stored_runs):
    """A newer one of another machine is not comparable, so the older one of this machine counts."""
    away = make_environment(machine_id="m2")
    con = stored_runs(day(0.01), day(0.04), day(0.02), [later(environment=away)])
    assert [row["baseline_run_id"] for row in speedups(con, "latest")] == ["run-3"]


def device(name, inductor, machine):
    environment = make_environment(accelerator=name, machine_id=machine)
    return [
        later(per_iter=[inductor] * 8, accelerator="cuda", environment=environment),
        later(per_iter=[inductor * 4] * 8, accelerator="cuda", environment=environment, backend="eager"),
    ]


def test_a_baseline_of_another_device_is_labelled_and_gives_no_interval(stored_runs):
    con = stored_runs(device("V100", 0.02, "m1"), device("A100", 0.01, "m2"))
    [row] = speedups(con, "latest", "A100", "run_id = 'run-1' AND backend = 'eager'")
    assert (row["speedup"], row["cross_device"], row["baseline_accelerator_model"]) == (0.125, True, "A100")
    assert (row["speedup_low"], row["speedup_high"], row["speedup_reason"]) == (None, None, None)
    [own] = speedups(con, "latest", "A100", "run_id = 'run-2' AND backend = 'eager'")
    assert (own["speedup"], own["cross_device"]) == (0.25, False)
    assert own["speedup_low"] is not None


def test_without_being_asked_for_another_device_is_no_baseline(stored_runs):
    con = stored_runs(device("V100", 0.02, "m1"), device("A100", 0.01, "m2"))
    [row] = speedups(con, "run-2", None, "run_id = 'run-1' AND backend = 'eager'")
    assert (row["speedup"], row["speedup_reason"]) == (None, "not comparable: accelerator model V100 against A100")


def test_only_the_runs_that_are_asked_for_are_compared(stored_runs):
    con = stored_runs(day(0.01), day(0.08), day(0.04))
    sql = "SELECT DISTINCT run_id FROM speedups('inductor', $point, runs := ['run-2']) WHERE speedup IS NOT NULL"
    for point in (None, "run-1", "latest"):
        assert con.execute(sql, {"point": point}).fetchall() == [("run-2",)]


@pytest.mark.parametrize("point", first_of(["latest", None, "oldest", "run-1"], 2))
@pytest.mark.parametrize("models", first_of([["resnet18", "BERT"], ["resnet18"], ["nobody"]]))
def test_the_models_that_are_asked_for_are_those_of_all(stored_runs, point, models):
    """What narrows the search for baselines changes no row, whichever run the baseline is of."""
    more = [later(model="BERT", per_iter=[0.03] * 8), later(model="BERT", backend="eager", per_iter=[0.06] * 8)]
    con = stored_runs([*day(0.01), *more], [*day(0.04), *more], day(0.02))
    rows = "SELECT * FROM speedups('inductor', $point, models := {}) WHERE list_contains($models, model) ORDER BY ALL"
    values = {"point": point, "models": models}
    every, asked = (query.fetch(con, rows.format(text), values) for text in ("NULL", "$models"))
    assert every == asked
    assert {row["model"] for row in asked} == set(models) - {"nobody"}


def test_the_paired_rule_tells_what_it_leaves_on_either_side(stored):
    def both(model, left=None, right=None):
        return [make_record(model=model, backend="eager", **(left or {})), make_record(model=model, **(right or {}))]

    con = stored(
        [
            *both("a-good"),
            *both("b-other-batch", {"batch_size": 4}),
            *both("c-left-failed", {"status": "oom"}),
            *both("d-right-failed", None, {"status": "timeout"}),
            *both("e-right-wrong", None, {"verification_code": "FAIL"}),
            *both("f-both-failed", {"status": "oom"}, {"status": "oom"}),
            make_record(model="g-only-left", backend="eager"),
            make_record(model="h-only-right"),
            *both("i-right-skipped", None, {"status": "skipped", "message": "no"}),
            *both("j-left-never-steady", {"status": "never_steady"}),
        ],
        [make_config(model="h-only-right", backend="eager")],
    )
    [row] = query.fetch(con, "SELECT * FROM pair_lists('inductor', NULL) WHERE backend = 'eager'")
    assert {name: value for name, value in row.items() if isinstance(value, list)} == {
        "paired": ["a-good"],
        "not_comparable": ["b-other-batch"],
        "only_left": ["g-only-left", "i-right-skipped"],
        "only_right": ["h-only-right"],
        "failed_left": ["c-left-failed", "f-both-failed", "j-left-never-steady"],
        "failed_right": ["d-right-failed", "e-right-wrong", "f-both-failed"],
    }
    assert row["n"] == 1


def test_lists_against_the_latest_run(stored_runs):
    con = stored_runs(
        [later(), later(backend="eager"), later(backend="eager", model="vgg16")],
        [later(), later(model="dcgan")],
    )
    sql = "SELECT * FROM pair_lists('inductor', 'latest') WHERE run_id = 'run-1' AND backend = 'eager'"
    [row] = query.fetch(con, sql)
    assert (row["paired"], row["only_left"], row["only_right"]) == (["resnet18"], ["vgg16"], ["dcgan"])
