"""A run that is killed while it measures ambiguous cells by more processes loses none of what it has."""

import os
import sys
from pathlib import Path

import pytest

from runner import processes
from tests.faults.test_kill import ROOT, TERMINAL, LiveRun, assert_none_left
from tests.sleepy_suite import PLACE
from tests.test_until_verdict import command, sleeps

pytestmark = [pytest.mark.slow, pytest.mark.faults]


class LiveExtension(LiveRun):
    """A run whose ambiguous cell is measured by its third pair of processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder.parent / "stderr.txt"
        # What is killed has taken its seconds from the list; the next ones are a pair of the same ratio.
        self.sleeps = folder.parent / "sleeps"
        self.sleeps.write_text("\n".join(map(str, [*sleeps(), *sleeps()[-2:]])))
        self.start()
        self._wait_for("process 3 of 4: interleaved")

    def command(self) -> list[str]:
        return [sys.executable, "-m", "xlabench", *map(str, command(self.folder.parent, "--time-budget", "300"))]

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **TERMINAL,
            "XLABENCH_SUITES": "tests.sleepy_suite:SUITE",
            "PYTHONPATH": str(ROOT),
            PLACE: str(self.sleeps),
        }


@pytest.fixture
def live(tmp_path: Path):
    run = LiveExtension(tmp_path / "run")
    yield run
    run.popen.kill()
    run.popen.wait()
    processes.kill_tagged(run.run_id())


@pytest.mark.thorough
def test_the_first_processes_stay_and_the_further_ones_are_measured_again(live: LiveExtension) -> None:
    live.popen.kill()
    live.popen.wait()
    assert_none_left(live)
    before = live.records()
    assert sorted(record["replica"] for record in before) == [0, 0, 0, 1, 1, 1]
    said = live.again()
    assert "1 of 1 ambiguous cell settled" in said
    after = live.records()
    assert after[:6] == before
    assert [(each["environment"]["name"], each["replica"], each["attempt"]) for each in after[6:]] == [
        ("one", 2, 1),
        ("two", 2, 1),
        ("one", 3, 1),
        ("two", 3, 1),
    ]
