"""PyTorch/XLA: a tensor and its copy under dynamo."""

import torch
import torch_xla

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Dropout(0), torch.nn.Linear(128, 64))
values = torch.rand(4, 64)
for device, backend in (("cpu", "inductor"), ("xla", "aot_eager"), ("xla", "openxla")):
    torch._dynamo.reset()
    print(backend, tuple(torch.compile(model.to(device), backend=backend)(values.to(device)).shape))
