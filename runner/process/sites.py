"""Where the model's own program asks for an op: found in one iteration that is not timed."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

_PREFIX = "aten."
_OVERLOAD = ".default"
_MACHINERY = ("torch", "torch_xla", "functorch", "torch_mlir")
_RUNNER = Path(__file__).parents[1]
_SUITES = _RUNNER / "suites"
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def finder(ops: Iterable[str]) -> Any:
    """Return a context manager whose `call_sites` say who calls these ops, which are named without `aten::`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    wanted = frozenset(ops)

    class Finder(TorchDispatchMode):  # type: ignore[misc] # mypy does not follow torch
        """Sees every op below autograd, with the Python stack that led there."""

        def __init__(self) -> None:
            super().__init__()
            self.call_sites: dict[str, str] = {}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = op_name(func)
            if name in wanted and name not in self.call_sites:
                site = caller(sys._getframe())  # noqa: SLF001 - the stack is what is asked for
                if site is not None:
                    self.call_sites[name] = site
            return func(*args, **(kwargs or {}))

    return Finder()


def op_name(overload: Any) -> str:
    """Return an op as PyTorch/XLA's counters name it, without `aten::`."""
    return str(overload).removeprefix(_PREFIX).removesuffix(_OVERLOAD)


def caller(frame: FrameType | None) -> str | None:
    """Return the innermost place outside torch and this runner, as `file:line in function`."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if _is_program(path):
            return f"{_short(path)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return None


def of_trace(text: str) -> str | None:
    """Return the same of a stack trace as dynamo keeps it with each node, innermost last."""
    for file, line, function in reversed(_FRAME.findall(text)):
        if _is_program(Path(file)):
            return f"{_short(Path(file))}:{line} in {function}"
    return None


def _is_program(path: Path) -> bool:
    if path.is_relative_to(_RUNNER):
        return path.is_relative_to(_SUITES)
    package = _package(path)
    if package is None and path.is_relative_to(_STANDARD_LIBRARY):
        return False
    # Generated code has no file.
    return path.is_absolute() and package not in _MACHINERY


def _package(path: Path) -> str | None:
    """Return the installed package that a file belongs to."""
    parts = path.parts
    return parts[parts.index("site-packages") + 1] if "site-packages" in parts[:-1] else None


def _short(path: Path) -> str:
    """Return the path from its package on: the folder it is installed in says nothing."""
    parts = path.parts
    if "site-packages" in parts[:-1]:
        return str(Path(*parts[parts.index("site-packages") + 1 :]))
    return str(path.relative_to(_RUNNER.parent)) if path.is_relative_to(_RUNNER) else str(path)
