"""The facts in which two runs differ."""

import pytest

from store import query
from store.ingest import ingest
from tests.store.factory import MACHINE, RUN_START, later, make_environment
from tests.store.peer_records import peer_record, write_peer


def named(**changes):
    return [later(environment=make_environment(**changes))]


NAMES = ['a"b', "*", "", 'a\\"b', "a.b"]
PAIRS = {
    "nothing": ([later()], [later()]),
    "versions": (
        named(torch_git="aaa", variables={"OMP_NUM_THREADS": "4", "XLA_FLAGS": "x"}, server_import_s=1.0),
        named(torch="2.10.0", torch_git="bbb", variables={"OMP_NUM_THREADS": "8"}, server_import_s=2.0),
    ),
    "any name": tuple(named(variables=dict.fromkeys(NAMES, value)) for value in "xy"),
    "single": (named(name="old"), named(name="new", threads=8)),
    "several": tuple([*named(name="x"), *named(name="y", torch_xla=version)] for version in ("2.9.0", "3.0")),
    "plan": ([later()], [later(), later(model="vgg16")]),
    "machine": ([later()], named(machine_id="other")),
    "waiting": tuple(named(variables={"OMP_WAIT_POLICY": value}) for value in ("active", "passive")),
}
"""What pairs of runs have, by what differs."""


@pytest.fixture(scope="module")
def pairs(ingested):
    runs = [([one(run_id=f"{name} {n}") for one in pair[n]], ()) for name, pair in PAIRS.items() for n in range(2)]
    with query.connect(ingested(*runs)) as con:
        yield con


def differences(con, a, b):
    sql = "SELECT scope, environment, field, value_a, value_b FROM what_differs($a, $b) ORDER BY ALL"
    return [tuple(row.values()) for row in query.fetch(con, sql, {"a": a, "b": b})]


def of_pair(con, name):
    return differences(con, f"{name} 0", f"{name} 1")


def test_runs_of_one_environment_differ_in_nothing(pairs):
    assert of_pair(pairs, "nothing") == []


def test_versions_and_variables_are_told_field_by_field(pairs):
    assert of_pair(pairs, "versions") == [
        ("environment", None, "torch", "2.9.1", "2.10.0"),
        ("environment", None, "torch_git", "aaa", "bbb"),
        ("environment", None, "variables.OMP_NUM_THREADS", "4", "8"),
        ("environment", None, "variables.XLA_FLAGS", "x", None),
    ]


def test_a_fact_of_any_name_is_told(pairs):
    """A quote, a star or no name at all was a path that DuckDB refused, and an escaped quote found nothing."""
    expected = sorted(("environment", None, f"variables.{name}", "x", "y") for name in NAMES)
    assert sorted(of_pair(pairs, "any name")) == expected


def test_single_environments_are_compared_whatever_their_names(pairs):
    assert of_pair(pairs, "single") == [
        ("environment", None, "name", "old", "new"),
        ("environment", None, "threads", "4", "8"),
    ]


def test_several_environments_are_compared_by_name(pairs):
    assert of_pair(pairs, "several") == [("environment", "y", "torch_xla", "2.9.0", "3.0")]


def test_another_plan_is_a_difference(pairs):
    assert [row[:3] for row in of_pair(pairs, "plan")] == [("run", None, "plan")]


def test_the_machine_is_an_environments_fact(pairs):
    assert of_pair(pairs, "machine") == [("environment", None, "machine_id", MACHINE, "other")]


def test_the_policy_of_threads_is_told(pairs):
    """The run.json of a real run knows no variables: it is written before any process has reported them."""
    assert ("settings", None, "thread_policy", "OMP_WAIT_POLICY=ACTIVE", "OMP_WAIT_POLICY=PASSIVE") in of_pair(
        pairs, "waiting"
    )


def test_runs_without_a_run_json_are_compared_by_their_records(tmp_path):
    records = [
        peer_record(timestamp=RUN_START, accelerator_model="GPU A"),
        peer_record(timestamp=RUN_START + 1, accelerator_model="GPU B"),
    ]
    write_peer(tmp_path / "a.jsonl", records)
    with query.connect(ingest([tmp_path / "a.jsonl"], tmp_path / "store").snapshot) as con:
        a, b = (row["run_id"] for row in query.fetch(con, "SELECT run_id FROM runs ORDER BY run_started"))
        assert differences(con, a, b) == [("environment", None, "accelerator", "GPU A", "GPU B")]
