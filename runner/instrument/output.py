"""The result of the last iteration, on the CPU."""

from __future__ import annotations

from runner.instrument.base import Tool


class SaveOutput(Tool):
    """`torch.load` gives the same nest of tuples and dicts, with CPU tensors."""

    names = ("save_output",)

    def finish(self) -> None:
        import torch
        from torch.utils import _pytree as pytree

        if self.bench.output is None:
            self.bench.warnings.append("save_output: no iteration finished")
            return
        on_cpu = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().cpu(), self.bench.output)
        torch.save(on_cpu, self.bench.folder / "output.pt")
