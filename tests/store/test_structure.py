"""How the compiled programs of two runs differ."""

from store import query
from store.record import Graph
from tests.store.factory import later


def graph(fingerprint="aa", kind="hlo", fusions=None, **histogram):
    return Graph(
        kind=kind, fingerprint=fingerprint, ops=sum(histogram.values()), op_histogram=histogram, fusions=fusions
    )


def differences(con, a="run-1", b="run-2"):
    return query.fetch(con, f"SELECT * FROM structural_differences('{a}', '{b}')")


def test_equal_programs_give_no_row(stored_runs):
    same = later(graphs=[graph(add=2), graph("bb", mul=1)])
    other_order = later(graphs=[graph("bb", mul=1), graph(add=2)])
    assert differences(stored_runs([same], [other_order])) == []


def test_a_changed_program_is_told_by_its_numbers_and_operations(stored_runs):
    old = later(graphs=[graph("aa", add=2, dot=3, fusions=1), graph("bb", mul=1, fusions=0)])
    new = later(graphs=[graph("cc", add=2, dot=1, exp=1, fusions=4), graph("bb", mul=1, fusions=0), graph("dd")])
    [row] = differences(stored_runs([old], [new]))
    assert {key: row[key] for key in ("graphs_a", "graphs_b", "ops_a", "ops_b", "fusions_a", "fusions_b")} == {
        "graphs_a": 2, "graphs_b": 3, "ops_a": 6, "ops_b": 5, "fusions_a": 1, "fusions_b": 4,
    }  # fmt: skip
    assert (row["model"], row["kind"], row["changed_n"]) == ("resnet18", "hlo", 2)
    assert row["op_changes"] == [{"op": "dot", "ops_a": 3, "ops_b": 1}, {"op": "exp", "ops_a": 0, "ops_b": 1}]


def test_an_operation_of_any_name_is_counted(stored_runs):
    old, new = (later(graphs=[graph(f"{n}", **{'a"b': n, "*": n, "": n})]) for n in (1, 2))
    [row] = differences(stored_runs([old], [new]))
    assert row["op_changes"] == [{"op": name, "ops_a": 1, "ops_b": 2} for name in ("", "*", 'a"b')]


def test_another_fingerprint_alone_is_a_difference(stored_runs):
    [row] = differences(stored_runs([later(graphs=[graph("aa", add=1)])], [later(graphs=[graph("bb", add=1)])]))
    assert (row["changed_n"], row["ops_a"], row["ops_b"], row["op_changes"]) == (1, 1, 1, [])


def test_kinds_are_compared_apart_and_a_missing_kind_is_a_difference(stored_runs):
    old = later(graphs=[graph("aa", "fx", add=1), graph("bb", "hlo", add=1)])
    [row] = differences(stored_runs([old], [later(graphs=[graph("aa", "fx", add=1)])]))
    assert (row["kind"], row["graphs_a"], row["graphs_b"], row["ops_b"], row["changed_n"]) == ("hlo", 1, 0, None, 0)


def test_an_experiment_whose_programs_one_run_does_not_know_is_left_out(stored_runs):
    assert differences(stored_runs([later(graphs=[graph(add=1)])], [later(status="crashed")])) == []


def test_environments_are_compared_apart(stored_runs):
    from tests.store.factory import make_environment

    envs = [make_environment("old"), make_environment("new")]
    first = [later(environment=env, graphs=[graph("aa", add=1)]) for env in envs]
    second = [later(environment=env, graphs=[graph(fp, add=1)]) for env, fp in zip(envs, ("aa", "bb"), strict=True)]
    [row] = differences(stored_runs(first, second))
    assert row["environment"] == "new"


def test_two_environments_of_one_run_are_compared(stored_runs):
    from tests.store.factory import make_environment

    old, new = make_environment("old"), make_environment("new")
    run = [later(environment=old, graphs=[graph("aa", add=2)]), later(environment=new, graphs=[graph("bb", add=3)])]
    con = stored_runs(run)
    named = "environment_a := 'old', environment_b := 'new'"
    [row] = query.fetch(con, f"SELECT * FROM structural_differences('run-1', 'run-1', {named})")
    assert (row["environment"], row["ops_a"], row["ops_b"], row["changed_n"]) == ("new", 2, 3, 1)
    assert row["op_changes"] == [{"op": "add", "ops_a": 2, "ops_b": 3}]


def test_only_environments_of_two_runs_are_compared_whatever_their_names(stored_runs):
    from tests.store.factory import make_environment

    first = later(environment=make_environment("monday"), graphs=[graph("aa", add=2)])
    second = later(environment=make_environment("tuesday"), graphs=[graph("bb", add=3)])
    [row] = differences(stored_runs([first], [second]))
    assert (row["environment"], row["ops_a"], row["ops_b"]) == ("tuesday", 2, 3)


def test_two_backends_of_one_run_are_compared_in_the_kinds_that_both_have(stored_runs):
    lazy = later(backend="openxla+lazytensor", graphs=[graph("aa", add=2, exp=1)])
    traced = later(backend="openxla+dynamo", graphs=[graph("bb", add=3), graph("cc", "fx", call=1)])
    con = stored_runs([lazy, traced])
    named = "variant_a := 'openxla+lazytensor', variant_b := 'openxla+dynamo'"
    [row] = query.fetch(con, f"SELECT * FROM structural_differences('run-1', 'run-1', {named})")
    assert (row["kind"], row["variant"], row["ops_a"], row["ops_b"]) == ("hlo", "openxla+dynamo", 3, 3)
    assert row["op_changes"] == [{"op": "add", "ops_a": 2, "ops_b": 3}, {"op": "exp", "ops_a": 1, "ops_b": 0}]
