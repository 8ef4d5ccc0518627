"""What keeps CUDA from forked processes, with torch's own check and a driver's library that names one GPU."""

import subprocess
import sys
import uuid

import pytest

from runner.schedule.pool import Pool
from tests.needs import need
from tests.tiers import first_of

need("torch")

NVML = """
int nvmlInit(void) { return 0; }
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
"""
FORK = """
import importlib, os, sys, torch
for name in sys.argv[1:]:
    importlib.import_module(name)
pid = os.fork()
if pid == 0:
    os._exit(torch.cuda._is_in_bad_fork())
print("lost" if os.waitpid(pid, 0)[1] else "kept", torch.cuda.is_available())
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The folder of a driver's library; its GPU can be counted, and that is all."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "nvml.c").write_text(NVML)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "nvml.c"], check=True)
    return folder


def fork(driver, environment, *modules):
    """Say whether a fork of a process with these modules may use CUDA, and whether torch finds a GPU."""
    return subprocess.run(
        [sys.executable, "-c", FORK, *modules],
        env=environment | {"LD_LIBRARY_PATH": str(driver)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


@pytest.mark.parametrize("imports", first_of([[], ["torch._inductor.compile_fx"]]), ids=["what asks", "all"])
def test_what_a_server_imports_keeps_cuda_for_its_forks(driver, tmp_path, imports):
    """A part of inductor asks as it is imported whether there is a GPU; every measurement on CUDA failed for that."""
    import torch

    if not torch.backends.cuda.is_built():
        pytest.skip("this torch is built without CUDA")
    pool = Pool(
        run_id=str(uuid.uuid4()), python=sys.executable, preload=(), probe=False, start="fork", log=tmp_path / "log"
    )
    asks = "torch._inductor.runtime.benchmarking"
    assert fork(driver, pool._environment(), *imports, asks) == ["kept", "True"]
