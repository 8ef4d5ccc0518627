"""Ops that PyTorch/XLA runs on the host: which of them only read a value, and which it lowers on request. No torch."""

from __future__ import annotations

import os
from collections.abc import Iterable

VARIABLE = "XLA_EXPERIMENTAL"
"""Names ops that PyTorch/XLA lowers on request only, separated by colons; read once, at their first call."""

_HOST_READS = frozenset({"_local_scalar_dense", "item"})
"""The program asked for a value: nothing to lower, its call site is what helps."""

_OPT_IN = frozenset({"nonzero", "masked_select", "masked_scatter"})
"""Lowered only where `VARIABLE` names them (dynamic shapes)."""


def is_host_read(op: str) -> bool:
    """Say whether an op, named without `aten::`, does nothing but bring a value to the host."""
    return _base(op) in _HOST_READS


def is_opt_in(op: str) -> bool:
    """Say whether PyTorch/XLA has a lowering of the op that it leaves off."""
    return _base(op) in _OPT_IN


def variables(ops: Iterable[str]) -> dict[str, str]:
    """Return the variable that switches on the lowerings of these ops, in addition to the user's own."""
    wanted = [_base(op) for op in ops if is_opt_in(op)]
    present = os.environ.get(VARIABLE, "").split(":")
    return {VARIABLE: ":".join(dict.fromkeys(filter(None, [*present, *wanted])))} if wanted else {}


def _base(op: str) -> str:
    return op.split(".", maxsplit=1)[0]
