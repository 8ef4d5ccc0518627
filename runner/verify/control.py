"""Copies with other weights and inputs, in which a result shows whether it is evidence.

One that is *disturbed* differs a lot: a result that it has too is a constant. One that is *nudged* differs by rounding:
a result that jumps with it, as the gradient behind a ReLU whose input is all but zero, is right or wrong by chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.workload import Workload

_STRENGTH = 0.5
"""Strength of the noise, in units of the root mean square of the tensor that it is added to."""
_OF_ZEROS = 0.02
"""Noise on a tensor of zeros; a usual standard deviation of initial weights."""
_ROUNDINGS = 8.0
"""Size of a nudge, in units of float32's rounding: about the effect of the order of additions in a layer."""
_EVERY = 2
"""Every other tensor is disturbed, from the first on: the weights, where weights and biases alternate."""


def disturb(workload: Workload, seed: int) -> str | None:
    """Add noise to some weights and to all floating inputs; say to what, None where there is neither."""
    import torch
    from torch.utils import _pytree as pytree

    generator = torch.Generator().manual_seed(seed)
    weights = [each for each in workload.module.parameters() if each.is_floating_point() and each.numel()]
    with torch.no_grad():
        for weight in weights[::_EVERY]:
            weight.add_(_noise(weight, generator))
    inputs = (workload.args, workload.kwargs)
    leaves = pytree.tree_leaves(inputs)
    floating = any(isinstance(each, torch.Tensor) and each.is_floating_point() and each.numel() for each in leaves)
    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.Tensor, lambda each: _disturbed(each, generator) if each.is_floating_point() else each, inputs
    )
    return " and ".join([*(["weights"] if weights else ()), *(["inputs"] if floating else ())]) or None


def nudge(workload: Workload, seed: int) -> None:
    """Change weights and floating inputs by some roundings of float32, relative to each value.

    Args:
        workload: already in float64, which has room for such changes.
        seed: of the changes.
    """
    import torch
    from torch.utils import _pytree as pytree

    generator = torch.Generator().manual_seed(seed)

    def nudged(tensor: Any) -> Any:
        if not tensor.is_floating_point():
            return tensor
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
        moved = tensor.detach() * (1 + _ROUNDINGS * torch.finfo(torch.float32).eps * noise)
        return moved.requires_grad_(tensor.requires_grad)

    with torch.no_grad():
        for weight in workload.module.parameters():
            weight.copy_(nudged(weight))
    inputs = (workload.args, workload.kwargs)
    workload.args, workload.kwargs = pytree.tree_map_only(torch.Tensor, nudged, inputs)


def _disturbed(tensor: Any, generator: Any) -> Any:
    made = tensor.detach() + _noise(tensor, generator)
    return made.requires_grad_(tensor.requires_grad)


def _noise(tensor: Any, generator: Any) -> Any:
    import torch

    size = tensor.detach().square().mean().sqrt().item() or _OF_ZEROS
    noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
    return (noise * (_STRENGTH * size)).to(tensor.dtype)
