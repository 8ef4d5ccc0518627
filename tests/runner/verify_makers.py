"""A suite and a backend as the tests of verification need them."""

import torch

from runner.backends.host import Eager
from runner.workload import Workload


class Suite:
    """Builds what a test gives; counts, and keeps the requests."""

    def __init__(self, make, size=4, *, fixed=False, loss=None, inputs=None):
        self.loss = loss or (lambda output: output.square().mean())
        self.inputs = inputs or (lambda size: (torch.rand(size, 4),))
        self.make, self.size, self.fixed, self.requests, self.modules = make, size, fixed, [], []

    def build(self, request):
        torch.manual_seed(request.seed)
        self.requests.append(request)
        size = self.size if self.fixed else request.batch_size or self.size
        module = self.make()
        self.modules.append(module)
        return Workload(
            module=module,
            args=self.inputs(size),
            batch_size=size,
            loss=self.loss,
            loss_name="mean_square",
        )


class Distorting(Eager):
    """Eager whose step's result a test changes."""

    def __init__(self, change=None, invalid=None):
        self.change, self.why = change, invalid

    def compile(self, step, config):
        return step if self.change is None else lambda args, kwargs: self.change(step(args, kwargs))

    def invalid(self):
        return self.why
