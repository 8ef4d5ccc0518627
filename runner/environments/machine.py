"""What this machine and its interpreter offer, found without importing torch."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from runner.accelerators import ACCELERATORS
from store.identity import digest
from store.record import Accelerator, Environment

PACKAGES = ("torch", "torch_xla", "torchvision", "transformers", "timm", "torchax", "jax")
_LIST_TIMEOUT_S = 120
_LIST = "import json, torch; print(json.dumps(torch._dynamo.list_backends(exclude_tags=None)))"

_SOURCES = """
import hashlib, importlib.metadata, importlib.util, json, pathlib

def files_of(module):
    spec = importlib.util.find_spec(module.partition(".")[0])
    folders = spec.submodule_search_locations
    if folders is None:
        return [spec.origin]
    return sorted(file for folder in folders for file in pathlib.Path(folder).rglob("*.py"))

def content(files):
    hashed, left = hashlib.sha256(), 8 << 20
    for file in map(pathlib.Path, files):
        facts = file.stat()
        left -= facts.st_size
        hashed.update(file.name.encode() + (file.read_bytes() if left >= 0 else repr(facts.st_mtime_ns).encode()))
    return hashed.hexdigest()

found = {}
for point in importlib.metadata.entry_points(group="torch_dynamo_backends"):
    try:
        found[point.name] = content(files_of(point.module))
    except (AttributeError, ImportError, OSError, TypeError, ValueError):
        pass
print(json.dumps(found))
"""
"""Of a package with more than 8 MiB of source, the further files count with their times. One whose module is not found,
or cannot be read, has no hash, and leaves the others theirs."""

_OPS = """
import json, torch
from torch._decomp import decomposition_table as table
can = {op.name() for op in table if isinstance(op, torch._ops.OpOverload)}
names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
print(json.dumps({name.removeprefix("aten::"): name in can for name in names}))
"""

_OPTIMIZERS = """
import json, torch
base = torch.optim.Optimizer
classes = [value for value in vars(torch.optim).values() if isinstance(value, type)]
print(json.dumps([each.__name__ for each in classes if issubclass(each, base) and each is not base]))
"""

_SETTINGS = """
import functools, importlib, json
found = {}
for room in ("dynamo", "inductor"):
    module = importlib.import_module(f"torch._{room}.config")
    values = {key: functools.reduce(getattr, key.split("."), module) for key in module._config}
    found[room] = {key: value if type(value) in (bool, int, float, str) else None for key, value in values.items()}
print(json.dumps(found))
"""
"""A value that JSON would change is left out: a setting that is None takes any."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Packages by name with their versions, accelerators by name with their models, and the toolchain's state."""

    packages: Mapping[str, str]
    accelerators: Mapping[Accelerator, str]
    compiler: str | None
    python_header: bool
    setuptools: bool = True
    """Torch's C++ builder imports it and, before Python 3.12, does not ask for it."""
    devices: Mapping[Accelerator, tuple[str, ...]] = field(default_factory=dict)
    """Models by index, where there is more than one device to choose from."""
    torch_builds: frozenset[str] | None = None
    """Accelerators that the installed torch was built for; None: unknown."""
    python: str = sys.executable

    def accelerator_missing(self, accelerator: Accelerator) -> str | None:
        """Say why nothing can be measured on the accelerator here, or None."""
        if "torch" not in self.packages:
            return "torch is not installed in this environment; install the extra `runner` (or `xla`)"
        if accelerator not in self.accelerators:
            return f"this machine has no {accelerator} device: {ACCELERATORS[accelerator].absent()}"
        if self.torch_builds is not None and accelerator in ("cuda", "xpu") and accelerator not in self.torch_builds:
            return f"torch {self.packages['torch']} was built without {accelerator}: install a build with it"
        return None

    def models(self, index: int | None) -> Mapping[Accelerator, str]:
        """Return the accelerators by name with the model of the device that a run chose."""
        chosen = {name: models[index] for name, models in self.devices.items() if index < len(models)} if index else {}
        return {**self.accelerators, **chosen}

    def dynamo_backends(self) -> tuple[str, ...]:
        """Ask this machine's interpreter once which backends its dynamo knows; none where it cannot say."""
        return tuple(_answer(self.python, _LIST) or ())

    def aten_ops(self) -> Mapping[str, bool]:
        """Ask it once for its ops, without `aten::`, and which have a decomposition; empty where it cannot say."""
        return dict(_answer(self.python, _OPS) or {})

    def optimizers(self) -> tuple[str, ...]:
        """Ask it once for the classes of `torch.optim`; none where it cannot say."""
        return tuple(_answer(self.python, _OPTIMIZERS) or ())

    def compiler_settings(self, room: str) -> Mapping[str, Any]:
        """Ask it once for the settings of `dynamo` or `inductor` by their names; empty where it cannot say.

        Values are those of the setting, as far as they are of one of the plain types, and None otherwise.
        """
        return dict((_answer(self.python, _SETTINGS) or {}).get(room, {}))

    def toolchain_missing(self) -> str | None:
        """Say what inductor's C++ path lacks, or None."""
        if self.compiler is None:
            return "inductor needs a C++ compiler on the CPU: install g++ (or set CXX)"
        if not self.python_header:
            return "inductor needs Python.h on the CPU: install the headers of this Python (python3-dev)"
        if not self.setuptools:
            return "inductor needs setuptools on the CPU: pip install setuptools"
        return None


