"""What each iteration is called with; prepared before the clock starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.backends import steps

if TYPE_CHECKING:
    from runner.workload import Runtime, Workload
    from store.record import ExperimentConfig

_SMALLEST_DYNAMIC = 2
"""Dynamo always compiles sizes 0 and 1 as constants."""


class NoBatchDimension(ValueError):
    """`--dynamic-batch-only` finds no dimension to mark."""


class Inputs:
    """Makes inputs anew for each iteration: copies, or new values where the experiment asks for them.

    Made while the workload still lies on the host; where an iteration brings its inputs to the device itself, or draws
    new ones, the host's own are kept.
    """

    def __init__(self, workload: Workload, config: ExperimentConfig, seed: int) -> None:
        import torch

        self._workload, self._config = workload, config
        self._on_host = config.include_transfers or config.randomize_input
        self._host = (workload.args, workload.kwargs) if self._on_host else None
        self._random = torch.Generator().manual_seed(seed)
        self._batch_size = workload.batch_size if config.dynamic_batch_only else None
        if config.dynamic_batch_only:
            self._check()

    def fresh(self, count: int, runtime: Runtime) -> list[Any]:
        """Return inputs for `count` iterations, on the device unless the iteration brings them there."""
        if self._host is None and self._workload.shared_inputs:
            made = steps.fresh_inputs(self._workload, 1) * count
        elif self._host is None:
            made = steps.fresh_inputs(self._workload, count)
        else:
            made = [self._made(self._host) for _ in range(count)]
            if not self._config.include_transfers:
                made = [runtime.to_device(each) for each in made]
        if self._batch_size is not None:
            self._mark(made)
        return made

    def _made(self, inputs: Any) -> Any:
        import torch
        from torch.utils import _pytree as pytree

        return pytree.tree_map_only(torch.Tensor, self._drawn if self._config.randomize_input else _copy, inputs)

    def _drawn(self, tensor: Any) -> Any:
        """Draw normal values for a floating tensor, as the peers do; integers are indices and stay."""
        import torch

        if not tensor.is_floating_point():
            return _copy(tensor)
        made = torch.randn(tensor.shape, generator=self._random, dtype=torch.float32).to(tensor.dtype)
        return made.requires_grad_(tensor.requires_grad)

    def _check(self) -> None:
        name, size = self._config.model_name, self._batch_size
        if size is None:
            raise NoBatchDimension(f"--dynamic-batch-only: the suite does not know the batch size of {name}")
        if size < _SMALLEST_DYNAMIC:
            raise NoBatchDimension(f"--dynamic-batch-only: a batch of {size} cannot be dynamic; pass --batch-size 2")
        if not self._mark([(self._workload.args, self._workload.kwargs)]):
            raise NoBatchDimension(
                f"--dynamic-batch-only: no input of {name} has {size} samples in its first dimension"
            )

    def _mark(self, inputs: list[Any]) -> int:
        """Mark the first dimension of what holds one entry per sample; return how many tensors do."""
        import torch
        from torch.utils import _pytree as pytree

        found = [
            leaf
            for leaf in pytree.tree_leaves(inputs)
            if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == self._batch_size
        ]
        for tensor in found:
            torch._dynamo.maybe_mark_dynamic(tensor, 0)  # noqa: SLF001 - the way that torch documents
        return len(found)


def _copy(tensor: Any) -> Any:
    return steps.copied(tensor)
