"""Inductor's one-time toolchain work, done before any experiment is timed.

The vector-ISA probe runs in every new process and costs seconds even with warm caches; it is inherited by forked
processes. Precompiled headers are shared by all processes of a user and ignore inductor's cache folder, so the first
compilation on a machine would pay for them. Neither is compile time of a model.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def prepare() -> float:
    """Probe the instruction sets here and warm the headers in a throwaway process; return seconds."""
    from torch._inductor.cpu_vec_isa import valid_vec_isa_list

    began = time.perf_counter()
    valid_vec_isa_list()
    marker = _marker()
    if marker is not None and not marker.exists() and _compile_something():
        marker.touch()
    return time.perf_counter() - began


def _marker() -> Path | None:
    """Return the file that says: the headers of this torch and compiler are there; None where inductor keeps none."""
    from torch._inductor import codecache
    from torch.version import git_version

    folder = getattr(codecache, "_HEADER_DIR", None)
    if folder is None or shutil.which("openssl") is None:
        return None
    compiler = os.environ.get("CXX", "g++")
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    key = hashlib.blake2b(f"{git_version}".encode() + version, digest_size=8).hexdigest()
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"xlabench-{key}"


def _compile_something() -> bool:
    """Compile a tiny function forward and backward in a process of its own; say whether that went well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _tiny_model()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _tiny_model() -> None:
    import torch

    with tempfile.TemporaryDirectory(prefix="xlabench-") as scratch:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
        compiled = torch.compile(lambda values: values.sin().relu().sum())
        compiled(torch.ones(64, requires_grad=True)).backward()
