"""A spatial transformer for small pictures, in no suite: the demo's example of a model of one's own.

`grid_sample` has no lowering in PyTorch/XLA, and the check for numbers that are none breaks the graph.
"""

import torch
from torch.nn import functional


class SpatialTransformer(torch.nn.Module):
    """Turns the picture upright before it says which of ten classes it is."""

    def __init__(self):
        super().__init__()
        self.locate = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 7), torch.nn.MaxPool2d(2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(3528, 6)
        )
        self.classify = torch.nn.Sequential(
            torch.nn.Conv2d(1, 32, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(32, 64, 5), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10),
        )  # fmt: skip

    def forward(self, pictures):
        turns = self.locate(pictures).view(-1, 2, 3)
        grid = functional.affine_grid(turns, list(pictures.shape), align_corners=False)
        upright = functional.grid_sample(pictures, grid, align_corners=False)
        if upright.isnan().any():
            raise ValueError("The picture has values that are not numbers.")
        return self.classify(upright)

    def example_inputs(self):
        return torch.rand(32, 1, 48, 48)
