"""The control of a check: wrong tensors made of eager's, each of which the check of that tensor has to fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

STRENGTH = 0.05
_ROWS_APART = 100.0
"""Rows are told apart where they differ by this many times eager's error: nearer ones no rule can tell."""


def mutations(tensor: Any, own: float, *, rotated: bool = False) -> Iterator[Any]:
    """Yield wrong versions of a tensor, all of them different from it: the first that passes a check proves it blind.

    Args:
        tensor: eager's, finite.
        own: eager's error.
        rotated: only the tensor with its rows rotated.
    """
    import torch

    if not rotated:
        if tensor.dtype == torch.bool:
            yield ~tensor
        elif tensor.is_floating_point():
            yield tensor * (1 + STRENGTH)
            yield torch.zeros_like(tensor)
            yield -tensor
        else:
            yield torch.zeros_like(tensor)
            if tensor.dtype.is_signed:
                yield -tensor
    if tensor.dim() and tensor.shape[0] > 1:
        turned = tensor.roll(1, 0)
        if not torch.equal(turned, tensor) and _difference(turned, tensor) > _ROWS_APART * own:
            yield turned


def _difference(first: Any, second: Any) -> float:
    return float((first.double() - second.double()).square().mean().sqrt())
