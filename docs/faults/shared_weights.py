"""PyTorch/XLA: shared weights cost memory per layer in training."""

import resource
import sys

import torch
import torch_xla
from transformers import AlbertConfig, AlbertForMaskedLM

torch_xla.device()  # before the first backward pass, which counts the devices
how, layers = sys.argv[1], int(sys.argv[2])  # eager, lazy or openxla
device = "cpu" if how == "eager" else "xla"
sizes = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "vocab_size": 1000}
model = AlbertForMaskedLM(AlbertConfig(num_hidden_layers=layers, **sizes)).train().to(device)
ids = torch.randint(0, 1000, (1, 16)).to(device)
weights = sum(each.numel() for each in model.parameters()) * 4


def step(ids):
    model.zero_grad(set_to_none=True)
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    return loss


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


before = peak()
compiled = torch.compile(step, backend="openxla") if how == "openxla" else step
for _ in range(2):
    loss = compiled(ids)
    torch_xla.sync()
    loss.item()
print(how, layers, f"{(peak() - before) / weights:.1f} times the weights")
