"""What this machine offers, found without torch."""

import subprocess
import sys

import psutil
import pytest
from runner_makers import machine as example

from runner import machine
from runner.machine import describe, detect


def described(here=None, **changes):
    return describe(**{"name": "default", "machine": here or example(), "sources": {}, "threads": None, **changes})


def test_this_machine_has_a_cpu_with_a_name():
    found = detect()
    assert found.accelerators["cpu"]
    assert set(found.packages) <= set(machine.PACKAGES)


def test_the_machine_is_looked_at_once():
    assert detect() is detect()


def test_detecting_imports_no_torch():
    code = (
        "import sys; from runner.machine import detect, describe; describe('a', detect(), {}, None);print(*sys.modules)"
    )
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


def test_gpus_are_those_that_nvidia_smi_names(monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'Example GPU'\necho 'Example GPU'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert machine._accelerators()["cuda"] == "One of Example GPU, Example GPU"


def test_a_driver_that_does_not_answer_is_no_gpu(monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'Failed to initialize NVML'\nexit 9\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert "cuda" not in machine._accelerators()


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
