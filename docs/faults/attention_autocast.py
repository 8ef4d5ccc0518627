"""PyTorch/XLA: attention under autocast computes in bfloat16 where torch.compile captures it."""

import torch
import torch_xla

torch_xla.device()  # before the first backward pass, which counts the devices


def gradient(device, backend, dtype, scale):
    torch.manual_seed(0)
    q, k, v, outer = (torch.randn(2, 2, 32, 64).bfloat16().to(dtype).to(device) for _ in range(4))
    q, k, v = (each.requires_grad_() for each in (q, k, 1 + v * scale if scale < 1 else v))
    attention = torch.nn.functional.scaled_dot_product_attention
    if backend:
        attention = torch.compile(attention, backend=backend)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=dtype != torch.float64):
        result = attention(q, k, v)
    result.backward(outer.to(result.dtype))
    return q.grad.cpu().double()


for scale in (1, 0.1, 0.02):
    exact = gradient("cpu", None, torch.float64, scale)
    for device, backend in (("cpu", None), ("xla", None), ("xla", "aot_eager"), ("xla", "openxla")):
        error = gradient(device, backend, torch.float32, scale) - exact
        print(scale, device, backend, f"{error.norm() / exact.norm():.2%}")
