"""Take chance out of a process and of a model: settings, dropout, random streams."""

from __future__ import annotations

import os
import random
from typing import Any

from store.record import ExperimentConfig


def make_deterministic(config: ExperimentConfig, threads: int | None = None) -> None:
    """Set what the process computes with: deterministic kernels, full matmul precision.

    An op without a deterministic kernel warns instead of failing; that eager runs differ is found by running it twice.
    """
    # Read when CUDA's BLAS is first used; without it deterministic algorithms refuse to run there.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    if threads:
        torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    if config.xla:
        import torch_xla.backends

        torch_xla.backends.set_mat_mul_precision("highest")
    if config.dynamo == "inductor":
        from torch._inductor import config as inductor_config

        # Inductor's own random streams differ from eager's.
        inductor_config.fallback_random = True


def without_dropout(module: Any) -> bool:
    """Take the dropout layers out of a built model, and set what probabilities are left, drop-path's too, to 0.

    It says whether there were any.

    The random streams of devices and compilers cannot match. A configuration is read once, at construction, by most
    layers and at each call by some: so the layers' own attributes and those of the configuration are changed.
    """
    changed = _take_out_layers(module)
    for part in module.modules():
        holders = [part]
        if getattr(part, "config", None) is not None and hasattr(part.config, "__dict__"):
            holders.append(part.config)
        for holder in holders:
            for name, value in list(vars(holder).items()):
                if isinstance(value, float) and value > 0 and _is_probability(name, type(part).__name__):
                    setattr(holder, name, 0.0)
                    changed = True
    return changed


def _take_out_layers(module: Any) -> bool:
    """Let each dropout layer that drops anything hand on what it gets.

    With a probability of 0 it would be a copy in the program that dynamo's backends get, one that the timed program
    does not have: and PyTorch/XLA's dynamo bridge mixes up the results of a program that returns a tensor and its copy.
    A layer whose probability is 0 from the start is a copy in the timed program too, so it stays.
    """
    import torch

    dropping = [
        part
        for part in module.modules()
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0  # noqa: SLF001 - what all kinds share
    ]
    for part in dropping:
        part.forward = lambda values: values
    return bool(dropping)


def _is_probability(name: str, owner: str) -> bool:
    if "drop" in name.lower():
        return True
    return name in ("p", "prob") and ("Drop" in owner or "StochasticDepth" in owner)


def random_state(device: Any) -> list[Any]:
    """Return the state of the streams that a step on this device draws from."""
    import numpy as np
    import torch

    states = [random.getstate(), np.random.get_state(), torch.get_rng_state()]  # noqa: NPY002 - models draw from it
    if device.type in ("cuda", "xpu"):
        states.append(getattr(torch, device.type).get_rng_state())
    return states


def same_state(before: list[Any], after: list[Any]) -> bool:
    """Say whether nothing was drawn between two states."""
    return all(bool(_equal(old, new)) for old, new in zip(before, after, strict=True))


def _equal(old: Any, new: Any) -> bool:
    """Compare states of any library: tensors, arrays and plain values, alone or in tuples."""
    import torch

    if isinstance(old, tuple):
        return all(_equal(*pair) for pair in zip(old, new, strict=True))
    if isinstance(old, torch.Tensor):
        return bool(torch.equal(old, new))
    return bool((old == new).all()) if hasattr(old, "all") else bool(old == new)
