"""Make a build depend on its seed alone."""

from __future__ import annotations

import random

import numpy as np
import torch

_NUMPY_SEEDS = 2**32


def seed_everything(seed: int) -> None:
    """Seed every generator that a model's construction or its inputs may draw from."""
    random.seed(seed)
    np.random.seed(seed % _NUMPY_SEEDS)  # noqa: NPY002 - third-party models draw from the legacy generator
    torch.manual_seed(seed)
