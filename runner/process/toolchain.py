"""Inductor's one-time work per process and per machine, done before any experiment is timed.

None of it is compile time of a model, and forked processes inherit it: the vector-ISA probe (seconds in every new
process, also with warm caches), the hash of torch's own sources, and modules that the first compilation would import.
Precompiled headers are shared by all processes of a user and ignore inductor's cache folder, so a tiny compilation in
a throwaway process makes them once per machine; it also lists the modules that a compilation imports. The results are
stored with those headers, so that the next server starts at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

_PACKAGES = ("torch.", "sympy.")


@dataclass
class Remembered:
    """Results of an earlier process with this torch, compiler and CPU."""

    modules: list[str]
    """What a compilation imports."""
    all_instruction_sets_work: bool


def prepare() -> float:
    """Do what this process lacks; return seconds. No thread and no child is left behind."""
    began = time.perf_counter()
    file = _place()
    if not file.exists():
        works = _probe_instruction_sets()
        modules = _modules_of_a_compilation()
        if modules is not None:
            whole = file.with_suffix(f".{os.getpid()}")
            whole.write_text(json.dumps(Remembered(modules, works).__dict__))
            whole.replace(file)
    if file.exists():
        _apply(Remembered(**json.loads(file.read_text())))
    _hash_sources()
    return time.perf_counter() - began


def _apply(remembered: Remembered) -> None:
    from torch._inductor import cpu_vec_isa

    for name in remembered.modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # `bool(isa)` builds and loads a program and caches the answer; an answer that is known is put there instead.
    known = remembered.all_instruction_sets_work
    builds = (
        mock.patch.object(cpu_vec_isa.VecISA, "check_build", return_value=True) if known else contextlib.nullcontext()
    )
    with builds:
        cpu_vec_isa.valid_vec_isa_list()


def _probe_instruction_sets() -> bool:
    """Build and load a program per instruction set, all at once; say whether each that the CPU names works."""
    from torch._inductor import cpu_vec_isa

    candidates = getattr(cpu_vec_isa, "supported_vec_isa_list", [])
    flags = set(cpu_vec_isa.x86_isa_checker()) if hasattr(cpu_vec_isa, "x86_isa_checker") else set()
    possible = [isa for isa in candidates if set(str(isa).split()) <= flags]
    if possible:
        with ThreadPoolExecutor(len(possible)) as pool:
            list(pool.map(bool, possible))
    return bool(possible) and cpu_vec_isa.valid_vec_isa_list() == possible


def _hash_sources() -> None:
    """Let torch and triton hash their own sources, which every first compilation of a process waits for."""
    from torch._inductor import codecache

    if hasattr(codecache, "torch_key"):
        codecache.torch_key()
    with contextlib.suppress(ImportError, AttributeError):
        importlib.import_module("triton.runtime.cache").triton_key()


def _place() -> Path:
    """Return the file of the results, in the folder of the precompiled headers: one per torch, compiler and CPU."""
    from torch._inductor import codecache
    from torch.version import git_version

    folder = Path(getattr(codecache, "_HEADER_DIR", Path(tempfile.gettempdir()) / "xlabench-toolchain"))
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout if compiler else b""
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("model name", "flags"))]
    facts = f"{git_version}\n{sys.prefix}\n{version!r}\n{sorted(set(cpu))}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"xlabench-{hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()}.json"


def _modules_of_a_compilation() -> list[str] | None:
    """Compile something tiny in a throwaway process, because this one must run no tensor operation."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            before = set(sys.modules)
            _compile_something()
            new = [name for name in sys.modules if name not in before and name.startswith(_PACKAGES)]
            with os.fdopen(write, "w") as pipe:
                json.dump(new, pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        modules = pipe.read()
    os.waitpid(pid, 0)
    return list(json.loads(modules)) if modules else None


def _compile_something() -> None:
    import torch

    with tempfile.TemporaryDirectory(prefix="xlabench-") as scratch:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
        module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        torch.compile(lambda values: module(values).sum())(torch.ones(2, 8)).backward()