def dynamo_sources(python: str) -> Mapping[str, str]:
    """Ask an interpreter once for the backends that packages add to dynamo, and the hash of each one's source files.

    They are all files of the top-level module or package that the entry point names: that file may only call others.
    """
    return dict(_answer(python, _SOURCES) or {})


def _named(models: tuple[str, ...]) -> str:
    """Name several devices as the peer's records do."""
    return models[0] if len(models) == 1 else "One of " + ", ".join(models)


def _torch_builds() -> frozenset[str] | None:
    """Read what torch was built for out of its `version.py`, without importing it."""
    text = _version_file("torch")
    if text is None:
        return None
    return frozenset(re.findall(r"^(cuda|hip|xpu)\s*(?::[^=]+)?=\s*'[^']+'", text, re.MULTILINE))


@functools.cache
def _answer(python: str, code: str) -> Any:
    """Return the JSON that an interpreter prints last when it runs this code; None where it fails."""
    try:
        out = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=_LIST_TIMEOUT_S, check=True)
        return json.loads(out.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


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
    devices = {name: models for name, adapter in ACCELERATORS.items() if (models := adapter.models())}
    return Machine(
        packages={name: version for name in PACKAGES if (version := _version(name))},
        accelerators={name: _named(models) for name, models in devices.items()},
        devices=devices,
        torch_builds=_torch_builds(),
        compiler=shutil.which(os.environ.get("CXX", "g++")),
        python_header=header.exists(),
        setuptools=importlib.util.find_spec("setuptools") is not None,
    )


def _version_file(package: str) -> str | None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    source = Path(spec.submodule_search_locations[0]) / "version.py"
    return source.read_text() if source.exists() else None


def _revision(package: str, variable: str) -> str | None:
    """Read a git revision out of a package's `version.py` without importing the package."""
    text = _version_file(package) or ""
    match = re.search(rf"^{variable}\s*(?::[^=]+)?=\s*'([0-9a-f]+)'", text, re.MULTILINE)
    return match.group(1) if match else None


def describe(name: str, machine: Machine, sources: Mapping[str, str], threads: int | None) -> Environment:
    """Describe the current interpreter and machine, and the sources of models, as an environment."""
    memory = psutil.virtual_memory().total
    cores = psutil.cpu_count(logical=True) or 1
    # RAM is rounded: kernels of one machine report slightly different totals.
    gibibytes = round(memory / 2**30)
    kind = next((device for device in machine.accelerators if device != "cpu"), None)
    accelerator = machine.accelerators[kind] if kind else None
    versions: dict[str, Any] = {package: machine.packages.get(package) for package in PACKAGES}
    return Environment(
        name=name,
        executable=machine.python,
        python=platform.python_version(),
        **versions,
        torch_git=_revision("torch", "git_version"),
        torch_xla_git=_revision("torch_xla", "__xla_gitrev__"),
        torchbench_commit=sources.get("torchbench_commit"),
        host=socket.gethostname(),
        machine_id=digest([machine.accelerators["cpu"], accelerator, cores, gibibytes]),
        cpu=machine.accelerators["cpu"],
        cores=cores,
        memory_bytes=memory,
        accelerator=accelerator,
        driver=ACCELERATORS[kind].driver() if kind else None,
        threads=threads,
    )
