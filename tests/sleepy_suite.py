"""A suite whose processes take times that are known before: each sleeps as its place in a list says, or ever longer."""

import os
import time
from pathlib import Path

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

PLACE = "XLABENCH_TEST_SLEEPS"
"""Variable with the path of a file: a line of seconds for each process, in the order in which they load."""


def _own_seconds() -> float:
    """Take the first line of the file."""
    path = Path(os.environ[PLACE])
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join(others))
    return float(first)


def _module(seconds: float):
    import torch

    class Sleepy(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, values):
            time.sleep(seconds)
            return self.linear(values)

    return Sleepy()


def _tiring_module():
    import torch

    class Tiring(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seconds = 0.02

        def forward(self, values):
            self.seconds *= 1.5
            time.sleep(self.seconds)
            return values

    return Tiring()


class SleepySuite(PlainSuite):
    name = "sleepy"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name="sleepy"), ModelInfo(name="tiring")]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        return Workload(
            module=_tiring_module() if request.model_name == "tiring" else _module(_own_seconds()),
            args=(torch.ones(2, 8),),
            batch_size=2,
            loss=lambda output: output.mean(),
            loss_name="mean",
        )


SUITE = SleepySuite()
