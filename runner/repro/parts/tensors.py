"""Tensors like those that a model had: shape, type and range."""

from __future__ import annotations

from typing import Any

import torch


def tensor(shape: tuple[int, ...], dtype: torch.dtype, low: float, high: float) -> Any:
    """Return uniform values between two bounds, both included for integers."""
    torch.manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        return (torch.rand(shape) * (high - low) + low).to(dtype)
    return torch.randint(int(low), int(high) + 1, shape).to(dtype)
