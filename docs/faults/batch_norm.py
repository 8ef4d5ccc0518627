"""PyTorch/XLA: BatchNorm in training loses digits."""

import torch
import torch_xla

torch_xla.device()  # before the first backward pass, which counts the devices


def gradient(device, dtype, mean):
    torch.manual_seed(0)
    values, outer = (torch.randn(16, 8, 16, 16, dtype=torch.float64).float() for _ in range(2))
    values = (values + mean).to(device, dtype).requires_grad_()
    layer = torch.nn.BatchNorm2d(8).to(device, dtype).train()
    layer(values).backward(outer.to(device, dtype))
    return values.grad.cpu().double()


for mean in (0, 1, 10, 100):
    exact = gradient("cpu", torch.float64, mean)
    errors = [(gradient(device, torch.float32, mean) - exact).norm() / exact.norm() for device in ("cpu", "xla")]
    print(f"mean {mean}: eager {errors[0]:.1e}, XLA {errors[1]:.1e}, {errors[1] / errors[0]:.0f} times")
