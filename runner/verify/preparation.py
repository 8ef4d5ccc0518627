"""What is done to a copy before it runs: chance taken out, its inputs in parts, and changed by much or by rounding."""

from __future__ import annotations

import os
import random
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runner.verify.leaves import identical
from runner.workload import Workload
from store.errors import Signal
from store.record import ExperimentConfig


def make_deterministic(config: ExperimentConfig, threads: int | None = None) -> None:
    """Set what the process computes with: deterministic kernels, full matmul precision.

    An op without a deterministic kernel warns instead of failing; that eager runs differ is found by running it twice.
    """
    # Read when CUDA's BLAS is first used; without it deterministic algorithms refuse to run there.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
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

    states = [random.getstate(), np.random.get_state(), torch.get_rng_state()]  # noqa: NPY002 - models draw from it
    if device.type in ("cuda", "xpu"):
        states.append(getattr(torch, device.type).get_rng_state())
    return states


def same_state(before: list[Any], after: list[Any]) -> bool:
    """Say whether nothing was drawn between two states."""
    return all(bool(_equal(old, new)) for old, new in zip(before, after, strict=True))


def _equal(old: Any, new: Any) -> bool:
    """Compare states of any library: tensors, arrays and plain values, alone or in tuples."""
    if isinstance(old, tuple):
        return all(_equal(*pair) for pair in zip(old, new, strict=True))
    if isinstance(old, torch.Tensor):
        return bool(torch.equal(old, new))
    return bool((old == new).all()) if hasattr(old, "all") else bool(old == new)


class NotSplittable(Signal):
    """The results of parts of a batch are not parts of the results of the whole batch."""


def split_batch(inputs: Any, samples: int | None, parts_n: int) -> list[Any]:
    """Split what has one entry per sample along its first dimension; everything else goes to each part as it is.

    Raises:
        NotSplittable: there is nothing to split.
    """
    if parts_n == 1:
        return [inputs]
    leaves_, structure = pytree.tree_flatten(inputs)

    def by_sample(leaf: Any) -> bool:
        return isinstance(leaf, torch.Tensor) and leaf.dim() > 0 and leaf.shape[0] == samples

    if samples is None or samples < parts_n or not any(map(by_sample, leaves_)):
        raise NotSplittable("no input has one entry per sample")
    split = [leaf.tensor_split(parts_n) if by_sample(leaf) else [leaf] * parts_n for leaf in leaves_]
    return [pytree.tree_unflatten(list(part), structure) for part in zip(*split, strict=True)]


def joined(parts: list[dict[str, Any]], samples: int | None) -> dict[str, Any]:
    """Put the results of the parts of a batch together.

    Raises:
        NotSplittable: a result has not one entry per sample.
    """
    if len(parts) == 1:
        return parts[0]
    whole = {}
    for name, first in parts[0].items():
        leaf_of_parts = [part.get(name) for part in parts]
        if not all(isinstance(leaf, torch.Tensor) and leaf.dim() for leaf in leaf_of_parts):
            if all(identical(first, leaf) for leaf in leaf_of_parts):
                whole[name] = first
                continue
            raise NotSplittable(f"{name} is not a tensor with one entry per sample")
        whole[name] = torch.cat(leaf_of_parts)
        if whole[name].shape[0] != samples:
            raise NotSplittable(f"{name} has not one entry per sample")
    return whole


def others(inputs: Any, samples: int | None) -> Any:
    """Return inputs that differ and are as valid: half of the samples take the place of the other half.

    Of a single sample, values change places along their last dimension. Truth values, such as masks, stay.
    """

    def other(tensor: Any) -> Any:
        plain = type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.is_nested
        if not plain or not tensor.dim() or tensor.dtype is torch.bool:
            return tensor.detach().clone().requires_grad_(tensor.requires_grad)
        values = tensor.detach().cpu().clone()
        half = values.shape[0] // 2 if values.shape[0] == samples else 0
        values = torch.cat([values[-half:], values[half:]]) if half else values.roll(1, dims=-1)
        return values.to(tensor.device).requires_grad_(tensor.requires_grad)

    return pytree.tree_map_only(torch.Tensor, other, inputs)


# One copy is disturbed, it differs a lot: a result that it has too is a constant. One is perturbed, it differs by
# rounding: a result that jumps with it, as the gradient behind a ReLU whose input is all but zero, is right or wrong
# by chance.

_STRENGTH = 0.5
"""Strength of the noise, in units of the root mean square of the tensor that it is added to."""
_OF_ZEROS = 0.02
"""Noise on a tensor of zeros; a usual standard deviation of initial weights."""
_ROUNDINGS = 8.0
"""Size of a perturbation, in units of float32's rounding: about the effect of the order of additions in a layer."""
_EVERY = 2
"""Every other tensor is disturbed, from the first on: the weights, where weights and biases alternate."""


def disturb(workload: Workload, seed: int) -> str | None:
    """Add noise to some weights and to all floating inputs; say to what, None where there is neither."""
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


def perturb(workload: Workload, seed: int, rounding: float = 0.0) -> None:
    """Change weights and floating inputs by a rounding, relative to each value.

    Args:
        workload: already in float64, which has room for such changes.
        seed: of the changes.
        rounding: its size; 0: some roundings of float32.
    """
    generator = torch.Generator().manual_seed(seed)
    size = rounding or _ROUNDINGS * torch.finfo(torch.float32).eps

    def perturbed(tensor: Any) -> Any:
        if not tensor.is_floating_point():
            return tensor
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
        moved = tensor.detach() * (1 + size * noise)
        return moved.requires_grad_(tensor.requires_grad)

    with torch.no_grad():
        for weight in workload.module.parameters():
            weight.copy_(perturbed(weight))
    inputs = (workload.args, workload.kwargs)
    workload.args, workload.kwargs = pytree.tree_map_only(torch.Tensor, perturbed, inputs)


def _disturbed(tensor: Any, generator: Any) -> Any:
    made = tensor.detach() + _noise(tensor, generator)
    return made.requires_grad_(tensor.requires_grad)


def _noise(tensor: Any, generator: Any) -> Any:
    size = tensor.detach().square().mean().sqrt().item() or _OF_ZEROS
    noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
    return (noise * (_STRENGTH * size)).to(tensor.dtype)
