"""Inputs and weights of the copies: in parts, changed by much or by rounding, and of an iteration like no other."""

from __future__ import annotations

from typing import Any

from runner.verify.leaves import identical
from runner.workload import Workload
from store.errors import Signal


class NotInPieces(Signal):
    """The results of parts of a batch are not parts of the results of the whole batch."""


def in_pieces(inputs: Any, samples: int | None, pieces: int) -> list[Any]:
    """Split what has one entry per sample along its first dimension; everything else goes to each part as it is.

    Raises:
        NotInPieces: there is nothing to split.
    """
    import torch
    from torch.utils import _pytree as pytree

    if pieces == 1:
        return [inputs]
    leaves_, structure = pytree.tree_flatten(inputs)

    def by_sample(leaf: Any) -> bool:
        return isinstance(leaf, torch.Tensor) and leaf.dim() > 0 and leaf.shape[0] == samples

    if samples is None or samples < pieces or not any(map(by_sample, leaves_)):
        raise NotInPieces("no input has one entry per sample")
    split = [leaf.tensor_split(pieces) if by_sample(leaf) else [leaf] * pieces for leaf in leaves_]
    return [pytree.tree_unflatten(list(part), structure) for part in zip(*split, strict=True)]


def joined(parts: list[dict[str, Any]], samples: int | None) -> dict[str, Any]:
    """Put the results of the parts of a batch together.

    Raises:
        NotInPieces: a result has not one entry per sample.
    """
    import torch

    if len(parts) == 1:
        return parts[0]
    whole = {}
    for name, first in parts[0].items():
        leaf_of_parts = [part.get(name) for part in parts]
        if not all(isinstance(leaf, torch.Tensor) and leaf.dim() for leaf in leaf_of_parts):
            if all(identical(first, leaf) for leaf in leaf_of_parts):
                whole[name] = first
                continue
            raise NotInPieces(f"{name} is not a tensor with one entry per sample")
        whole[name] = torch.cat(leaf_of_parts)
        if whole[name].shape[0] != samples:
            raise NotInPieces(f"{name} has not one entry per sample")
    return whole


def others(inputs: Any, samples: int | None) -> Any:
    """Return inputs that differ and are as valid: half of the samples take the place of the other half.

    Of a single sample, values change places along their last dimension. Truth values, such as masks, stay.
    """
    import torch
    from torch.utils import _pytree as pytree

    def other(tensor: Any) -> Any:
        plain = type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.is_nested
        if not plain or not tensor.dim() or tensor.dtype is torch.bool:
            return tensor.detach().clone().requires_grad_(tensor.requires_grad)
        values = tensor.detach().cpu().clone()
        half = values.shape[0] // 2 if values.shape[0] == samples else 0
        values = torch.cat([values[-half:], values[half:]]) if half else values.roll(1, dims=-1)
        return values.to(tensor.device).requires_grad_(tensor.requires_grad)

    return pytree.tree_map_only(torch.Tensor, other, inputs)


# One copy is disturbed, it differs a lot: a result that it has too is a constant. One is nudged, it differs by
# rounding: a result that jumps with it, as the gradient behind a ReLU whose input is all but zero, is right or wrong
# by chance.

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
    weights = [
        parameter for parameter in workload.module.parameters() if parameter.is_floating_point() and parameter.numel()
    ]
    with torch.no_grad():
        for weight in weights[::_EVERY]:
            weight.add_(_noise(weight, generator))
    inputs = (workload.args, workload.kwargs)
    leaves = pytree.tree_leaves(inputs)
    floating = any(
        isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel() for tensor in leaves
    )
    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.Tensor, lambda tensor: _disturbed(tensor, generator) if tensor.is_floating_point() else tensor, inputs
    )
    return " and ".join([*(["weights"] if weights else ()), *(["inputs"] if floating else ())]) or None


def nudge(workload: Workload, seed: int, rounding: float = 0.0) -> None:
    """Change weights and floating inputs by a rounding, relative to each value.

    Args:
        workload: already in float64, which has room for such changes.
        seed: of the changes.
        rounding: its size; 0: some roundings of float32.
    """
    import torch
    from torch.utils import _pytree as pytree

    generator = torch.Generator().manual_seed(seed)
    size = rounding or _ROUNDINGS * torch.finfo(torch.float32).eps

    def nudged(tensor: Any) -> Any:
        if not tensor.is_floating_point():
            return tensor
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
        moved = tensor.detach() * (1 + size * noise)
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
