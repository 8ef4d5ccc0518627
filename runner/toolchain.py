"""Inductor's one-time work per process and per machine, done before any experiment is timed.

None of it is compile time of a model, and forked processes inherit it: the vector-ISA probe (seconds in every new
process, also with warm caches), the hash of torch's own sources, and modules that the first compilation would import.
Precompiled headers are shared by all processes of a user and ignore inductor's cache folder, so a tiny compilation in
a throwaway process makes them once per machine; it also tells which modules a compilation imports.
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
from pathlib import Path

_PACKAGES = ("torch.", "sympy.")


def prepare() -> float:
    """Do what this process lacks; return seconds. No thread and no child is left behind."""
    began = time.perf_counter()
    _probe_instruction_sets()
    memory = _memory()
    if not memory.exists():
        _compile_in_throwaway_process(memory)
    if memory.exists():
        for name in json.loads(memory.read_text()):
            # Another torch version may lack one; the compilation imports what it needs itself.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    _hash_sources()
    return time.perf_counter() - began


def _probe_instruction_sets() -> None:
    """Build and load a program per instruction set, all at once; inductor caches the answers."""
    from torch._inductor import cpu_vec_isa

    candidates = getattr(cpu_vec_isa, "supported_vec_isa_list", [])
    flags = set(cpu_vec_isa.x86_isa_checker()) if hasattr(cpu_vec_isa, "x86_isa_checker") else set()
    possible = [isa for isa in candidates if set(str(isa).split()) <= flags]
    if possible:
        with ThreadPoolExecutor(len(possible)) as pool:
            list(pool.map(bool, possible))
    cpu_vec_isa.valid_vec_isa_list()


def _hash_sources() -> None:
    from torch._inductor import codecache

    if hasattr(codecache, "torch_key"):
        codecache.torch_key()


def _memory() -> Path:
    """Return the file that remembers, beside the headers, what a compilation imports: one per torch and compiler."""
    from torch._inductor import codecache
    from torch.version import git_version

    folder = Path(getattr(codecache, "_HEADER_DIR", Path(tempfile.gettempdir()) / "xlabench-toolchain"))
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout if compiler else b""
    key = hashlib.blake2b(f"{git_version}{sys.prefix}".encode() + version, digest_size=8).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"xlabench-{key}.json"


def _compile_in_throwaway_process(memory: Path) -> None:
    """Compile something tiny elsewhere, because this process must run no tensor operation."""
    pid = os.fork()
    if pid == 0:
        try:
            before = set(sys.modules)
            _compile_something()
            new = [name for name in sys.modules if name not in before and name.startswith(_PACKAGES)]
            whole = memory.with_suffix(f".{os.getpid()}")
            whole.write_text(json.dumps(new))
            whole.replace(memory)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _compile_something() -> None:
    import torch

    with tempfile.TemporaryDirectory(prefix="xlabench-") as scratch:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
        module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        torch.compile(lambda values: module(values).sum())(torch.ones(2, 8)).backward()
