"""How the compiled programs of two runs differ."""

import pytest

from store import query
from store.record import Graph
from tests.store.factory import later, make_environment
from tests.store.scenes import Scenes


def graph(fingerprint="aa", kind="hlo", fusions=None, **histogram):
    return Graph(
        kind=kind, fingerprint=fingerprint, ops=sum(histogram.values()), op_histogram=histogram, fusions=fusions
    )


ENVIRONMENTS = [make_environment("old"), make_environment("new")]
PAIRS = {
    "equal": ([later(graphs=[graph(add=2), graph("bb", mul=1)])], [later(graphs=[graph("bb", mul=1), graph(add=2)])]),
    "changed": (
        [later(graphs=[graph("aa", add=2, dot=3, fusions=1), graph("bb", mul=1, fusions=0)])],
        [later(graphs=[graph("cc", add=2, dot=1, exp=1, fusions=4), graph("bb", mul=1, fusions=0), graph("dd")])],
    ),
    "any name": tuple([later(graphs=[graph(f"{n}", **{'a"b': n, "*": n, "": n})])] for n in (1, 2)),
    "fingerprint": ([later(graphs=[graph("aa", add=1)])], [later(graphs=[graph("bb", add=1)])]),
    "kinds": (
        [later(graphs=[graph("aa", "fx", add=1), graph("bb", "hlo", add=1)])],
        [later(graphs=[graph("aa", "fx", add=1)])],
    ),
    "unknown": ([later(graphs=[graph(add=1)])], [later(status="crashed")]),
    "environments": tuple(
        [
            later(environment=each, graphs=[graph(fingerprint, add=1)])
            for each, fingerprint in zip(ENVIRONMENTS, fingerprints, strict=True)
        ]
        for fingerprints in (("aa", "aa"), ("aa", "bb"))
    ),
}
"""What two runs have of a model, by its name."""
SCENES = Scenes()
days = SCENES.days
[OF_PAIRS] = days(
    *([later(model=model, **one.keywords) for model, pair in PAIRS.items() for one in pair[side]] for side in range(2))
).args[1]


def between(con, runs, named=""):
    first, last = runs[0], runs[-1]
    return query.fetch(con, f"SELECT * FROM structural_differences($a, $b{named})", {"a": first, "b": last})


@pytest.fixture(scope="module")
def differences(scenes):
    """The rows of each model."""
    found = between(scenes, OF_PAIRS)
    return {model: [row for row in found if row["model"] == model] for model in PAIRS}


def test_equal_programs_give_no_row(differences):
    assert differences["equal"] == []


def test_a_changed_program_is_told_by_its_numbers_and_operations(differences):
    [row] = differences["changed"]
    assert {key: row[key] for key in ("graphs_a", "graphs_b", "ops_a", "ops_b", "fusions_a", "fusions_b")} == {
        "graphs_a": 2, "graphs_b": 3, "ops_a": 6, "ops_b": 5, "fusions_a": 1, "fusions_b": 4,
    }  # fmt: skip
    assert (row["kind"], row["changed_n"]) == ("hlo", 2)
    assert row["op_changes"] == [{"op": "dot", "ops_a": 3, "ops_b": 1}, {"op": "exp", "ops_a": 0, "ops_b": 1}]


def test_an_operation_of_any_name_is_counted(differences):
    [row] = differences["any name"]
    assert row["op_changes"] == [{"op": name, "ops_a": 1, "ops_b": 2} for name in ("", "*", 'a"b')]


def test_another_fingerprint_alone_is_a_difference(differences):
    [row] = differences["fingerprint"]
    assert (row["changed_n"], row["ops_a"], row["ops_b"], row["op_changes"]) == (1, 1, 1, [])


def test_kinds_are_compared_apart_and_a_missing_kind_is_a_difference(differences):
    [row] = differences["kinds"]
    assert (row["kind"], row["graphs_a"], row["graphs_b"], row["ops_b"], row["changed_n"]) == ("hlo", 1, 0, None, 0)


def test_an_experiment_whose_programs_one_run_does_not_know_is_left_out(differences):
    assert differences["unknown"] == []


def test_environments_are_compared_apart(differences):
    [row] = differences["environments"]
    assert row["environment"] == "new"


@days(
    [
        later(environment=make_environment("old"), graphs=[graph("aa", add=2)]),
        later(environment=make_environment("new"), graphs=[graph("bb", add=3)]),
    ]
)
def test_two_environments_of_one_run_are_compared(scenes, runs):
    [row] = between(scenes, runs, ", environment_a := 'old', environment_b := 'new'")
    assert (row["environment"], row["ops_a"], row["ops_b"], row["changed_n"]) == ("new", 2, 3, 1)
    assert row["op_changes"] == [{"op": "add", "ops_a": 2, "ops_b": 3}]


@days(
    [later(environment=make_environment("monday"), graphs=[graph("aa", add=2)])],
    [later(environment=make_environment("tuesday"), graphs=[graph("bb", add=3)])],
)
def test_only_environments_of_two_runs_are_compared_whatever_their_names(scenes, runs):
    [row] = between(scenes, runs)
    assert (row["environment"], row["ops_a"], row["ops_b"]) == ("tuesday", 2, 3)


@days(
    [
        later(backend="openxla+lazytensor", graphs=[graph("aa", add=2, exp=1)]),
        later(backend="openxla+dynamo", graphs=[graph("bb", add=3), graph("cc", "fx", call=1)]),
    ]
)
def test_two_backends_of_one_run_are_compared_in_the_kinds_that_both_have(scenes, runs):
    [row] = between(scenes, runs, ", variant_a := 'openxla+lazytensor', variant_b := 'openxla+dynamo'")
    assert (row["kind"], row["variant"], row["ops_a"], row["ops_b"]) == ("hlo", "openxla+dynamo", 3, 3)
    assert row["op_changes"] == [{"op": "add", "ops_a": 2, "ops_b": 3}, {"op": "exp", "ops_a": 1, "ops_b": 0}]
