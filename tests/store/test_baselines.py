"""Any baseline: another run, the latest, the oldest, another device; and what the paired rule takes and leaves."""

from datetime import UTC, datetime

import pytest

from store import changepoints, query
from store.ingest import ingest
from store.report import PeerOptions, peer_report
from store.state import marks
from tests.store.factory import DAY, RUN_START, later, make_config, make_environment, make_record, write_run
from tests.store.scenes import Scenes
from tests.tiers import first_of

SCENES = Scenes()
days = SCENES.days


def speedups(con, point, run, device=None):
    sql = """SELECT * FROM speedups('inductor', $point, baseline_accelerator := $device)
    WHERE run_id = $run AND backend = 'eager'"""
    return query.fetch(con, sql, {"point": point, "device": device, "run": run})


def day(inductor, eager=0.08, **facts):
    return [later(per_iter=[inductor] * 8, **facts), later(backend="eager", per_iter=[eager] * 8)]


@days(day(0.01), day(0.08), day(0.04), day(0.02))
@pytest.mark.parametrize(
    ("point", "number", "speedup"),
    [
        (None, 3, 0.5),
        ("same", 3, 0.5),
        ("latest", 4, 0.25),
        ("oldest", 1, 0.125),
        (2, 2, 1.0),
    ],
)
def test_the_baseline_is_of_the_run_that_is_asked_for(scenes, runs, point, number, speedup):
    [row] = speedups(scenes, runs[point - 1] if isinstance(point, int) else point, runs[2])
    expected = (runs[number - 1], speedup, False)
    assert (row["baseline_run_id"], row["speedup"], row["cross_device"]) == expected


@pytest.mark.parametrize("point", ["latest", "oldest"])
@days(day(0.01, status="oom"), day(0.04), day(0.02, verification_code="FAIL"))
def test_a_failed_baseline_is_passed_over_where_another_run_has_a_valid_one(scenes, runs, point):
    assert [row["baseline_run_id"] for row in speedups(scenes, point, runs[2])] == [runs[1]]


@days(day(0.01), day(0.04), day(0.02), [later(environment=make_environment(machine_id="m2"))])
def test_the_latest_baseline_is_of_the_own_series(scenes, runs):
    """A newer one of another machine is not comparable, so the older one of this machine counts."""
    assert [row["baseline_run_id"] for row in speedups(scenes, "latest", runs[2])] == [runs[2]]


def with_threads(threads, inductor):
    environment = make_environment(threads=threads)
    return [later(per_iter=[each] * 8, backend=name, environment=environment) for name, each in inductor.items()]


@pytest.mark.parametrize(("point", "number"), [("latest", 2), ("oldest", 1)])
@days(
    with_threads(4, {"inductor": 0.01}),
    with_threads(4, {"inductor": 0.02}),
    with_threads(1, {"inductor": 0.04}),
    with_threads(4, {"eager": 0.08}),
    with_threads(2, {"eager": 0.08}),
)
def test_a_baseline_that_was_measured_alike_comes_before_a_newer_one(scenes, runs, point, number):
    """Of several the newest or oldest; where there is none, the reason is that of the newest or oldest of all."""
    [row] = speedups(scenes, point, runs[3])
    assert (row["baseline_run_id"], row["speedup"]) == (runs[number - 1], pytest.approx(0.01 * number / 0.08))
    [other] = speedups(scenes, point, runs[4])
    against = {"latest": "1", "oldest": "4"}[point]
    assert (other["speedup"], other["speedup_reason"]) == (None, f"not comparable: threads 2 against {against}")


def device(name, inductor, machine):
    environment = make_environment(accelerator=name, machine_id=machine)
    return [
        later(per_iter=[inductor] * 8, accelerator="cuda", environment=environment),
        later(per_iter=[inductor * 4] * 8, accelerator="cuda", environment=environment, backend="eager"),
    ]


of_two_devices = days(device("V100", 0.02, "m1"), device("A100", 0.01, "m2"))


