"""What this machine and its interpreter offer, found without importing torch."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import socket
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from store.identity import digest
from store.record import Environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from store.record import Accelerator

PACKAGES = ("torch", "torch_xla", "torchvision", "transformers", "timm")
_NVIDIA_TIMEOUT_S = 10


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Packages by name with their versions, accelerators by name with their models, and the toolchain's state."""

    packages: Mapping[str, str]
    accelerators: Mapping[Accelerator, str]
    compiler: str | None
    python_header: bool

    def accelerator_missing(self, accelerator: Accelerator) -> str | None:
        """Say why nothing can be measured on the accelerator here, or None."""
        if "torch" not in self.packages:
            return "torch is not installed in this environment: install the extra `runner` (or `xla`)"
        if accelerator not in self.accelerators:
            return f"this machine has no {accelerator} device"
        return None

    def toolchain_missing(self) -> str | None:
        """Say what inductor's C++ path lacks, or None."""
        if self.compiler is None:
            return "inductor needs a C++ compiler on the CPU: install g++ (or set CXX)"
        if not self.python_header:
            return "inductor needs Python.h on the CPU: install the headers of this Python (python3-dev)"
        return None


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _nvidia(query: str) -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        out = subprocess.run(
            [tool, f"--query-gpu={query}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_NVIDIA_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in out.stdout.splitlines() if line.strip()]


def _accelerators() -> dict[Accelerator, str]:
    found: dict[Accelerator, str] = {"cpu": _cpu_model()}
    names = _nvidia("name")
    if names:
        found["cuda"] = names[0] if len(names) == 1 else "One of " + ", ".join(names)
    if list(Path("/dev").glob("accel*")) or list(Path("/dev").glob("vfio/[0-9]*")):
        found["tpu"] = os.environ.get("TPU_ACCELERATOR_TYPE", "tpu")
    return found


def _version(package: str) -> str | None:
    if importlib.util.find_spec(package) is None:
        return None
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache
def detect() -> Machine:
    """Look at this machine once per process."""
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return Machine(
        packages={name: version for name in PACKAGES if (version := _version(name))},
        accelerators=_accelerators(),
        compiler=shutil.which(os.environ.get("CXX", "g++")),
        python_header=header.exists(),
    )


def _revision(package: str, variable: str) -> str | None:
    """Read a git revision out of a package's `version.py` without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    source = Path(spec.submodule_search_locations[0]) / "version.py"
    if not source.exists():
        return None
    found = re.search(rf"^{variable}\s*(?::[^=]+)?=\s*'([0-9a-f]+)'", source.read_text(), re.MULTILINE)
    return found.group(1) if found else None


def describe(name: str, machine: Machine, sources: Mapping[str, str], threads: int | None) -> Environment:
    """Describe the current interpreter and machine, and the sources of models, as an environment."""
    memory = psutil.virtual_memory().total
    cores = psutil.cpu_count(logical=True) or 1
    drivers = _nvidia("driver_version") if "cuda" in machine.accelerators else []
    # RAM is rounded: kernels of one machine report slightly different totals.
    gibibytes = round(memory / 2**30)
    accelerator = machine.accelerators.get("cuda") or machine.accelerators.get("tpu")
    return Environment(
        name=name,
        python=platform.python_version(),
        torch=machine.packages.get("torch"),
        torch_git=_revision("torch", "git_version"),
        torch_xla=machine.packages.get("torch_xla"),
        torch_xla_git=_revision("torch_xla", "__xla_gitrev__"),
        torchvision=machine.packages.get("torchvision"),
        transformers=machine.packages.get("transformers"),
        timm=machine.packages.get("timm"),
        torchbench_commit=sources.get("torchbench_commit"),
        host=socket.gethostname(),
        machine_id=digest([machine.accelerators["cpu"], accelerator, cores, gibibytes]),
        cpu=machine.accelerators["cpu"],
        cores=cores,
        memory_bytes=memory,
        accelerator=accelerator,
        driver=drivers[0] if drivers else None,
        threads=threads,
    )
