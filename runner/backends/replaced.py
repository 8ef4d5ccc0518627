"""Stand-ins for ops that PyTorch/XLA would run on the host: torch's decompositions, as kernels of the XLA device."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from runner import lowerings
from store.record import Replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class NotReplaced(Exception):
    """An op that cannot be computed without falling back."""


class Replaced:
    """The ops that are replaced in this process, for as long as it lives."""

    def __init__(self, ops: Sequence[str]) -> None:
        self._ops = tuple(ops)
        self._calls: Counter[str] = Counter()
        self._running: set[str] = set()
        self._sources: dict[str, str] = {}
        wanted = [op for op in self._ops if not lowerings.is_opt_in(op)]
        if wanted:
            import torch

            # Its kernels go with it.
            self._library = torch.library.Library("aten", "IMPL")
        for op in wanted:
            self._replace(op)

    def found(self) -> list[Replacement]:
        """Return what stands in for each op, and how often it was called."""
        return [
            Replacement(op=op, way="opt_in", source=f"{lowerings.VARIABLE}={op}")
            if lowerings.is_opt_in(op)
            else Replacement(op=op, way="decomposition", source=self._sources[op], calls=self._calls[op])
            for op in self._ops
        ]

    def _replace(self, op: str) -> None:
        from torch._decomp import decomposition_table

        decomposition = decomposition_table.get(_overload(op))
        if decomposition is None:
            raise NotReplaced(f"--without-fallback {op}: this version of torch has no decomposition of it")
        module, name = getattr(decomposition, "__module__", ""), getattr(decomposition, "__name__", op)
        self._sources[op] = f"{module}.{name}"
        with warnings.catch_warnings():
            # That a kernel is replaced is what was asked for.
            warnings.simplefilter("ignore", UserWarning)
            self._library.impl(op, self._kernel(op, decomposition), "XLA")

    def _kernel(self, op: str, decomposition: Callable[..., Any]) -> Callable[..., Any]:
        def kernel(*args: Any, **kwargs: Any) -> Any:
            if op in self._running:
                raise NotReplaced(f"--without-fallback {op}: torch's decomposition of it calls {op} itself")
            self._calls[op] += 1
            self._running.add(op)
            try:
                return decomposition(*args, **kwargs)
            finally:
                self._running.discard(op)

        return kernel


def _overload(op: str) -> Any:
    import torch

    base, _, overload = op.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")
