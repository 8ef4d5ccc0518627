"""Whether the packages that an interpreter has can be imported: an installed one may lack a library, or not fit."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.environments.machine import Machine

TRIED = ("torch", "torch_xla")
"""Packages to import, in this order: the second imports the first."""
_TIMEOUT_S = 120
_MARK = "xlabench: "
"""What an answer begins with: packages print, too."""
_IMPORT = """
import importlib, json, sys
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
    except Exception as error:
        answer = [name, f"{type(error).__name__}: {error}", None]
    else:
        answer = [name, None, module.get_num_threads() if name == "torch" else None]
    print("\\nxlabench: " + json.dumps(answer), flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Imports:
    """What came of importing an interpreter's packages."""

    broken: Mapping[str, str] = field(default_factory=dict)
    """Package → why it cannot be imported."""
    threads: int | None = None
    """Threads that torch takes where nobody asks for another number."""

    def missing(self, preload: Sequence[str]) -> str | None:
        """Say why modules cannot be imported, or None."""
        packages = [module.partition(".")[0] for module in preload]
        wrong = next((package for package in TRIED if package in packages and package in self.broken), None)
        return None if wrong is None else f"{wrong} cannot be imported: {self.broken[wrong]}; install it anew"


def try_imports(machine: Machine) -> Imports:
    """Import the packages in a process of the machine's interpreter; one that ends it gives no answer."""
    names = [name for name in TRIED if name in machine.packages]
    if not names:
        return Imports()
    command = [machine.python, "-c", _IMPORT, *names]
    # Lazy tensors look for a device when they are imported; the CPU is always there.
    variables = {"PJRT_DEVICE": "CPU", **os.environ}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        out, end = done.stdout, f"the process ended with code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        out, end = (error.stdout or b"").decode(), f"it took more than {_TIMEOUT_S} s"
    broken, threads = {}, None
    answered = [json.loads(line.removeprefix(_MARK)) for line in out.splitlines() if line.startswith(_MARK)]
    for name, fault, count in answered:
        threads = count or threads
        if fault is not None:
            broken[name] = fault.strip().partition("\n")[0]
    silent = names[len(answered) :]
    if silent:
        broken[silent[0]] = end
    return Imports(broken=broken, threads=threads)
