"""What this machine offers, found without torch."""

import dataclasses
import json
import subprocess
import sys

import psutil
import pytest
from runner_makers import machine as example

from runner.environments import machine
from runner.environments.machine import describe, detect
from tests import warm


def described(here=None, **changes):
    return describe(**{"name": "default", "machine": here or example(), "sources": {}, "threads": None, **changes})


def test_this_machine_has_a_cpu_with_a_name():
    found = detect()
    assert found.accelerators["cpu"]
    assert set(found.packages) <= set(machine.PACKAGES)


def test_the_machine_is_looked_at_once():
    assert detect() is detect()


def test_detecting_imports_no_torch():
    code = """
import sys
from runner.environments.machine import detect, describe
describe("a", detect(), {}, None)
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "psutil" in loaded
    assert not {"torch", "torch_xla", "timm"} & set(loaded)


@pytest.mark.parametrize(
    ("here", "accelerator", "says"),
    [
        (example(), "cpu", None),
        (example(), "cuda", "this machine has no cuda device"),
        (example(accelerators={"cpu": "x", "cuda": "y"}), "cuda", None),
        (example(without=("torch",)), "cpu", "install the extra `runner`"),
        (example(without=("torch",)), "cuda", "torch is not installed"),
    ],
)
def test_what_an_accelerator_lacks_is_said(here, accelerator, says):
    found = here.accelerator_missing(accelerator)
    assert found is None if says is None else says in found


def test_the_toolchain_names_the_first_thing_to_install():
    assert example().toolchain_missing() is None
    assert "g++" in example(compiler=None, python_header=False).toolchain_missing()
    assert "python3-dev" in example(python_header=False).toolchain_missing()
    assert "pip install setuptools" in example(setuptools=False).toolchain_missing()


def test_setuptools_is_looked_for(monkeypatch):
    assert detect.__wrapped__().setuptools
    found = machine.importlib.util.find_spec
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None if name == "setuptools" else found(name))
    assert not detect.__wrapped__().setuptools


def test_the_compiler_is_the_one_that_inductor_would_use(monkeypatch, tmp_path):
    """`CXX` names it; one that is not there is none."""
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    assert detect.__wrapped__().compiler is None
    (tmp_path / "cxx").write_text("")
    (tmp_path / "cxx").chmod(0o755)
    monkeypatch.setenv("CXX", str(tmp_path / "cxx"))
    assert detect.__wrapped__().compiler == str(tmp_path / "cxx")


def test_a_package_without_a_distribution_is_not_there():
    assert machine._version("no_such_package") is None
    assert machine._version("json") is None
    assert machine._version("psutil") == psutil.__version__


def test_several_devices_are_named_as_the_peer_names_them():
    assert machine._named(("A",)) == "A"
    assert machine._named(("A", "B")) == "One of A, B"


def test_a_chosen_device_is_named_by_its_own_model():
    """The record says on which of two different cards it was measured."""
    here = example(accelerators={"cpu": "Example CPU", "cuda": "One of A, B"})
    here = dataclasses.replace(here, devices={"cpu": ("Example CPU",), "cuda": ("A", "B")})
    assert here.models(None)["cuda"] == "One of A, B"
    assert here.models(1) == {"cpu": "Example CPU", "cuda": "B"}


def test_a_torch_that_was_built_without_the_device_is_a_reason():
    here = example(accelerators={"cpu": "x", "cuda": "y", "xpu": "z"})
    here = dataclasses.replace(here, torch_builds=frozenset({"cuda"}))
    assert here.accelerator_missing("cuda") is None
    assert "built without xpu" in here.accelerator_missing("xpu")
    assert here.accelerator_missing("cpu") is None


@pytest.mark.parametrize(
    ("text", "builds"),
    [
        ("cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n", {"cuda"}),
        ("cuda = None\nxpu: Optional[str] = '20250101'\n", {"xpu"}),
        ("cuda: Optional[str] = None\n", set()),
    ],
)
def test_what_torch_was_built_for_is_read_without_importing_it(monkeypatch, text, builds):
    monkeypatch.setattr(machine, "_version_file", lambda _package: text)
    assert machine._torch_builds() == builds


def test_a_torch_that_does_not_say_is_given_the_benefit_of_the_doubt(monkeypatch):
    monkeypatch.setattr(machine, "_version_file", lambda _package: None)
    assert machine._torch_builds() is None


def test_an_interpreter_is_asked_once_for_its_dynamo_backends(tmp_path):
    asked = tmp_path / "asked"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho x >> {asked}\necho warning\necho \'["eager", "inductor"]\'\n')
    python.chmod(0o755)
    for _ in range(2):
        assert dataclasses.replace(detect(), python=str(python)).dynamo_backends() == ("eager", "inductor")
    assert asked.read_text() == "x\n"


@pytest.mark.parametrize("script", ["exit 3", "echo none"])
def test_an_interpreter_that_cannot_say_names_none(tmp_path, script):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    assert dataclasses.replace(detect(), python=str(python)).dynamo_backends() == ()


@pytest.mark.skipif("torch" not in detect().packages, reason="torch is not installed")
def test_this_interpreters_dynamo_knows_its_own_backends():
    said = warm.program(machine._LIST, imports="torch").stdout
    assert {"inductor", "aot_eager", "eager"} <= set(json.loads(said.splitlines()[-1]))


def test_the_machine_id_leaves_the_host_name_out(monkeypatch):
    one = described()
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "elsewhere")
    other = described()
    assert (one.machine_id, other.host) == (other.machine_id, "elsewhere")
    assert one.machine_id


@pytest.mark.parametrize(
    "accelerators", [{"cpu": "Another CPU"}, {"cpu": "Example CPU", "cuda": "GPU"}, {"cpu": "Example CPU", "tpu": "v5"}]
)
def test_the_machine_id_changes_with_its_devices(accelerators):
    assert described(example(accelerators=accelerators)).machine_id != described().machine_id


@pytest.mark.parametrize(("change", "same"), [({"total": 300 * 2**20}, True), ({"total": 4 * 2**30}, False)])
def test_the_machine_id_rounds_memory_to_gibibytes(monkeypatch, change, same):
    """Kernels of one machine report slightly different totals."""
    memory = {"total": 16 * 2**30}
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: type("Memory", (), memory))
    before = described().machine_id
    memory["total"] += change["total"]
    assert (described().machine_id == before) is same


def test_an_environment_names_versions_sources_and_threads():
    found = described(sources={"torchbench_commit": "abc"}, threads=3)
    assert (found.name, found.torch, found.torch_xla, found.timm) == ("default", "2.9.1", "2.9.0", None)
    assert (found.torchbench_commit, found.threads) == ("abc", 3)
    assert found.cores == psutil.cpu_count()
    assert found.memory_bytes == psutil.virtual_memory().total


def test_a_revision_is_read_without_importing_the_package(tmp_path, monkeypatch):
    """torch and torch_xla write theirs in two ways."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, line in (("one", "git_version = '0a1b2c'"), ("two", "__xla_gitrev__ = 'ff00'"), ("three", "x = 1")):
        (tmp_path / f"package_{name}").mkdir()
        (tmp_path / f"package_{name}" / "__init__.py").write_text("raise RuntimeError('imported')\n")
        (tmp_path / f"package_{name}" / "version.py").write_text(line + "\n")
    assert machine._revision("package_one", "git_version") == "0a1b2c"
    assert machine._revision("package_two", "__xla_gitrev__") == "ff00"
    assert machine._revision("package_three", "git_version") is None
    assert machine._revision("no_such_package", "git_version") is None
    assert machine._revision("json", "git_version") is None


@pytest.mark.skipif("torch" not in detect().packages, reason="torch is not installed")
def test_the_revision_of_the_installed_torch_is_found():
    assert len(described(detect()).torch_git) == 40
