"""Results of a series from run to run: history, the newest, what was dropped."""

from store import query
from tests.store.factory import later, make_config, make_environment


def test_history_has_one_row_per_series_and_run(stored_runs):
    con = stored_runs(
        [later(per_iter=[0.01] * 8), later(dtype="bfloat16")],
        [later(per_iter=[0.02] * 8, environment=make_environment(torch="2.10.0")), later(dtype="bfloat16")],
        [later(status="oom", message="no room")],
    )
    found = query.fetch(con, "SELECT * FROM history WHERE dtype = 'float32' ORDER BY run_started")
    assert len({row["series_id"] for row in found}) == 1
    assert [(row["run_id"], row["status"], row["latency_s"], row["torch"]) for row in found] == [
        ("run-1", "ok", 0.01, "2.9.1"),
        ("run-2", "ok", 0.02, "2.10.0"),
        ("run-3", "oom", None, "2.9.1"),
    ]
    assert con.execute("SELECT count(DISTINCT series_id) FROM history").fetchall() == [(2,)]


def test_machines_devices_and_environments_are_series_of_their_own(stored_runs):
    con = stored_runs(
        [
            later(),
            later(environment=make_environment("next")),
            later(environment=make_environment("other", machine_id="m2")),
        ],
        [later(environment=make_environment(machine_id="m2"))],
        [later(environment=make_environment(accelerator="X"))],
    )
    assert con.execute("SELECT count(DISTINCT series_id) FROM history").fetchall() == [(5,)]


def test_the_latest_result_of_a_series_may_be_of_any_run(stored_runs):
    con = stored_runs(
        [later(), later(model="vgg16"), later(model="dcgan")],
        [later(status="crashed"), later(model="vgg16", per_iter=[0.5] * 8)],
    )
    found = query.fetch(con, "SELECT model, run_id, status, latency_s FROM latest_results ORDER BY model")
    assert [tuple(row.values()) for row in found] == [
        ("dcgan", "run-1", "ok", 0.01),
        ("resnet18", "run-2", "crashed", None),
        ("vgg16", "run-2", "ok", 0.5),
    ]


def test_what_a_run_did_not_reach_is_no_latest_result(stored_runs):
    con = stored_runs([later()], [later(backend="eager")], planned=[make_config()])
    [row] = query.fetch(con, "SELECT run_id, status FROM latest_results WHERE backend = 'inductor'")
    assert tuple(row.values()) == ("run-1", "ok")


def test_a_dropped_configuration_is_told_with_its_last_run(stored_runs):
    vgg, gone = later(model="vgg16"), later(model="vgg16", status="oom")
    [row] = query.fetch(stored_runs([later(), vgg], [later(), gone], [later()], [later()]), "SELECT * FROM dropped")
    assert (row["model"], row["last_run_id"], row["last_status"]) == ("vgg16", "run-2", "oom")
    assert (row["seen_n"], row["missing_n"]) == (2, 2)
    assert (row["newest_run_id"], row["run_label"]) == ("run-4", "nightly")


def test_what_is_planned_and_not_reached_is_not_dropped(stored_runs):
    con = stored_runs([later(), later(model="vgg16")], [later()], planned=[make_config(model="vgg16")])
    assert query.fetch(con, "SELECT * FROM dropped") == []


def test_runs_of_another_machine_drop_nothing(stored_runs):
    other = make_environment(machine_id="m2")
    con = stored_runs([later(), later(model="vgg16")], [later(environment=other)])
    assert query.fetch(con, "SELECT * FROM dropped") == []


def test_a_rerun_of_a_few_cells_drops_nothing(stored_runs):
    whole = [later(model=model) for model in ("resnet18", "vgg16", "dcgan")]
    con = stored_runs(whole, whole[:2], whole[:1])
    [row] = query.fetch(con, "SELECT * FROM dropped")
    assert (row["model"], row["missing_n"], row["newest_run_id"]) == ("dcgan", 1, "run-2")
