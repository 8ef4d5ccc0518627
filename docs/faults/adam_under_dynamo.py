"""PyTorch: Adam captured by dynamo."""

import torch


def updates(backend, dtype=torch.float32):
    torch.manual_seed(0)
    weight = torch.rand(1000, dtype=torch.float64).to(dtype).requires_grad_()
    gradient = torch.rand(1000, dtype=torch.float64).to(dtype)
    optimizer = torch.optim.Adam([weight], lr=0.01)
    step = torch.compile(optimizer.step, backend=backend) if backend else optimizer.step
    for _ in range(3):
        weight.grad = gradient.clone()
        before = weight.detach().double().clone()
        step()
        yield weight.detach().double() - before


for backend in (None, "eager", "aot_eager"):
    for update, exact in zip(updates(backend), updates(None, torch.float64), strict=True):
        print(backend, f"{(update / exact - 1).abs().median():.1e}")
