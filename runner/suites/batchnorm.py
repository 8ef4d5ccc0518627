"""Give BatchNorm layers of a randomly initialised model statistics that fit its weights."""

from __future__ import annotations

from typing import Any

import torch


def calibrate(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
    """Run one train-mode pass in which running statistics become those of this batch.

    With the initial statistics (mean 0, variance 1) activations of a deep random network can explode in eval
    (inception_v3: logits near 5.6e11, not finite in float16) or vanish, which makes any accuracy check vacuous.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)]  # noqa: SLF001 - the only common base class
    momenta = [layer.momentum for layer in layers]
    was_training = module.training
    for layer in layers:
        layer.reset_running_stats()
        # None means a cumulative average, so a single pass replaces the statistics altogether.
        layer.momentum = None
    with torch.no_grad():
        module.train()(*args, **kwargs)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    module.train(was_training)
