"""Losses by name. Each takes a module's output alone and returns a scalar tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from runner.suites.errors import UnknownLossError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HF_OUTPUTS_WITH_LOGITS = ("MaskedLMOutput", "Seq2SeqLMOutput", "CausalLMOutputWithCrossAttentions")


def choose(
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
    parts = [each for each in pytree.tree_leaves(output) if isinstance(each, torch.Tensor) and each.is_floating_point()]
    if not parts:
        raise UnknownLossError("The model returns no floating tensor, so it has no mean square; give it a loss.")
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
