"""Ops that XLA did not lower: how often per iteration, and of which class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from runner import lowerings
from runner.process.samples import IN_STEADY_STATE
from store.record import FallbackClass, FallbackOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.process.samples import Block, Samples


def classify(op: str) -> FallbackClass:
    """Return the class of an op, named without `aten::`."""
    if lowerings.is_host_read(op):
        return "host_read"
    return "opt_in_lowering" if lowerings.is_opt_in(op) else "no_lowering"


def summarize(samples: Samples) -> list[FallbackOp]:
    """Return one entry per op: calls per steady iteration, and calls while compiling and warming up apart."""
    steady = samples.of_kind(*IN_STEADY_STATE)
    before = samples.of_kind("first", "warmup")
    iterations = sum(block.inner_loops for block in steady) * samples.iterations_per_run
    ops = {op for block in samples.blocks for op in block.fallback_calls}
    return [
        FallbackOp(
            op=op,
            klass=classify(op),
            calls_per_iteration=_calls(steady, op) / iterations if iterations else None,
            calls_compile=_calls(before, op),
        )
        for op in sorted(ops)
    ]


def with_call_sites(ops: Sequence[FallbackOp], sites: Mapping[str, str]) -> list[FallbackOp]:
    """Return the ops with the places of the program that asked for them."""
    return [msgspec.structs.replace(op, call_site=sites.get(op.op)) for op in ops]


def _calls(blocks: Sequence[Block], op: str) -> int:
    return sum(block.fallback_calls.get(op, 0) for block in blocks)
