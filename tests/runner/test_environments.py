"""Interpreters by name: what they offer, what they lack, and the plan over all of them."""

import json
import os
import sys
from pathlib import Path

import msgspec
import pytest
from runner_makers import ENVIRONMENT, machine, request

from runner.environments import machine as machines
from runner.environments import probe
from runner.plan import interpreters
from runner.plan.interpreters import Interpreter, ask, make_plan, requested
from store.errors import UsageError
from tests.command import xlabench

HERE = sys.executable


def interpreter(name="default", without=(), **changes):
    """Return an environment of this machine, as another interpreter where it has a name of its own."""
    python = sys.executable if name == "default" else f"/venvs/{name}/bin/python"
    made = machine(without=without)
    made = type(made)(**{**vars(made), "python": python, **changes})
    return Interpreter(name=name, machine=made, description=msgspec.structs.replace(ENVIRONMENT, name=name))


def script(tmp_path, text):
    """Make something that is started as an interpreter."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{text}\n")
    python.chmod(0o755)
    return python


def test_nothing_asked_for_is_the_current_interpreter():
    (found,) = requested(request(threads=3), {})
    assert (found.name, found.machine) == ("default", machines.detect())
    assert (found.description.name, found.description.threads) == ("default", 3)


def test_another_interpreter_says_of_itself_what_it_would_say_here():
    """Types survive the way through JSON."""
    here, description = ask("again", Path(HERE))
    assert here == machines.detect()
    assert description == machines.describe("", machines.detect(), {}, None)


def test_a_name_alone_is_looked_up():
    named = {"known": Path(HERE)}
    (found,) = requested(request(env=(("known", None),)), named)
    assert (found.name, found.description.name) == ("known", "known")


def test_default_alone_is_the_current_interpreter_beside_others():
    found = requested(request(env=(("default", None), ("b", Path(HERE)))), {})
    assert [each.name for each in found] == ["default", "b"]


def test_a_name_that_nobody_knows_is_refused_with_those_known():
    with pytest.raises(UsageError, match=r"--env new: .* choose one of default, old") as caught:
        requested(request(env=(("new", None),)), {"old": None})
    assert caught.value.exit_code == 2


def test_a_folder_of_a_virtual_environment_will_do(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(HERE)
    assert interpreters._executable("x", tmp_path) == tmp_path / "bin" / "python"


def test_what_is_no_interpreter_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not an interpreter"):
        ask("gone", tmp_path / "nothing")
    with pytest.raises(UsageError, match="is not a usable Python"):
        ask("other", script(tmp_path, "echo hello"))


def test_one_that_fails_is_quoted(tmp_path):
    with pytest.raises(UsageError, match="could not report its packages: a library is missing"):
        ask("broken", script(tmp_path, "echo a library is missing >&2; exit 1"))


def test_what_is_lacking_comes_with_the_command_that_installs_it(tmp_path):
    told = json.dumps({"python": "3.12.0", "recent": True, "lacking": ["msgspec", "psutil"]})
    python = script(tmp_path, f"echo '{told}'")
    with pytest.raises(UsageError, match=f"need msgspec, psutil there: {python} -m pip install msgspec psutil"):
        ask("bare", python)


def test_an_old_python_is_refused(tmp_path):
    told = json.dumps({"python": "3.9.1", "recent": False, "lacking": []})
    with pytest.raises(UsageError, match=r"is Python 3\.9\.1; xlabench needs 3\.11 or newer"):
        ask("old", script(tmp_path, f"echo '{told}'"))


def test_an_interpreter_without_any_package_says_what_it_lacks(tmp_path):
    """For real: an environment into which nothing was installed."""
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    with pytest.raises(UsageError, match=f"need {', '.join(probe.NEEDED.values())} there"):
        ask("bare", tmp_path / "bare")


def test_each_environment_is_planned_by_what_it_has():
    made = make_plan(request(test=("eval",)), [interpreter(), interpreter("plain", without=("torch_xla",))])
    skipped = {(each.environment, each.backend): each.skip_reason for each in made.skipped}
    assert {key[0] for key in skipped} == {"plain"}
    assert {key[1] for key in skipped} == {"openxla+lazytensor", "openxla+dynamo"}
    assert all("torch_xla is not installed" in reason for reason in skipped.values())


def test_equal_variants_of_a_model_stand_side_by_side():
    """They are one group: measured one after the other, so that the machine's drift meets both alike."""
    made = make_plan(request(test=("eval",)), [interpreter(), interpreter("other")])
    order = [(each.config.model_name, each.variant, each.environment) for each in made.entries]
    assert order[:4] == [
        ("dummy", "eager", "default"),
        ("dummy", "eager", "other"),
        ("dummy", "inductor", "default"),
        ("dummy", "inductor", "other"),
    ]
    groups = [each.group for each in made.entries]
    assert len(set(groups)) == 2
    assert groups == sorted(groups, key=groups.index)


