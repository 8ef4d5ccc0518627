"""Create a timm model with the weights that were asked for, as far as they can be had."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import timm
import torch

from runner.suites.building import seed_everything
from runner.suites.random_weights import could_not, hub_or_cache

if TYPE_CHECKING:
    from store.record import Weights

_HEAD_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class Created:
    """A model, and what its weights are."""

    module: Any
    weights: Weights
    notes: list[str]


def create(name: str, weights: Weights, seed: int) -> Created:
    """Return the model; pretrained weights that cannot be had are random ones, with a note."""
    notes: list[str] = []
    if weights == "pretrained":
        try:
            with hub_or_cache():
                return Created(module=timm.create_model(name, pretrained=True), weights="pretrained", notes=[])
        except Exception as error:  # noqa: BLE001 - a download fails in many ways; a broken model fails again below
            notes.append(could_not(name, error))
            seed_everything(seed)
    with warnings.catch_warnings():
        # timm warns of names that it has renamed; the data file knows.
        warnings.simplefilter("ignore", UserWarning)
        module = timm.create_model(name, pretrained=False)
    fill_zero_head(module)
    return Created(module=module, weights="random", notes=notes)


def fill_zero_head(module: Any) -> None:
    """Give a classifier that starts at zero random weights: else every output is zero, whatever computes it."""
    head = module.get_classifier()
    if isinstance(head, torch.nn.Linear) and not head.weight.is_meta and not head.weight.any():
        torch.nn.init.trunc_normal_(head.weight, std=_HEAD_STD)
