"""Whether a fallback op can be replaced, so that what its lowering would pay can be measured. Imports no torch."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from runner import lowerings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.environments.machine import Machine


def cannot_replace(ops: Iterable[str], machine: Machine) -> str | None:
    """Say of the first op that has neither a decomposition nor a lowering on request why it cannot be replaced."""
    return next((reason for op in ops if (reason := _cannot(op, machine))), None)


def _cannot(op: str, machine: Machine) -> str | None:
    if lowerings.is_host_read(op):
        return (
            f"without-fallback: {op} reads a value on the host, so there is nothing to "
            "lower; change the code that reads it"
        )
    if lowerings.is_opt_in(op):
        return None
    aten = machine.aten_ops()
    if not aten:
        return f"without-fallback: torch could not list its decompositions, so {op} cannot be checked"
    if op not in aten:
        near = [name for name in sorted(aten) if name.startswith(f"{op}.")] or get_close_matches(op, aten, n=1)
        hint = f"; did you mean {' or '.join(near[:3])}?" if near else ""
        return f"without-fallback: torch has no op {op}{hint}"
    if not aten[op]:
        return (
            f"without-fallback: torch has no decomposition of {op}, and PyTorch/XLA no optional lowering: "
            "the gain cannot be measured before the op is lowered"
        )
    return None
