"""A suite of models that measure well and behave badly beside it; loaded through `XLABENCH_SUITES`."""

import os
import subprocess
import sys
import time

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

NAMES = ("forks", "prints", "quiet")
CHILDREN_N = 12
PRINTS_VARIABLE = "XLABENCH_TEST_PRINTS_MB"
"""Variable with the MB that `prints` prints while it is built."""
LEFT_VARIABLE = "XLABENCH_TEST_LEFT"
"""Variable with the path of a file that gets the pids of all that `forks` has left behind."""
_SLEEP = "import time; time.sleep(1000)"


def _forks() -> None:
    """Leave children, children that left the session, and daemons whose parents have ended."""
    pids = []
    for number in range(CHILDREN_N):
        pid = os.fork()
        if pid == 0:
            if number % 2:
                os.setsid()
            if number % 4 > 1 and os.fork():
                os._exit(0)
            with open(os.environ[LEFT_VARIABLE], "a") as file:  # noqa: PTH123 - nothing is imported in a forked child
                file.write(f"{os.getpid()}\n")
            time.sleep(1000)
        pids.append(pid)
    started = [subprocess.Popen([sys.executable, "-c", _SLEEP], env={}, start_new_session=True) for _ in range(2)]
    with open(os.environ[LEFT_VARIABLE], "a") as file:  # noqa: PTH123
        file.writelines(f"{each.pid}\n" for each in started)


def _prints() -> None:
    line = b"\x1b[2J" + b"x" * 995 + b"\n"
    for _ in range(int(os.environ[PRINTS_VARIABLE])):
        os.write(1, line * 500)
        os.write(2, line * 500)


class UnrulySuite(PlainSuite):
    name = "unruly"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name, skips={"train": "only eval is unruly"}) for name in NAMES]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        {"forks": _forks, "prints": _prints, "quiet": lambda: None}[request.model_name]()
        return Workload(
            module=torch.nn.Linear(8, 8),
            args=(torch.ones(2, 8),),
            batch_size=2,
            loss=lambda output: output.mean(),
            loss_name="mean",
        )


SUITE = UnrulySuite()
