"""PyTorch/XLA: views without functionalization."""

import torch
import torch_xla

values = torch.rand(2, 4)
for name, view in {
    "split": lambda x: x.split([1, 3], dim=1)[1],
    "as_strided": lambda x: x.as_strided((2, 3), (4, 1), 1),
    "narrow": lambda x: x.narrow(1, 1, 3),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "unsqueeze": lambda x: x[2:].unsqueeze(0),
}.items():
    try:
        print(name, "right" if torch.equal(view(values), view(values.to("xla")).cpu()) else "wrong")
    except RuntimeError as error:
        print(name, str(error).partition(".")[0])