@of_two_devices
def test_a_baseline_of_another_device_is_labelled_and_gives_no_interval(scenes, runs):
    [row] = speedups(scenes, "latest", runs[0], "A100")
    assert (row["speedup"], row["cross_device"], row["baseline_accelerator_model"]) == (0.125, True, "A100")
    assert (row["speedup_low"], row["speedup_high"], row["speedup_reason"]) == (None, None, None)
    [own] = speedups(scenes, "latest", runs[1], "A100")
    assert (own["speedup"], own["cross_device"]) == (0.25, False)
    assert own["speedup_low"] is not None


@of_two_devices
def test_without_being_asked_for_another_device_is_no_baseline(scenes, runs):
    [row] = speedups(scenes, runs[1], runs[0])
    assert (row["speedup"], row["speedup_reason"]) == (None, "not comparable: accelerator model V100 against A100")


@days(day(0.01), day(0.08), day(0.04))
def test_only_the_runs_that_are_asked_for_are_compared(scenes, runs):
    sql = "SELECT DISTINCT run_id FROM speedups('inductor', $point, runs := [$run]) WHERE speedup IS NOT NULL"
    for point in (None, runs[0], "latest"):
        assert scenes.execute(sql, {"point": point, "run": runs[1]}).fetchall() == [(runs[1],)]


MORE = [later(model="BERT", per_iter=[0.03] * 8), later(model="BERT", backend="eager", per_iter=[0.06] * 8)]


@pytest.mark.parametrize("point", first_of(["latest", None, "oldest", 1], 2))
@pytest.mark.parametrize("models", first_of([["resnet18", "BERT"], ["resnet18"], ["nobody"]]))
@days([*day(0.01), *MORE], [*day(0.04), *MORE], day(0.02))
def test_the_models_that_are_asked_for_are_those_of_all(scenes, runs, point, models):
    """What narrows the search for baselines changes no row, whichever run the baseline is of."""
    rows = """SELECT * FROM speedups('inductor', $point, models := {})
    WHERE list_contains($models, model) AND list_contains($runs, run_id) ORDER BY ALL"""
    values = {"point": runs[point - 1] if isinstance(point, int) else point, "models": models, "runs": runs}
    every, asked = (query.fetch(scenes, rows.format(text), values) for text in ("NULL", "$models"))
    assert every == asked
    assert {row["model"] for row in asked} == set(models) - {"nobody"}


def both(model, left=None, right=None):
    return [make_record(model=model, backend="eager", **(left or {})), make_record(model=model, **(right or {}))]


@SCENES.scene(
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
    planned=[make_config(model="h-only-right", backend="eager")],
)
def test_the_paired_rule_tells_what_it_leaves_on_either_side(scenes, run):
    sql = "SELECT * FROM pair_lists('inductor', NULL) WHERE run_id = $run AND backend = 'eager'"
    [row] = query.fetch(scenes, sql, {"run": run})
    assert {name: value for name, value in row.items() if isinstance(value, list)} == {
        "paired": ["a-good"],
        "not_comparable": ["b-other-batch"],
        "only_left": ["g-only-left", "i-right-skipped"],
        "only_right": ["h-only-right"],
        "failed_left": ["c-left-failed", "f-both-failed", "j-left-never-steady"],
        "failed_right": ["d-right-failed", "e-right-wrong", "f-both-failed"],
    }
    assert row["n"] == 1


ALONE = {"dtype": "bfloat16"}
"""The latest results of all machines are listed; no other test has any of this type."""


@days(
    [later(**ALONE), later(backend="eager", **ALONE), later(backend="eager", model="vgg16", **ALONE)],
    [later(**ALONE), later(model="dcgan", **ALONE)],
)
def test_lists_against_the_latest_run(scenes, runs):
    sql = "SELECT * FROM pair_lists('inductor', 'latest') WHERE run_id = $run AND backend = 'eager'"
    [row] = query.fetch(scenes, sql, {"run": runs[0]})
    assert (row["paired"], row["only_left"], row["only_right"]) == (["resnet18"], ["vgg16"], ["dcgan"])


