"""The facts in which two runs differ."""

from store import query
from store.ingest import ingest
from tests.store.factory import MACHINE, RUN_START, later, make_environment
from tests.store.peer_records import peer_record, write_peer


def differences(con, a="run-1", b="run-2"):
    sql = "SELECT scope, environment, field, value_a, value_b FROM what_differs($a, $b) ORDER BY ALL"
    return [tuple(row.values()) for row in query.fetch(con, sql, {"a": a, "b": b})]


def test_runs_of_one_environment_differ_in_nothing(stored_runs):
    assert differences(stored_runs([later()], [later()])) == []


def test_versions_and_variables_are_told_field_by_field(stored_runs):
    old = make_environment(torch_git="aaa", variables={"OMP_NUM_THREADS": "4", "XLA_FLAGS": "x"}, server_import_s=1.0)
    new = make_environment(torch="2.10.0", torch_git="bbb", variables={"OMP_NUM_THREADS": "8"}, server_import_s=2.0)
    assert differences(stored_runs([later(environment=old)], [later(environment=new)])) == [
        ("environment", None, "torch", "2.9.1", "2.10.0"),
        ("environment", None, "torch_git", "aaa", "bbb"),
        ("environment", None, "variables.OMP_NUM_THREADS", "4", "8"),
        ("environment", None, "variables.XLA_FLAGS", "x", None),
    ]


def test_a_fact_of_any_name_is_told(stored_runs):
    """A quote, a star or no name at all was a path that DuckDB refused, and an escaped quote found nothing."""
    names = ['a"b', "*", "", 'a\\"b', "a.b"]
    old, new = (make_environment(variables=dict.fromkeys(names, value)) for value in "xy")
    found = differences(stored_runs([later(environment=old)], [later(environment=new)]))
    assert sorted(found) == sorted(("environment", None, f"variables.{name}", "x", "y") for name in names)


def test_single_environments_are_compared_whatever_their_names(stored_runs):
    old, new = make_environment("old"), make_environment("new", threads=8)
    assert differences(stored_runs([later(environment=old)], [later(environment=new)])) == [
        ("environment", None, "name", "old", "new"),
        ("environment", None, "threads", "4", "8"),
    ]


def test_several_environments_are_compared_by_name(stored_runs):
    def both(**changes):
        return [later(environment=make_environment("x")), later(environment=make_environment("y", **changes))]

    con = stored_runs(both(), both(torch_xla="3.0"))
    assert differences(con) == [("environment", "y", "torch_xla", "2.9.0", "3.0")]


def test_another_plan_is_a_difference(stored_runs):
    found = differences(stored_runs([later()], [later(), later(model="vgg16")]))
    assert [row[:3] for row in found] == [("run", None, "plan")]


def test_runs_without_a_run_json_are_compared_by_their_records(tmp_path):
    records = [
        peer_record(timestamp=RUN_START, accelerator_model="GPU A"),
        peer_record(timestamp=RUN_START + 1, accelerator_model="GPU B"),
    ]
    write_peer(tmp_path / "a.jsonl", records)
    with query.connect(ingest([tmp_path / "a.jsonl"], tmp_path / "store").snapshot) as con:
        a, b = (row["run_id"] for row in query.fetch(con, "SELECT run_id FROM runs ORDER BY run_started"))
        assert differences(con, a, b) == [("environment", None, "accelerator", "GPU A", "GPU B")]


def test_the_machine_is_an_environments_fact(stored_runs):
    other = later(environment=make_environment(machine_id="other"))
    assert differences(stored_runs([later()], [other])) == [("environment", None, "machine_id", MACHINE, "other")]