def test_the_environments_are_part_of_the_plan():
    one, two = interpreter(), interpreter("other")
    assert len({make_plan(request(), each).plan_id for each in ([one], [two], [one, two])}) == 3


def test_a_suite_that_an_environment_lacks_is_skipped_there():
    """The suites are listed by xlabench's own interpreter."""
    wanted = request(suite_name=("timm_models",), only=("test_vit2",), test=("eval",), dynamo=(None,), xla=(None,))
    packages = {"torch": "2.9.1", "torchvision": "0.24", "timm": "1.0"}
    has, lacks = interpreter("has", packages=packages), interpreter("lacks", packages={"torch": "2.9.1"})
    there, missing = make_plan(wanted, [has, lacks]).entries
    assert (there.environment, there.skip_reason) == ("has", None)
    assert missing.skip_reason == "suite timm_models needs torchvision, timm in environment lacks"


def test_another_interpreter_finds_our_packages_and_no_others(monkeypatch):
    """Of the folder that holds xlabench's own torch, nothing may come in."""
    monkeypatch.setenv("PYTHONPATH", "/mine")
    found = interpreters.variables("/venvs/other/bin/python")["PYTHONPATH"].split(os.pathsep)
    assert found[1:] == ["/mine"]
    assert {each.name for each in Path(found[0]).iterdir()} >= {"runner", "store"}
    assert interpreters.variables(sys.executable) == {}


def test_of_an_installed_xlabench_only_its_own_packages_are_shown(tmp_path, monkeypatch):
    for name in ("runner", "store", "torch", "torch-2.9.1.dist-info"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(interpreters, "__file__", str(tmp_path / "runner" / "environments" / "interpreters.py"))
    folder = interpreters._sources.__wrapped__()
    assert sorted(each.name for each in folder.iterdir()) == ["runner", "store"]
    assert (folder / "runner").resolve() == tmp_path / "runner"


def test_the_command_answers_each_mistake_with_one_sentence(tmp_path):
    words = ("plan", "--suite-name", "dummy", "--home", tmp_path)
    assert "--env new: there is no environment of this name" in xlabench(*words, "--env", "new", code=2).stderr
    assert "is not an interpreter" in xlabench(*words, "--env", f"new={tmp_path}/nothing", code=2).stderr
    assert "is not of the form NAME=PYTHON" in xlabench(*words, "--env", "a b=x", code=2).stderr
    (tmp_path / "xlabench.toml").write_text("[environments]\nnew = 3\n")
    done = xlabench(*words, code=2)
    assert done.stderr.count("\n") == 1
    assert "xlabench.toml cannot be read" in done.stderr


def test_a_plan_shows_its_environments(tmp_path):
    (tmp_path / "xlabench.toml").write_text(f'[environments]\nnew = "{HERE}"\n')
    words = ("plan", "--suite-name", "dummy", "--only", "dummy", "--accelerator", "cpu", "--test", "eval")
    out = xlabench(*words, "--env", "default", "--env", "new", "--home", tmp_path).stdout.splitlines()
    assert "environment" in out[0]
    assert [line.split()[4] for line in out[1:3]] == ["default", "new"]
    assert "environment" not in xlabench(*words, "--home", tmp_path).stdout
