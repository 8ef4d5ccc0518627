"""What a model folder imports at once and this interpreter lacks is found by reading."""

import textwrap

import pytest

from runner.suites.torchbench import missing_packages


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a helper package, and a function that adds models to it."""
    helper = tmp_path / "torchbenchmark/util/framework/helper"
    helper.mkdir(parents=True)
    (helper / "__init__.py").write_text("from .deep import thing\n")
    (helper / "deep.py").write_text("import absent_helper\nthing = 1\n")
    (tmp_path / "utils").mkdir()

    def add(name, text, **files):
        folder = tmp_path / "torchbenchmark/models" / name
        folder.mkdir(parents=True)
        for file, content in {"__init__": text, **files}.items():
            (folder / f"{file}.py").write_text(textwrap.dedent(content))
        return missing_packages(tmp_path, [name]).get(name)

    return add


def test_what_is_not_installed_is_named_once(checkout):
    text = "import absent_a.part\nfrom absent_b.x import y\nimport os, msgspec, absent_a\n"
    assert checkout("model", text) == ["absent_a", "absent_b"]


def test_a_model_that_has_all_it_needs_is_not_named(checkout):
    assert checkout("model", "import json\nfrom yaml import safe_load\nfrom utils import x\n") is None


@pytest.mark.parametrize(
    "text",
    [
        "from .net import Net",
        "from . import net",
        "from torchbenchmark.models.model.net import Net",
        "from .net import *",
    ],
)
def test_modules_of_the_checkout_are_followed(checkout, text):
    assert checkout("model", text, net="import absent_c\nfrom . import net\n") == ["absent_c"]


def test_shared_helpers_are_followed(checkout):
    assert checkout("model", "from torchbenchmark.util.framework.helper import thing") == ["absent_helper"]


def test_a_module_of_the_folder_itself_is_no_package(checkout):
    """Some models put their folder on the path and import its files by bare names."""
    assert checkout("model", "import net", net="") is None


def test_what_may_be_absent_is_not_named(checkout):
    text = """
        try:
            import absent_d
        except ImportError:
            absent_d = None
        def later():
            import absent_e
        if False:
            import absent_f
        class Model:
            import absent_g
    """
    assert checkout("model", text) == ["absent_g"]


def test_a_file_that_does_not_parse_is_left_to_the_load(checkout):
    assert checkout("model", "import (") is None
