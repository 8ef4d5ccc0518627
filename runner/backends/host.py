"""The runtime of eager and the host's compilers: devices that PyTorch itself drives."""

from __future__ import annotations

import time
from typing import Any, Protocol

from runner.accelerators import ACCELERATORS
from runner.accelerators.base import Device, Timer
from runner.backends import dynamo, steps
from runner.environments.machine import Machine
from runner.workload import Counters, Runtime, Workload
from store.record import Accelerator


def unavailable(accelerator: Accelerator, machine: Machine) -> str | None:
    """Say why PyTorch's own device cannot run here."""
    if accelerator == "tpu":
        return "only PyTorch/XLA supports TPUs: PyTorch itself has no TPU device"
    return machine.accelerator_missing(accelerator)


class TorchRuntime(Runtime, Protocol):
    """A runtime whose device holds torch's tensors."""

    _opened: Device

    def place(self, workload: Workload) -> None:
        steps.move(workload, self.device)

    def to_device(self, inputs: Any) -> Any:
        return steps.moved(inputs, self.device)

    def to_host(self, output: Any) -> Any:
        return steps.moved(output, "cpu")

    def memory_reset(self) -> None:
        self._opened.memory_reset()

    def memory_peak_bytes(self) -> int | None:
        return self._opened.memory_peak_bytes()


class HostRuntime(TorchRuntime):
    """A PyTorch device, which executes operations as they are launched."""

    is_xla = False

    def __init__(self, accelerator: Accelerator, index: int | None = None) -> None:
        began = time.perf_counter()
        self._opened = ACCELERATORS[accelerator].open(index)
        self.device: Any = self._opened.device
        self.start_s = time.perf_counter() - began

    def timer(self) -> Timer | None:
        return self._opened.timer()

    def after_iteration(self) -> None:
        """Do nothing: operations are launched as they come."""

    def after_block(self) -> None:
        self._opened.synchronize()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self.after_block()

    def counters(self) -> Counters:
        return Counters(compiles=dynamo.graphs())
