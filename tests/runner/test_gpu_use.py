"""What NVML tells of other processes on a GPU and of its clocks; there is none here, so the module is a fake."""

import os
import time
from types import SimpleNamespace

import pytest

from runner.environments import others
from runner.environments.others import CLOCK_LIMITS, Gpu, GpuUse
from runner.messages import Settings
from runner.schedule.quiet import GPU_SHARED, GPU_SLOWED, Judge, QuietRun
from tests.runner.test_quiet import ALONE, Said, turn

POWER_CAP, NOT_FOUND, NOT_SUPPORTED = 0x4, 6, 3
NOBODY = 2**22 + 1
"""A process id that Linux never gives."""


class NvmlError(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


class Nvml:
    """Answers as pynvml 13 does; an error in place of an answer is raised."""

    NVMLError, NVML_ERROR_NOT_FOUND = NvmlError, NOT_FOUND

    def __init__(self, samples=(), reasons=0, running=(), later=(), busy=0):
        self.samples, self.reasons, self.running, self.later, self.asked_since = samples, reasons, running, later, []
        self.busy = busy

    def nvmlInit(self):  # noqa: N802 - its name there
        pass

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802 - as above
        if index > 1:
            raise NvmlError(NOT_FOUND)
        return index

    def nvmlDeviceGetProcessUtilization(self, device, since):  # noqa: N802 - as above
        self.asked_since.append(since)
        if len(self.asked_since) > 3 and self.later:
            self.samples = self.later
        if isinstance(self.samples, Exception):
            raise self.samples
        return [SimpleNamespace(pid=pid, smUtil=share, timeStamp=at) for pid, share, at in self.samples]

    def nvmlDeviceGetUtilizationRates(self, device):  # noqa: N802 - as above
        if isinstance(self.busy, Exception):
            raise self.busy
        return SimpleNamespace(gpu=self.busy)

    def nvmlDeviceGetComputeRunningProcesses(self, device):  # noqa: N802 - as above
        return [SimpleNamespace(pid=pid) for pid in self.running]

    def nvmlDeviceGetCurrentClocksEventReasons(self, device):  # noqa: N802 - as above
        return self.reasons


def look(*, wait=False, **answers):
    return Gpu("0", nvml=Nvml(**answers)).look(wait=wait)


def test_only_processes_outside_the_run_are_others():
    own, other = os.getpid(), os.getppid()
    assert look(samples=[(own, 90, 1), (other, 20, 2), (other, 30, 3)]) == GpuUse(others_share=0.3, slowed=False)
    assert look(samples=[(own, 90, 1)]).others_share == 0


def test_a_look_tells_of_what_came_since_the_one_before():
    gpu = Gpu("0", nvml=Nvml(samples=[(os.getpid(), 1, 70)]))
    gpu.look()
    gpu.look()
    assert gpu.nvml.asked_since == [0, 70]


LATE = 2**62
"""A time in microseconds that no turn has reached."""


@pytest.mark.parametrize(
    ("running", "later", "asked", "share"),
    [
        ([os.getpid()], [(os.getppid(), 80, LATE)], 1, 0.0),
        ([os.getpid(), os.getppid()], [(os.getppid(), 80, LATE)], 4, 0.8),
        ([os.getppid()], [(os.getpid(), 90, LATE), (os.getppid(), 80, LATE)], 4, 0.8),
        ([NOBODY], [(os.getppid(), 80, LATE)], 1, 0.0),
    ],
    ids=["nobody else is there", "another one works", "both work", "of another container"],
)
def test_a_turn_on_a_shared_gpu_waits_until_nvml_tells_of_it(running, later, asked, share):
    """On an H200 in full use by another program, NVML had no sample yet after most turns, and they passed as quiet."""
    nvml = Nvml(samples=NvmlError(NOT_FOUND), running=running, later=later)
    assert Gpu("0", nvml=nvml).look(wait=True).others_share == share
    assert len(nvml.asked_since) == asked


@pytest.mark.parametrize(
    ("samples", "busy", "share"),
    [
        (NvmlError(NOT_FOUND), 0, 0.0),
        (NvmlError(NOT_FOUND), 97, 0.97),
        ([(os.getpid(), 90, LATE)], 97, 0.97),
        (NvmlError(NOT_FOUND), NvmlError(NOT_SUPPORTED), 0.0),
    ],
    ids=["it rests", "it works, without a sample", "only the run's own sample came", "a MIG instance"],
)
def test_a_gpu_that_another_process_holds_is_waited_for_as_long_as_samples_are_late(monkeypatch, samples, busy, share):
    """Beside a program that kept an H200 busy, all turns of a run passed as quiet: no sample was the other's."""
    monkeypatch.setattr(others, "SAMPLE_LATE_S", 0.2)
    began = time.monotonic()
    assert look(wait=True, samples=samples, busy=busy, running=[os.getppid()]).others_share == share
    assert 0.2 <= time.monotonic() - began < 1.0


def test_what_the_gpu_does_between_turns_counts_only_where_another_process_is_on_it():
    assert look(wait=True, samples=NvmlError(NOT_FOUND), busy=97, running=[os.getpid()]).others_share == 0


@pytest.mark.parametrize(
    ("samples", "share"),
    [(NvmlError(NOT_FOUND), 0.0), (NvmlError(NOT_SUPPORTED), None), ([(NOBODY, 90, 1)], None)],
    ids=["nobody worked", "not supported", "numbers of another container"],
)
def test_what_nvml_cannot_tell_is_unknown(samples, share):
    assert look(samples=samples).others_share == share


def test_a_missing_driver_or_device_tells_nothing():
    assert Gpu("7", nvml=Nvml()).look() == GpuUse(others_share=None, slowed=None)
    assert Gpu("0", nvml=SimpleNamespace()).look() == GpuUse(others_share=None, slowed=None)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"samples": [(os.getppid(), 50, 1)]}, GPU_SHARED),
        ({"reasons": CLOCK_LIMITS & -CLOCK_LIMITS}, GPU_SLOWED),
        ({"reasons": POWER_CAP}, None),
    ],
    ids=["others", "heat", "its own power"],
)
def test_a_turn_is_disturbed_by_others_and_by_heat_and_the_refusal_says_so(answers, reason):
    judge = Judge(settings=Settings(), planned=2, run=QuietRun(others=Said(ALONE)), gpu=Gpu("0", nvml=Nvml(**answers)))
    judge.begin()
    for number in range(2):
        assert judge.judge(number, turn(0.0)) is (reason is None)
    assert judge.turns.reason == [reason] * 2
    assert ("GPU" in (judge.refusal() or "")) is (reason is not None)