MARKED = "not comparable: a mark lies between the two runs"


@pytest.fixture
def marked(tmp_path):
    """Two runs before a mark, which names one backend or all, and two after it that take twice as long."""

    def opened(backend=None):
        for number, seconds in enumerate((0.01, 0.01, 0.02, 0.02)):
            facts = {"run_id": f"run-{number}", "timestamp": RUN_START + number * DAY, "verification_code": "PASS"}
            records = [make_record(per_iter=[seconds] * 8, **facts), make_record(backend="eager", **facts)]
            write_run(tmp_path / "runs" / str(number), records)
        ingest([tmp_path / "runs"], tmp_path / "store")
        at = datetime.fromtimestamp(RUN_START + 1.5 * DAY, UTC).replace(tzinfo=None)
        mark = marks.Mark(marked_at=at, text="new driver", who="ann", created_at=at, backend=backend)
        marks.add(tmp_path / "state.sqlite", mark)
        changepoints.update(tmp_path / "store", tmp_path / "state.sqlite")
        return query.connect(query.current_snapshot(tmp_path / "store"))

    return opened


def test_no_speedup_is_over_a_baseline_on_the_other_side_of_a_mark(marked):
    """The oldest and the latest baseline are those of the same side; the HUD's summary has the same mean."""
    with marked() as con:
        steps = con.execute(
            "SELECT run_id, otherwise, settings FROM geomean_steps('eager', NULL, $runs) ORDER BY ALL",
            {"runs": [f"run-{number}" for number in range(4)]},
        ).fetchall()
        found = {
            (point, run): speedups(con, point, run)[0]
            for point, run in (("run-0", "run-3"), ("run-2", "run-3"), ("oldest", "run-3"), ("latest", "run-0"))
        }
        sql = (
            "SELECT geomean_vs_baseline FROM hud_summary('inductor', $point) WHERE run_id = $run AND variant = 'eager'"
        )
        means = [con.execute(sql, {"point": point, "run": run}).fetchone()[0] for point, run in found]
    across = found.pop(("run-0", "run-3"))
    assert (across["speedup"], across["speedup_low"], across["speedup_reason"]) == (None, None, MARKED)
    assert [(row["baseline_run_id"], row["speedup"]) for row in found.values()] == [
        ("run-2", pytest.approx(2.0)),
        ("run-2", pytest.approx(2.0)),
        ("run-1", pytest.approx(1.0)),
    ]
    assert steps == [("run-2", ["resnet18"], ["conditions (a mark)"])] * 2, "a mean is hollow behind a mark"
    assert means == [None, *map(pytest.approx, (2.0, 2.0, 1.0))]


def test_under_the_peer_rule_too_a_baseline_is_on_the_same_side_of_a_mark(marked):
    with marked() as con:
        oldest, latest = (
            peer_report(con, PeerOptions(backends=("inductor", "eager"), baseline=point))
            for point in ("oldest", "latest")
        )
    assert [row[3] for row in oldest.tables[0].rows] == [1.0, 1.0, 2.0, 2.0]
    assert [row[3] for row in latest.tables[0].rows] == [2.0, 2.0]
    assert oldest.notes == ()
    assert [note.partition(":")[0] for note in latest.notes] == ["4 results have no speedup"]


def test_speedups_over_a_baseline_that_a_mark_names_are_of_two_epochs(marked):
    sql = "SELECT n, otherwise_n FROM geomean_changes('inductor', NULL, $old, 'run-3') WHERE variant = 'eager'"
    with marked("inductor") as con:
        assert [con.execute(sql, {"old": old}).fetchall() for old in ("run-1", "run-2")] == [[(0, 1)], [(1, 0)]]
        asked = query.with_baseline(query.Filters(run=tuple(f"run-{day}" for day in range(4))), "inductor", None)
        ways = {row["run_id"]: row["measured"] for row in query.fetch(con, query.named("weekly_speedups"), asked)}
    assert ways["run-0"] == ways["run-1"] != ways["run-2"] == ways["run-3"]
