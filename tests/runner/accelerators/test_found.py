"""Which devices there are, found without torch; the vendors' tools are scripts that say what a test wants."""

import subprocess
import sys

import pytest

from runner.accelerators import ACCELERATORS, OUT_OF_MEMORY, refuse_index, tpu, xpu
from runner.accelerators.base import NoSuchDevice

NVIDIA = "GPU-aaa, Example GPU\nGPU-bbb, Other GPU"


@pytest.fixture
def says(monkeypatch, tmp_path):
    """Put a tool on the path that prints a text and ends with a code."""

    def put(name, text, code=0):
        script = tmp_path / name
        lines = "\n".join(f"echo '{line}'" for line in text.splitlines())
        script.write_text(f"#!/bin/sh\n{lines}\nexit {code}\n")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return put


def test_each_adapter_stands_under_its_name():
    assert {name: adapter.name for name, adapter in ACCELERATORS.items()} == {
        name: name for name in ("cpu", "cuda", "tpu", "xpu")
    }


def test_looking_for_devices_imports_no_torch():
    code = "import sys; from runner.accelerators import ACCELERATORS as A; [a.models() for a in A.values()]"
    command = [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.split() == [b"False"]


def test_cuda_devices_are_those_that_nvidia_smi_names(says):
    says("nvidia-smi", NVIDIA)
    assert ACCELERATORS["cuda"].models() == ("Example GPU", "Other GPU")


def test_a_driver_that_does_not_answer_is_no_device(says):
    says("nvidia-smi", "Failed to initialize NVML", code=9)
    assert ACCELERATORS["cuda"].models() == ()
    assert ACCELERATORS["cuda"].driver() is None


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("1", ("Other GPU",)),
        ("1,0", ("Other GPU", "Example GPU")),
        ("GPU-b", ("Other GPU",)),
        ("", ()),
        ("0,7,1", ("Example GPU",)),
    ],
)
def test_hidden_cuda_devices_are_not_there(says, monkeypatch, visible, found):
    """Index 0 of a process is the first device that it may see."""
    says("nvidia-smi", NVIDIA)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert ACCELERATORS["cuda"].models() == found


LISTED = """GPU 0: Example GPU (UUID: GPU-aaa)
  MIG 3g.40gb     Device  0: (UUID: MIG-ccc)
  MIG 1g.10gb     Device  1: (UUID: MIG-ddd)
GPU 1: Other GPU (UUID: GPU-bbb)"""


def test_a_mig_instance_is_a_device_with_a_name_of_its_own(says, monkeypatch):
    """It is a part of a GPU: not to be compared with the whole."""
    says("nvidia-smi", LISTED)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-ddd")
    assert ACCELERATORS["cuda"].models() == ("Example GPU MIG 1g.10gb",)


def test_devices_that_are_all_hidden_are_not_said_to_be_missing(says, monkeypatch):
    says("nvidia-smi", NVIDIA)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert (ACCELERATORS["cuda"].models(), ACCELERATORS["cuda"].absent()) == (
        (),
        "CUDA_VISIBLE_DEVICES=7 hides all of them",
    )
    says("nvidia-smi", "Failed to initialize NVML", code=9)
    assert ACCELERATORS["cuda"].absent() == "nvidia-smi lists none"


def test_xpu_devices_are_those_that_xpu_smi_names(says):
    says("xpu-smi", 'Device Name\n"Example Max 1550"\n"Example Max 1550"')
    assert ACCELERATORS["xpu"].models() == ("Example Max 1550", "Example Max 1550")


def test_without_xpu_smi_they_are_intels_render_nodes(monkeypatch, tmp_path):
    """Another vendor's are not."""
    for name, vendor, device in (("renderD128", "0x10de", "0x1"), ("renderD129", "0x8086", "0x0bd5")):
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device/vendor").write_text(vendor + "\n")
        (tmp_path / name / "device/device").write_text(device + "\n")
    monkeypatch.setattr(xpu, "_NODES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ACCELERATORS["xpu"].models() == ("Intel GPU 0x0bd5",)


@pytest.mark.parametrize("node", ["accel0", "vfio/0"])
def test_tpus_are_device_nodes(monkeypatch, tmp_path, node):
    (tmp_path / "vfio").mkdir()
    monkeypatch.setattr(tpu, "_DEV", tmp_path)
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5e-1")
    assert ACCELERATORS["tpu"].models() == ()
    (tmp_path / node).touch()
    assert ACCELERATORS["tpu"].models() == ("v5e-1",)


def test_the_cpu_is_always_there():
    (name,) = ACCELERATORS["cpu"].models()
    assert name


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "XPU out of memory. Tried to allocate 4.66 GiB",
        "UR backend failed. UR backend returns:39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
        "RESOURCE_EXHAUSTED: Attempting to allocate 1.2G",
        "Ran out of memory in memory space hbm",
        "DefaultCPUAllocator: not enough memory: you tried to allocate 1 bytes",
        "DefaultCPUAllocator: can't allocate memory",
        "std::bad_alloc",
        "torch.OutOfMemoryError",
    ],
)
def test_a_full_memory_is_recognized_by_what_is_said(text):
    assert OUT_OF_MEMORY.search(text)


@pytest.mark.parametrize("text", ["INVALID_ARGUMENT", "UR_RESULT_ERROR_DEVICE_LOST", "CUDNN_STATUS_NOT_SUPPORTED"])
def test_another_failure_is_none_of_memory(text):
    assert not OUT_OF_MEMORY.search(text)


@pytest.mark.parametrize(
    ("accelerator", "index", "devices", "says"),
    [
        ("cpu", 1, 1, "cpu has one device"),
        ("tpu", 2, 4, "tpu has one device"),
        ("cuda", 2, 2, "indices 0 to 1"),
        ("cuda", 1, 1, "index 0 only"),
    ],
)
def test_an_index_without_a_device_is_refused(accelerator, index, devices, says):
    with pytest.raises(NoSuchDevice, match=says):
        refuse_index(accelerator, index, devices)


@pytest.mark.parametrize(("accelerator", "index", "devices"), [("xpu", 1, None), ("cuda", 1, 2), ("cpu", 0, 1)])
def test_an_index_that_may_be_there_is_let_through(accelerator, index, devices):
    """Where the devices cannot be counted, the process that opens one will know."""
    refuse_index(accelerator, index, devices)


@pytest.mark.parametrize("accelerator", ["cpu", "tpu"])
def test_what_has_one_device_opens_no_other(accelerator):
    with pytest.raises(NoSuchDevice, match=f"{accelerator} has one device"):
        ACCELERATORS[accelerator].open(1)
