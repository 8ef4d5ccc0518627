"""PyTorch: inductor's sums on the CPU lose digits."""

import torch


def total(mask, gradient):
    return torch.where(mask, gradient, 0.0).sum((0, 2, 3))


for side in (8, 32, 128):
    for layout in (torch.contiguous_format, torch.channels_last):
        torch.manual_seed(0)
        mask = (torch.rand(16, 64, side, side) > 0.3).contiguous(memory_format=layout)
        gradient = torch.randn(16, 64, 1, 1).expand(16, 64, side, side)
        exact = total(mask, gradient.double())
        for backend in (None, "inductor"):
            torch._dynamo.reset()
            error = (torch.compile(total, backend=backend) if backend else total)(mask, gradient) - exact
            print(side, layout, backend, f"{error.norm() / exact.norm():.1e}")
