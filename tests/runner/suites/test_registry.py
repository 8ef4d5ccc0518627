"""The registry finds our suites and a user's, and stays free of torch."""

import subprocess
import sys
import textwrap

import pytest

from runner import suites
from runner.suites import get_suite, suite_names
from runner.suites.base import SuiteContext, UnknownSuiteError, UserSuiteError

_USER_SUITE = """
    class Mine:
        name = {name!r}
        preload = ()
        def unavailable(self, context): return None
        def models(self, context): return []
        def versions(self, context): return {{}}
        def build(self, request): raise NotImplementedError

    SUITE = Mine()
    NOT_A_SUITE = object()
"""


@pytest.fixture
def user_module(tmp_path, monkeypatch, request):
    """A module named after the test, so that no other test's import is found in its place."""
    module = f"user_suite_{abs(hash(request.node.name))}"

    def write(name="mine"):
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(_USER_SUITE.format(name=name)))
        monkeypatch.syspath_prepend(str(tmp_path))
        return module

    return write


def test_names_start_with_ours():
    assert suite_names()[:5] == ("torchbench", "huggingface", "timm_models", "operators", "dummy")


def test_a_file_or_package_of_the_folder_that_defines_a_suite_is_one(tmp_path):
    (tmp_path / "packed").mkdir()
    files = {"z.py": "SUITE = 1", "a.py": "SUITE = 2", "dummy.py": "SUITE = 3", "helper.py": "OTHER = 1"}
    for name, line in {**files, "packed/suite.py": "SUITE = 4", "packed/other.py": "SUITE = 5"}.items():
        (tmp_path / name).write_text(f"import os\n{line}\n")
    package = "runner.suites"
    assert suites.in_folder(tmp_path) == {
        "dummy": f"{package}.dummy:SUITE",
        "a": f"{package}.a:SUITE",
        "packed": f"{package}.packed.suite:SUITE",
        "z": f"{package}.z:SUITE",
    }


def test_each_suite_has_the_name_it_is_found_by():
    assert {name: get_suite(name).name for name in suite_names()} == {name: name for name in suite_names()}


def test_an_unknown_suite_is_answered_with_the_names_there_are():
    with pytest.raises(UnknownSuiteError, match=r"'nope'.*torchbench, huggingface, timm_models, operators, dummy"):
        get_suite("nope")


def test_listing_every_suite_imports_no_framework():
    program = """
        import sys
        from runner.suites import get_suite, suite_names
        from runner.suites.base import SuiteContext
        for suite in map(get_suite, suite_names()):
            suite.unavailable(SuiteContext()), suite.models(SuiteContext()), suite.versions(SuiteContext())
        print(sorted({"torch", "torch_xla", "torchvision", "timm", "transformers", "numpy"} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_user_suite_is_found_by_its_own_name(user_module, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", f" {user_module()}:SUITE ,")
    assert suite_names()[-1] == "mine"
    assert get_suite("mine").models(SuiteContext()) == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("{module}", "not of the form package.module:ATTRIBUTE"),
        ("{module}:ABSENT", "cannot be imported"),
        ("no_such_module_anywhere:SUITE", "cannot be imported"),
        ("{module}:NOT_A_SUITE", "it lacks name, preload"),
    ],
)
def test_a_bad_user_suite_says_what_is_wrong(user_module, monkeypatch, place, message):
    monkeypatch.setenv("XLABENCH_SUITES", place.format(module=user_module()))
    with pytest.raises(UserSuiteError, match=message):
        suite_names()


@pytest.mark.parametrize("source", ["raise ValueError('one\\ntwo')", "raise SystemExit(7)"])
def test_a_user_suite_that_fails_is_one_sentence_whatever_it_raises(tmp_path, monkeypatch, source):
    (tmp_path / "user_suite_that_fails.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XLABENCH_SUITES", "user_suite_that_fails:SUITE")
    with pytest.raises(UserSuiteError, match=r"cannot be imported \((ValueError: one two|SystemExit: 7)\); check .*$"):
        suite_names()


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("models", "raise ValueError('one\\ntwo')", r"its method `models` failed \(ValueError: one two\); correct .*$"),
        ("models", "return ['a']", "its method `models` must return a list of ModelInfo"),
        ("unavailable", "raise SystemExit(7)", r"its method `unavailable` failed \(SystemExit: 7\)"),
        ("versions", "return None", "its method `versions` must return a mapping"),
    ],
)
def test_a_user_suite_that_fails_in_planning_is_one_sentence(user_module, tmp_path, monkeypatch, method, body, message):
    module = user_module()
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write(f"\ndef {method}(context):\n    {body}\n\nSUITE.{method} = {method}\n")
    monkeypatch.setenv("XLABENCH_SUITES", f"{module}:SUITE")
    with pytest.raises(UserSuiteError, match=message):
        getattr(get_suite("mine"), method)(SuiteContext())


def test_the_name_of_a_user_suite_is_a_text(user_module, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", f"{user_module(5)}:SUITE")
    with pytest.raises(UserSuiteError, match="is 5; it must be a text"):
        suite_names()


def test_a_user_suite_cannot_take_the_name_of_ours(user_module, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", f"{user_module('dummy')}:SUITE")
    with pytest.raises(UserSuiteError, match="both named 'dummy'"):
        get_suite("dummy")
