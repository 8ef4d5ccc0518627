"""A suite of models that go wrong, each in one way; loaded through `XLABENCH_SUITES`."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

NAMES = (
    "fine",
    "load_raises",
    "step_raises",
    "step_exits",
    "step_segfaults",
    "step_hangs",
    "ignores_sigterm",
    "out_of_memory",
    "grows",
    "fails_once",
    "slow",
    "late_raise",
    "late_segfault",
    "late_hang",
    "drowsy",
)
GROWS_BYTES = 800 << 20
LATE_CALLS = 60
"""Calls of a model after which it is in one of its turns: past the longest warm-up."""
FAILS_WHERE = "XLABENCH_TEST_FAILS_WHERE"
"""Variable with the path of a file: while it exists, `fails_once` fails, and takes it away; so do the late ones."""

HELD_WHERE = "XLABENCH_TEST_HELD_WHERE"
"""Variable with the path of a file: while it exists, the measurement of `slow` does not end.

Whoever waits for that writes its pid into it.
"""


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])


def _ignore_sigterm() -> None:
    """Sleep deaf, beside a child that is deaf and stopped."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _sleeper().send_signal(signal.SIGSTOP)
    time.sleep(1000)


def _grow() -> None:
    held = bytearray(GROWS_BYTES)
    held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])
    time.sleep(1000)


def _is_chosen() -> bool:
    """Say whether this process is the one to fail: the first that finds the file."""
    place = os.environ.get(FAILS_WHERE, "")
    if os.path.exists(place):  # noqa: PTH110 - an empty path is the current folder to pathlib
        os.unlink(place)  # noqa: PTH108
        return True
    return False


def _fail_once() -> None:
    if _is_chosen():
        raise ValueError("this step fails this once")


_calls = itertools.count()


def _late(action: Callable[[], None]) -> Callable[[], None]:
    """Return what goes well for many calls and then goes wrong, in one process."""

    def act() -> None:
        if next(_calls) >= LATE_CALLS and _is_chosen():
            action()

    return act


def _slow() -> None:
    """Take long enough to be caught; where a file holds the measurement, that is not needed."""
    holds = os.environ.get(HELD_WHERE, "")
    time.sleep(0.01 if holds else 0.05)
    if next(_calls) >= LATE_CALLS:
        _wait_for_the_end_of(holds)


def _wait_for_the_end_of(path: str) -> None:
    try:
        with open(path, "r+") as file:  # noqa: PTH123 - nothing is made where it is gone, or where nobody asked
            file.seek(0, os.SEEK_END)
            file.write(f"{os.getpid()}\n")
    except FileNotFoundError:
        return
    while os.path.exists(path):  # noqa: PTH110 - as above
        time.sleep(0.05)


def _raise() -> None:
    raise ValueError("this step always fails")


def _hang() -> None:
    _sleeper()
    time.sleep(1000)


def _ask_for_too_much() -> None:
    import torch

    torch.empty(1 << 50)


ACTIONS = {
    "step_raises": _raise,
    "step_exits": lambda: os._exit(7),
    "step_segfaults": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "step_hangs": _hang,
    "ignores_sigterm": _ignore_sigterm,
    "out_of_memory": _ask_for_too_much,
    "grows": _grow,
    "fails_once": _fail_once,
    "slow": _slow,
    "late_raise": _late(_raise),
    "late_segfault": _late(lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    "late_hang": _late(_hang),
    "drowsy": lambda: time.sleep(0.25),
}
"""What goes wrong in a step."""


def _module(name: str):
    import torch

    class Faulty(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, values):
            if name in ACTIONS:
                ACTIONS[name]()
            return self.linear(values)

    return Faulty()


class FaultySuite(PlainSuite):
    name = "faulty"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name, skips={"train": "only eval is faulty"}) for name in NAMES]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        if request.model_name == "load_raises":
            raise RuntimeError("this model cannot be built")
        print(f"a word from {request.model_name}", flush=True)
        if request.model_name == "slow":
            _sleeper()
        return Workload(
            module=_module(request.model_name),
            args=(torch.ones(2, 8),),
            batch_size=2,
            loss=lambda output: output.mean(),
            loss_name="mean",
        )


SUITE = FaultySuite()
