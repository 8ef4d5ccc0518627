"""OpenXLA: tanh of float64 never reaches 1."""

import torch
import torch_xla

values = torch.tensor([-19.0, -20.0, -1e3, -torch.inf], dtype=torch.float64)
print(1 + torch.tanh(values), 1 + torch.tanh(values.to("xla")).cpu())
