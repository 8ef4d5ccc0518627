"""Both sides of a comparison once more: where their interpreters are, what is planned, under which settings."""

import functools
import sys
from pathlib import Path

import msgspec
import pytest
from runner_makers import RUN, entry, settings

from runner.plan import earlier_run as places
from runner.plan.earlier_run import confirming, planned, side_by_side
from runner.plan.interpreters import ask
from store.errors import UsageError
from store.record import Environment, RunFile

asked = functools.cache(ask)


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch):
    """Interpreters say the same in each test."""
    monkeypatch.setattr(places, "ask", asked)


@pytest.fixture
def here():
    """This interpreter, as a run of today would describe it."""
    return asked("side", Path(sys.executable))[1]


def before(was, **changes):
    return places.EarlierEnvironment(
        name="old", was=msgspec.structs.replace(was, **{"name": "side", **changes}), run="first"
    )


def find(before, *, given=None, named=None, sources=None):
    return places.find(before, given or {}, named or {}, sources or {})


def link(folder):
    """Make another place of this interpreter."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return folder / "bin" / "python"


def test_an_environment_says_where_its_interpreter_is(here):
    assert here.executable == sys.executable


def test_the_interpreter_that_the_run_wrote_down_is_taken_under_its_new_name(here):
    found = find(before(here))
    assert (found.name, found.description.name) == ("old", "old")
    assert found.machine.python == sys.executable


def test_one_that_has_moved_is_given_on_the_command_line(here):
    moved = before(here, executable="/gone/bin/python")
    assert find(moved, given={"old": Path(sys.executable)}).machine.python == sys.executable
    with pytest.raises(UsageError, match=r"old \(side of run first\): its interpreter /gone.* pass --env old=PYTHON"):
        find(moved)


def test_a_run_that_named_none_is_found_by_its_environments_name(here):
    """As `xlabench.toml` has it; what was called default was our own. Both only as long as the versions agree."""
    assert find(before(here, executable=None), named={"side": Path(sys.executable)}).name == "old"
    assert find(before(here, executable=None, name="default")).machine.python == sys.executable
    with pytest.raises(UsageError, match="its run does not name its interpreter; pass --env old=PYTHON"):
        find(before(here, executable=None))


@pytest.mark.parametrize("field", ["torch", "torch_git", "torch_xla", "transformers", "timm"])
def test_another_version_is_refused_with_both_and_what_to_pass(here, field):
    with pytest.raises(UsageError) as caught:
        find(before(here, **{field: "0.1"}))
    said = str(caught.value)
    assert f"{field} was 0.1 and is now {getattr(here, field)} in {sys.executable}" in said
    assert "pass --env old=PYTHON" in said
    assert caught.value.exit_code == 2


def test_another_machine_is_refused_as_no_flag_helps(here):
    with pytest.raises(UsageError, match=r"machine_id was other .* repeat the measurement on the original machine"):
        find(before(here, machine_id="other"))


def test_the_checkout_of_torchbench_counts_where_its_models_are_measured(here):
    changed = before(here, torchbench_commit="abc")
    assert find(changed).name == "old"
    assert find(changed, sources={"torchbench_commit": "abc"}).description.torchbench_commit == "abc"
    with pytest.raises(UsageError, match="commit was abc and is now def in the checkout; pass --torchbench-dir"):
        find(changed, sources={"torchbench_commit": "def"})


def test_virtual_environments_are_told_apart_though_they_link_to_one_file(here, tmp_path):
    own = find(before(here))
    first, second = link(tmp_path / "a"), link(tmp_path / "b")
    alias = first.with_name("python3")
    alias.symlink_to(first)
    at = {path: elsewhere(own, path) for path in (first, alias, second)}
    assert places.same_interpreter(at[first], at[alias])
    assert not places.same_interpreter(at[first], at[second])


def elsewhere(interpreter, python):
    """Return the interpreter as if it lay elsewhere."""
    moved = type(interpreter.machine)(**{**vars(interpreter.machine), "python": str(python)})
    return type(interpreter)(name="x", machine=moved, description=interpreter.description)


def named(of, environment):
    return msgspec.structs.replace(of, environment=environment)


def test_both_sides_of_a_cell_stand_in_one_group_once():
    """Two backends against the same one: that one is planned once; what an old plan skipped is no longer skipped."""
    eager, lazy, inductor = (entry(name) for name in ("eager", "openxla+lazytensor", "inductor"))
    skipped = msgspec.structs.replace(eager, group="another word for it", skip_reason="not here")
    made = side_by_side([(skipped, lazy), (skipped, inductor)])
    assert [each.backend for each in made.entries] == ["eager", "openxla+lazytensor", "inductor"]
    assert {each.group for each in made.entries} == {lazy.group}
    assert not made.skipped


def test_two_environments_of_one_experiment_are_two_members():
    made = side_by_side([(named(entry(), "old"), named(entry(), "new"))])
    assert [each.environment for each in made.entries] == ["old", "new"]
    assert len({(each.group, each.experiment_id) for each in made.entries}) == 1


def test_the_same_cells_are_the_same_plan_so_that_it_is_resumed():
    cells = [(named(entry(model=name), "old"), named(entry(model=name), "new")) for name in ("dummy", "dummy_nonzero")]
    assert side_by_side(cells).plan_id == side_by_side(cells).plan_id
    assert side_by_side(cells).plan_id != side_by_side(cells[:1]).plan_id


def test_what_a_run_did_not_plan_cannot_be_measured_again():
    file = RunFile(
        run=RUN, timestamp=1.0, environments=[Environment(name="default")], settings={}, plan=[entry()], plan_id="p"
    )
    assert planned(file, entry().experiment_id, "default") == entry()
    with pytest.raises(UsageError, match="The plan of run run-1 does not contain experiment x in environment default"):
        planned(file, "x", "default")


def test_a_confirmation_keeps_the_runs_settings_but_for_what_makes_it_one():
    asked = settings(processes=1, repeat=3, threads=2, seed=5, start="interpreter", verify="with", twins=4, rounds=2)
    found = confirming(msgspec.to_builtins(asked))
    assert (found.threads, found.seed, found.start) == (2, 5, "interpreter")
    assert (found.purpose, found.processes, found.repeat, found.twins) == ("confirmation", 3, 20, 0)
    assert (found.verify, found.interleave, found.rounds) == ("off", "processes", 10)


def test_more_processes_stay_and_more_can_be_asked_for_but_not_fewer_than_confirm():
    assert confirming({"processes": 5}).processes == 5
    assert confirming({"processes": 5}, 8).processes == 8
    with pytest.raises(UsageError, match="--processes 2: a confirmation needs at least 3"):
        confirming({}, 2)


def test_the_peers_preset_would_let_nobody_take_turns():
    assert confirming({"preset": "peer", "repeat": 5}).preset == "xlabench"
    assert confirming({"preset": "hud", "repeat": 30}).preset == "hud"
    assert confirming({"preset": "hud", "repeat": 30}).repeat == 30
