"""Give BatchNorm layers of a randomly initialised model statistics that fit its weights."""

from __future__ import annotations

from typing import Any

import torch


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
