"""The negative control: a copy with disturbed weights has to fail the check, else the check sees nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.suites.base import Workload

_STRENGTH = 0.5
"""Of the noise, in units of the root mean square of the tensor that it is added to."""
_OF_ZEROS = 0.02
"""Noise on a tensor of zeros; a usual standard deviation of initial weights."""
_EVERY = 2
"""Every other tensor is disturbed, from the first on: the weights, where weights and biases alternate."""

TRIVIAL = frozenset({"param"})
"""Kinds of leaves that differ because they were disturbed, and so show nothing."""


def disturb(workload: Workload, seed: int) -> str | None:
    """Add noise to some weights, to the inputs where there are none; say to what, None where there is nothing."""
    import torch
    from torch.utils import _pytree as pytree

    generator = torch.Generator().manual_seed(seed)
    weights = [each for each in workload.module.parameters() if each.is_floating_point() and each.numel()]
    with torch.no_grad():
        for weight in weights[::_EVERY]:
            weight.add_(_noise(weight, generator))
    if weights:
        return "weights"
    inputs = (workload.args, workload.kwargs)
    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.Tensor, lambda each: each + _noise(each, generator) if each.is_floating_point() else each, inputs
    )
    floating = [each for each in pytree.tree_leaves(inputs) if isinstance(each, torch.Tensor)]
    return "inputs" if any(each.is_floating_point() for each in floating) else None


def _noise(tensor: Any, generator: Any) -> Any:
    import torch

    size = tensor.square().mean().sqrt().item() or _OF_ZEROS
    noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
    return (noise * (_STRENGTH * size)).to(tensor.dtype)
