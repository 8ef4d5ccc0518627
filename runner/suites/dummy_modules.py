"""The modules of suite `dummy`."""

from __future__ import annotations

import torch

FEATURES = 32
_HIDDEN = 512


def mlp(batch_size: int) -> torch.nn.Module:  # noqa: ARG001 - every maker takes the batch size
    """Return the MLP of PyTorch/XLA's benchmark runner (`benchmark_model.py`)."""
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, _HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(_HIDDEN, _HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(_HIDDEN, FEATURES),
        torch.nn.Softmax(dim=1),
    )


class NonzeroMlp(torch.nn.Module):  # type: ignore[misc] # mypy does not follow torch
    """A two-layer MLP that selects every other row by `nonzero`.

    The mask is fixed, so the number of selected rows is the same in every iteration.
    """

    keep: torch.Tensor

    def __init__(self, batch_size: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(FEATURES, FEATURES)
        self.second = torch.nn.Linear(FEATURES, FEATURES)
        self.register_buffer("keep", torch.arange(batch_size) % 2 == 0)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        selected = self.keep.nonzero().squeeze(1)
        return self.second(torch.relu(self.first(rows))[selected])
