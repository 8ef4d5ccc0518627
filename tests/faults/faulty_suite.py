"""A suite of models that go wrong, each in one way; loaded through `XLABENCH_SUITES`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext, Workload

NAMES = ("fine", "load_raises", "step_raises", "step_exits", "step_segfaults", "step_hangs", "out_of_memory", "slow")


def _sleeper() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])


def _module(name: str):
    import torch

    class Faulty(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, values):
            result = self.linear(values)
            if name == "step_raises":
                raise ValueError("this step always fails")
            if name == "step_exits":
                os._exit(7)
            if name == "step_segfaults":
                os.kill(os.getpid(), signal.SIGSEGV)
            if name == "step_hangs":
                _sleeper()
                time.sleep(1000)
            if name == "out_of_memory":
                return torch.empty(1 << 50) + result.sum()
            if name == "slow":
                time.sleep(0.05)
            return result

    return Faulty()


class FaultySuite:
    name = "faulty"
    preload = ()

    def unavailable(self, context: SuiteContext) -> str | None:
        return None

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name, skips={"train": "only eval is faulty"}) for name in NAMES]

    def versions(self, context: SuiteContext) -> dict[str, str]:
        return {}

    def build(self, request: BuildRequest) -> Workload:
        import torch

        if request.model_name == "load_raises":
            raise RuntimeError("this model cannot be built")
        if request.model_name == "slow":
            _sleeper()
        return Workload(
            module=_module(request.model_name),
            args=(torch.ones(2, 8),),
            kwargs={},
            batch_size=2,
            loss=lambda output: output.mean(),
            loss_name="mean",
        )


SUITE = FaultySuite()
