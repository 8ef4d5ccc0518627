"""The conversation of a benchmark process."""

import os
import socket
import subprocess
import sys

import pytest
from runner_makers import config, loaded, report, settings

from runner.messages import (
    Answer,
    Channel,
    Closed,
    Exactly,
    Failed,
    Finish,
    Load,
    Loaded,
    MeasuredTimes,
    Pause,
    Paused,
    ProcessReport,
    Progress,
    Turn,
    TurnDone,
    WarmedUp,
    WarmUp,
)
from runner.process import server

LOAD = Load(config=config(), settings=settings(), batch_size=None, torchbench_dir=None, requested_at=0.0)


class Scripted:
    """A measurement that answers as told and fails where told."""

    first_phase = "compile"
    has_begun = False
    fails_in = ()

    def __init__(self, command):
        self.command = command

    def label(self, disturbed):
        pass

    def _do(self, name, answer):
        if name in self.fails_in:
            raise RuntimeError(f"failed in {name}")
        return answer

    def load(self):
        return self._do("load", loaded())

    def first(self):
        self.has_begun = True
        self._do("first", None)

    def warm_up(self):
        return self._do("warm_up", WarmedUp(steady=True, blocks=5))

    def exactly(self, blocks):
        return self._do("exactly", WarmedUp(steady=True, blocks=blocks))

    def turn(self, _command):
        return self._do("turn", TurnDone(steady=True))

    def pause(self):
        self._do("pause", None)

    def report(self, *, finished=False):
        return self._do("report", report())

    def examine(self, measured):
        return self._do("examine", measured)


@pytest.fixture
def say(monkeypatch):
    """Say everything at once, hang up, and return all answers."""

    def talk(*commands, fails_in=()):
        monkeypatch.setattr(server, "ExperimentMeasurement", type("Scripted", (Scripted,), {"fails_in": fails_in}))
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for command in commands:
                Channel(ours).send(command)
            ours.shutdown(socket.SHUT_WR)
            server.obey_scheduler(Channel(theirs))
            theirs.close()
            return list(answers(Channel(ours)))

    return talk


def answers(channel):
    try:
        while True:
            yield channel.receive(Answer)
    except Closed:
        return


def phases(found):
    return [each.phase for each in found if isinstance(each, Progress)]


def test_each_command_is_answered_and_each_phase_is_told(say):
    found = say(LOAD, WarmUp(), Turn(3, 0), Finish())
    assert phases(found) == ["load", "compile", "warmup", "measure", "verify"]
    assert [each for each in found if not isinstance(each, Progress)] == [
        loaded(),
        WarmedUp(steady=True, blocks=5),
        TurnDone(steady=True),
        MeasuredTimes(report()),
        report(),
    ]


def test_the_first_block_is_taken_once(say):
    """A second warm-up, after a spoilt turn, compiles nothing new."""
    assert phases(say(LOAD, WarmUp(), Turn(3, 0), WarmUp())) == ["load", "compile", "warmup", "measure", "warmup"]


def test_a_fixed_number_of_blocks_is_a_warm_up_too(say):
    found = say(LOAD, Exactly(7))
    assert phases(found) == ["load", "compile", "warmup"]
    assert found[-1] == WarmedUp(steady=True, blocks=7)


def test_a_pause_is_answered_and_is_no_phase(say):
    found = say(LOAD, WarmUp(), Pause())
    assert found[-1] == Paused()
    assert phases(found)[-1] == "warmup"


def test_a_pause_that_fails_is_told(say):
    failed = say(LOAD, WarmUp(), Pause(), fails_in=("pause",))[-1]
    assert (failed.status, failed.error.message) == ("run_error", "failed in pause")


def test_the_end_of_the_conversation_ends_it_without_a_word(say):
    assert say(LOAD) == [Progress("load"), loaded()]
    assert say() == []


@pytest.mark.parametrize(
    ("fails_in", "phase", "status", "has_report"),
    [
        ("load", "load", "load_error", False),
        ("first", "compile", "compile_error", False),
        ("warm_up", "warmup", "run_error", True),
        ("turn", "measure", "run_error", True),
    ],
)
def test_a_failure_is_told_with_its_phase_and_what_was_measured(say, fails_in, phase, status, has_report):
    failed = say(LOAD, WarmUp(), Turn(3, 0), Finish(), fails_in=(fails_in,))[-1]
    assert isinstance(failed, Failed)
    assert (failed.status, failed.error.phase, failed.error.message) == (status, phase, f"failed in {fails_in}")
    assert (failed.report is not None) == has_report


def test_what_was_timed_is_told_before_anything_else_runs(say):
    """A further iteration may hang or die."""
    *_, measured, phase, failed = say(LOAD, WarmUp(), Turn(3, 0), Finish(), fails_in=("examine",))
    assert (measured, phase, failed.error.message) == (MeasuredTimes(report()), Progress("verify"), "failed in examine")


@pytest.mark.parametrize("first", ["turn", "report"])
def test_a_report_that_fails_too_does_not_hide_the_first_error(say, first):
    """A device that broke may not even tell its counters any more."""
    failed = say(LOAD, WarmUp(), Turn(3, 0), Finish(), fails_in=(first, "report"))[-1]
    assert (failed.error.message, failed.report) == (f"failed in {first}", None)


def test_a_conversation_begins_with_loading(say):
    (failed,) = say(WarmUp())
    assert "the first message must be `load`" in failed.error.message


def test_a_model_that_closes_its_output_ends_as_others(tmp_path):
    """A forked process that raised here would return into the server's loop and answer its scheduler."""
    code = f"""
import os, socket, sys
from runner.process import server
ours, theirs = socket.socketpair()
ours.close()
sys.stdout.close()
sys.stderr = None
server.measure(theirs.detach(), os.open({str(tmp_path / "log")!r}, os.O_WRONLY | os.O_CREAT), {{}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0


def test_a_copy_that_the_model_forks_answers_nothing(monkeypatch, tmp_path):
    """It would answer each message a second time, and the run ended when it took one answer for the next."""

    class Forking(Scripted):
        def load(self):
            if pid := os.fork():
                os.waitpid(pid, 0)
            return loaded()

    monkeypatch.setattr(server, "ExperimentMeasurement", Forking)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        server.measure(theirs.detach(), os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT), {})
    theirs.close()
    with ours:
        for command in (LOAD, WarmUp(), Finish()):
            Channel(ours).send(command)
        ours.shutdown(socket.SHUT_WR)
        found = [type(each) for each in answers(Channel(ours)) if not isinstance(each, Progress)]
    os.waitpid(pid, 0)
    assert found == [Loaded, WarmedUp, MeasuredTimes, ProcessReport]
