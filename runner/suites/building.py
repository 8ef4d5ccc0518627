"""What every suite builds with: a seed for all generators, losses, and running statistics of batch norms."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from runner.suites.base import UnknownLossError

_NUMPY_SEEDS = 2**32


def seed_everything(seed: int) -> None:
    """Seed every generator that a model's construction or its inputs may draw from."""
    random.seed(seed)
    np.random.seed(seed % _NUMPY_SEEDS)  # noqa: NPY002 - third-party models draw from the legacy generator
    torch.manual_seed(seed)


_HF_OUTPUTS_WITH_LOGITS = ("MaskedLMOutput", "Seq2SeqLMOutput", "CausalLMOutputWithCrossAttentions")


def choose_loss(
    requested: str | None, offered: Mapping[str, Callable[[Any], Any]], *, suite: str
) -> tuple[Callable[[Any], Any], str]:
    """Return the requested loss and its name; without a request, the first that the suite offers."""
    name = requested if requested is not None else next(iter(offered))
    if name not in offered:
        raise UnknownLossError(f"Suite {suite} has no loss {name!r}; choose one of {', '.join(offered)}.")
    return offered[name], name


def sum_of_outputs(output: Any) -> Any:
    """Reduce any output as the TorchDynamo harness does for torchbench (`torch._dynamo.testing`).

    A tensor gives sum / numel, because mean is undefined on integers; containers give the mean of their parts.
    """
    if isinstance(output, torch.Tensor):
        return output.sum() / output.numel()
    if isinstance(output, (list, tuple)):
        return sum(sum_of_outputs(part) for part in output) / len(output)
    if type(output).__name__ in _HF_OUTPUTS_WITH_LOGITS:
        return sum_of_outputs(output.logits)
    if type(output).__name__ == "SquashedNormal":
        return output.mean.sum()
    if isinstance(output, dict):
        return sum(sum_of_outputs(part) for part in output.values()) / len(output)
    raise UnknownLossError(
        f"Loss 'sum' is not defined for an output of type {type(output).__name__}; run this model in eval only."
    )


def own_loss(output: Any) -> Any:
    """Return the loss that a Hugging Face model computed from its labels."""
    return output.loss


def mean_square(output: Any) -> Any:
    """Return the mean of the squares; unlike the mean, it has a gradient behind a softmax, whose rows sum to one."""
    return output.square().mean()


def mean_square_of_all(output: Any) -> Any:
    """Return the sum of the mean squares of all floating tensors in an output of any form."""
    parts = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    if not parts:
        raise UnknownLossError("The model returns no floating-point tensor, so it has no mean square; give it a loss.")
    return sum(mean_square(part) for part in parts)


class CrossEntropy(torch.nn.Module):  # type: ignore[misc] # mypy does not follow torch
    """Cross-entropy against fixed targets.

    Targets go to the output's device at first use, so a caller need not know of them; `loss.to(device)` beforehand
    keeps that transfer out of the first iteration.
    """

    targets: torch.Tensor

    def __init__(self, targets: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("targets", targets)

    def forward(self, output: Any) -> torch.Tensor:
        """Compare logits of shape (batch, classes) with the targets; of a tuple, its first member."""
        logits = output[0] if isinstance(output, tuple) else output
        if self.targets.device != logits.device:
            self.targets = self.targets.to(logits.device)
        return torch.nn.functional.cross_entropy(logits, self.targets)


def calibrate(module: torch.nn.Module, *args: Any, **kwargs: Any) -> str | None:
    """Run one train-mode pass in which running statistics become those of this batch.

    With the initial statistics (mean 0, variance 1) activations of a deep random network can explode in eval
    (inception_v3: logits near 5.6e11, not finite in float16) or vanish, which makes any accuracy check vacuous.
    A layer that sees one value per channel, as at batch 1, has no statistics of a batch and keeps its own. A model that
    cannot run in train mode at all keeps those of all layers: the reason is returned, else None.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)]  # noqa: SLF001 - the only common base class
    momenta = [layer.momentum for layer in layers]
    before = [{name: buffer.clone() for name, buffer in layer.named_buffers()} for layer in layers]
    was_training = [part.training for part in module.modules()]
    hooks = [layer.register_forward_pre_hook(_keep_own_of_one_value) for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        # None means a cumulative average, so a single pass replaces the statistics altogether.
        layer.momentum = None
    why = None
    try:
        with torch.no_grad():
            module.train()(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - a pass that is not the model's own must not fail it
        why = f"BatchNorm keeps its initial statistics: the train-mode pass raised {type(error).__name__}: {error}"[
            :300
        ]
        for layer, buffers in zip(layers, before, strict=True):
            layer.load_state_dict(buffers, strict=False)
    finally:
        for hook in hooks:
            hook.remove()
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for part, training in zip(module.modules(), was_training, strict=True):
            part.training = training
    return why


def _keep_own_of_one_value(layer: Any, inputs: tuple[Any, ...]) -> None:
    """Let a layer compute as in eval where each of its channels has one value."""
    values = inputs[0]
    if values.numel() <= values.shape[1]:
        layer.eval()
