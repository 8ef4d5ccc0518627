"""PyTorch/XLA: sum of bfloat16 adds in bfloat16."""

import torch
import torch_xla

torch_xla.device()  # before the first backward pass, which counts the devices


def gradient(device, rows, dtype):
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 64).to(device=device, dtype=dtype if dtype == torch.float64 else torch.float32)
    values, outer = (torch.rand(*rows, 64).bfloat16().to(device) for _ in range(2))
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        result = layer(values.to(layer.weight.dtype))
    result.backward(outer.to(result.dtype))
    return layer.bias.grad.cpu().double()


for rows in ((512,), (8, 64)):
    exact = gradient("cpu", rows, torch.float64)
    for device in ("cpu", "xla"):
        error = gradient(device, rows, torch.bfloat16) / exact - 1
        print(rows, device, f"{error.square().mean().sqrt():.2%}")

x = torch.rand(8, 64, 64).bfloat16()
exact = x.double().sum((0, 1))
for device in ("cpu", "xla"):
    for dtype in (None, torch.float32):
        error = x.to(device).sum((0, 1), dtype=dtype).bfloat16().cpu().double() / exact - 1
        print("sum", dtype, device, f"{error.square().mean().sqrt():.2%}")
print(torch_xla._XLAC._get_xla_tensors_hlo([x.to("xla").sum((0, 1))]))
