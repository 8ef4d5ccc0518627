"""Requests for what was measured before: exactly those experiments, and no confirmation that cannot confirm."""

import sys

import msgspec
import pytest

from runner.jobs import check, rerun
from runner.jobs.request import RunRequest, Selection, encode, words
from runner.jobs.rerun import preview
from store.run_file import read_run_file
from tests.store.factory import make_environment, make_record, write_run


def run(folder, run_id="day-1", *, environment="default", executable=None, **changes):
    """Write a run of two dummy models under two backends; return its file."""
    described = make_environment(name=environment, executable=executable)
    records = [
        make_record(
            suite="dummy", model=model, backend=backend, environment=described, run_id=run_id, label=run_id, **changes
        )
        for model in ("dummy", "dummy_linear")
        for backend in ("eager", "inductor")
    ]
    write_run(folder, records)
    return read_run_file(folder)


def cell(file, number=0):
    return file.plan[number].experiment_id, file.plan[number].environment


def test_a_rerun_is_exactly_what_was_planned(tmp_path):
    file = run(tmp_path)
    entries = rerun.planned(file, [cell(file, 1)])
    request = rerun.rerun(file, entries)
    assert [each.experiment_id for each in request.plan.experiments] == [file.plan[1].experiment_id]
    assert request.environments == ("default",)


def test_the_baseline_of_the_same_group_is_measured_with_it(tmp_path):
    """Alone it would have nothing to take turns with; other models' baselines stay out."""
    file = run(tmp_path)
    entries = rerun.planned(file, [cell(file, 1)], together_with=("eager",))
    assert [(each.config.model_name, each.backend) for each in entries] == [("dummy", "eager"), ("dummy", "inductor")]


def test_what_was_skipped_or_is_not_known_is_asked_for_or_left_out(tmp_path):
    file = run(tmp_path)
    skipped = msgspec.structs.replace(file.plan[0], skip_reason="slow")
    file.plan[0] = skipped
    (entry,) = rerun.planned(file, [cell(file), ("no such", "default")])
    assert entry.skip_reason is None, "who asks for it wants it"


def test_a_rerun_has_the_protocol_of_its_run_and_nothing_that_only_that_run_wanted(tmp_path):
    file = run(tmp_path)
    file.settings |= {"repeat": 33, "processes": 5, "purpose": "confirmation", "instruments": ["dump_hlo"]}
    request = rerun.rerun(file, rerun.planned(file, [cell(file)]))
    assert request.plan.settings == {"repeat": 33, "processes": 5}


def test_a_rerun_has_as_long_to_become_stable_as_its_run_had(tmp_path):
    file = run(tmp_path)
    file.settings |= {"until_stable": 0.02, "time_budget_s": 300.0}
    request = rerun.rerun(file, rerun.planned(file, [cell(file)]))
    assert request.plan.settings == {"repeat": 8, "until_stable": 0.02, "time_budget_s": 300.0}
    file.settings |= {"until_stable": None, "until_verdict": True}
    request = rerun.rerun(file, rerun.planned(file, [cell(file)]))
    assert request.plan.settings == {"repeat": 8}, "a budget of the whole run"


def test_a_request_for_a_rerun_is_accepted_where_it_is_submitted(tmp_path):
    """Of what the run knows nothing becomes a path or a word of the command."""
    file = run(tmp_path)
    request = rerun.rerun(file, rerun.planned(file, [cell(file)]))
    assert check.read(encode(request), 1 << 20, ()) == request
    assert words(request) == ["run", "--env=default"]


@pytest.mark.parametrize("place", ["/nowhere/bin/python", None])
def test_where_the_old_interpreter_is_gone_a_confirmation_says_so(tmp_path, place):
    old = run(tmp_path / "a", environment="side", executable=place)
    new = run(tmp_path / "b", "day-2", environment="side", executable=sys.executable)
    why = rerun.cannot_confirm((old, new), [("side", "side")], tmp_path)
    assert why.startswith("Environment side (side of run day-1): ")
    assert ("its interpreter /nowhere/bin/python no longer exists" in why) == bool(place)
    assert "[environments] of xlabench.toml" in why


def test_a_name_in_the_settings_file_brings_an_interpreter_back(tmp_path):
    old = run(tmp_path / "a", environment="side", executable="/nowhere/bin/python")
    new = run(tmp_path / "b", "day-2", environment="side", executable=sys.executable)
    (tmp_path / "xlabench.toml").write_text('[environments]\nside = "venv/bin/python"\n')
    assert rerun.cannot_confirm((old, new), [("side", "side")], tmp_path) is None


def test_one_interpreter_on_two_days_cannot_be_told_apart_but_two_backends_can(tmp_path):
    old = run(tmp_path / "a", executable=sys.executable)
    new = run(tmp_path / "b", "day-2", executable=sys.executable)
    pairs = [("default", "default")]
    assert rerun.cannot_confirm((old, new), pairs, tmp_path) == rerun.SAME
    assert rerun.cannot_confirm((old, old), pairs, tmp_path, same_code=False) is None


def test_a_preview_says_what_runs_and_what_is_skipped(tmp_path):
    request = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",), test=("eval",)))
    found = preview(request, tmp_path)
    assert {entry.config.test for entry in found.runnable} == {"eval"}
    assert found.processes == 3
    with pytest.raises(check.BadRequest, match="There is no environment elsewhere"):
        preview(msgspec.structs.replace(request, environments=("elsewhere",)), tmp_path)


def test_the_preview_of_a_plan_is_the_plan(tmp_path):
    file = run(tmp_path)
    models = [entry for entry in file.plan if entry.config.model_name == "dummy"]
    found = preview(rerun.rerun(file, models), tmp_path)
    every = (*found.runnable, *found.skipped)
    assert {entry.experiment_id for entry in every} == {entry.experiment_id for entry in models}


def test_the_preview_of_a_plan_counts_processes_as_its_run_does(tmp_path):
    file = run(tmp_path)
    request = rerun.rerun(file, [entry for entry in file.plan if entry.config.model_name == "dummy"])
    peer = msgspec.structs.replace(request.plan, settings={"preset": "peer"})
    assert preview(msgspec.structs.replace(request, plan=peer), tmp_path).processes == 1
