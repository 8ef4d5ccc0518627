"""A model, and why dynamo splits its graph."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree

from runner.repro.parts.breaks import explain
from runner.repro.parts.given import DTYPE, TEST, build
from runner.repro.parts.report import run
from runner.repro.parts.step import cast, make_step, open_device, place, set_switches


def main() -> int:
    """Ask dynamo to explain one iteration."""
    module, args, kwargs, loss = build()
    set_switches()
    device = open_device()
    module = place(module, DTYPE, device, loss)
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda each: each.to(device), cast((args, kwargs), DTYPE))
    with torch.set_grad_enabled(TEST == "train"):
        return explain(make_step(module, loss, device), args, kwargs)


if __name__ == "__main__":
    run(main)
