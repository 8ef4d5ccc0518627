"""Results of a series from run to run: history, the newest, what was dropped."""

import pytest

from store import query
from tests.store.factory import later, make_config, make_environment
from tests.store.scenes import Scenes

SCENES = Scenes()
days = SCENES.days
OTHER = make_environment(machine_id="m2")


@pytest.fixture
def of_runs(scenes, runs):
    """Ask for what a view has of the runs of a test."""

    def ask(columns, view, where="true", order="ALL", run="run_id"):
        sql = f"SELECT {columns} FROM {view} WHERE list_contains($runs, {run}) AND {where} ORDER BY {order}"
        return query.fetch(scenes, sql, {"runs": runs})

    return ask


@days(
    [later(per_iter=[0.01] * 8), later(dtype="bfloat16")],
    [later(per_iter=[0.02] * 8, environment=make_environment(torch="2.10.0")), later(dtype="bfloat16")],
    [later(status="oom", message="no room")],
)
def test_history_has_one_row_per_series_and_run(of_runs, runs):
    found = of_runs("*", "history", "dtype = 'float32'", "run_started")
    assert len({row["series_id"] for row in found}) == 1
    assert [(row["run_id"], row["status"], row["latency_s"], row["torch"]) for row in found] == [
        (runs[0], "ok", 0.01, "2.9.1"),
        (runs[1], "ok", 0.02, "2.10.0"),
        (runs[2], "oom", None, "2.9.1"),
    ]
    assert of_runs("count(DISTINCT series_id) AS n", "history") == [{"n": 2}]


@days(
    [
        later(),
        later(environment=make_environment("next")),
        later(environment=make_environment("other", machine_id="m2")),
    ],
    [later(environment=OTHER)],
    [later(environment=make_environment(accelerator="X"))],
)
def test_machines_devices_and_environments_are_series_of_their_own(of_runs):
    assert of_runs("count(DISTINCT series_id) AS n", "history") == [{"n": 5}]


@days(
    [later(), later(model="vgg16"), later(model="dcgan")],
    [later(status="crashed"), later(model="vgg16", per_iter=[0.5] * 8)],
)
def test_the_latest_result_of_a_series_may_be_of_any_run(of_runs, runs):
    found = of_runs("model, run_id, status, latency_s", "latest_results", order="model")
    assert [tuple(row.values()) for row in found] == [
        ("dcgan", runs[0], "ok", 0.01),
        ("resnet18", runs[1], "crashed", None),
        ("vgg16", runs[1], "ok", 0.5),
    ]


@days([later()], [later(backend="eager")], planned=[make_config()])
def test_what_a_run_did_not_reach_is_no_latest_result(of_runs, runs):
    [row] = of_runs("run_id, status", "latest_results", "backend = 'inductor'")
    assert tuple(row.values()) == (runs[0], "ok")


@pytest.fixture
def dropped(of_runs):
    """What the newest of the runs of a test no longer has."""
    return of_runs("*", "dropped", run="newest_run_id")


@days([later(), later(model="vgg16")], [later(), later(model="vgg16", status="oom")], [later()], [later()])
def test_a_dropped_configuration_is_told_with_its_last_run(dropped, runs):
    [row] = dropped
    assert (row["model"], row["last_run_id"], row["last_status"]) == ("vgg16", runs[1], "oom")
    assert (row["seen_n"], row["missing_n"]) == (2, 2)
    assert (row["newest_run_id"], row["run_label"]) == (runs[3], "nightly")


@days([later(), later(model="vgg16")], [later()], planned=[make_config(model="vgg16")])
def test_what_is_planned_and_not_reached_is_not_dropped(dropped):
    assert dropped == []


@days([later(), later(model="vgg16")], [later(environment=OTHER)])
def test_runs_of_another_machine_drop_nothing(dropped):
    assert dropped == []


WHOLE = [later(model=model) for model in ("resnet18", "vgg16", "dcgan")]


@days(WHOLE, WHOLE[:2], WHOLE[:1])
def test_a_rerun_of_a_few_cells_drops_nothing(dropped, runs):
    [row] = dropped
    assert (row["model"], row["missing_n"], row["newest_run_id"]) == ("dcgan", 1, runs[1])
