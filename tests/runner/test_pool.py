"""Measuring processes as the scheduler sees them, without torch."""

import os
import signal
import socket
import sys
import time
import uuid

import pytest
from runner_makers import loaded

from runner.errors import ServerFailed
from runner.messages import Channel, Finish, Forked, Progress
from runner.pool import ChildGone, Pool, Process, ServerGone, TimedOut, tail


@pytest.fixture
def pool(tmp_path):
    """A pool whose server has not been started."""
    made = Pool(
        run_id=str(uuid.uuid4()),
        python=sys.executable,
        preload=("one", "two"),
        probe=False,
        start="fork",
        log=tmp_path / "server.log",
    )
    yield made
    made.stop()


@pytest.fixture
def process(tmp_path):
    """A process of which only the channel is real; the other end stands beside it."""
    ours, theirs = socket.socketpair()
    with theirs:
        yield Process(1, os.getpid(), Channel(ours), tmp_path / "log"), Channel(theirs)
    ours.close()


def ask(pool, process, seconds=5.0):
    phases = []
    answer = pool.ask(process, Finish(), time.monotonic() + seconds, phases.append)
    return answer, phases


def test_phases_are_told_until_the_answer_comes(pool, process):
    ours, theirs = process
    for message in (Progress("load"), Progress("compile"), loaded()):
        theirs.send(message)
    assert ask(pool, ours) == (loaded(), ["load", "compile"])
    assert ours.phase == "compile"


def test_a_deadline_that_has_passed_is_a_timeout(pool, process):
    with pytest.raises(TimedOut):
        ask(pool, process[0], seconds=-1.0)


def test_a_channel_that_ends_is_the_end_of_the_child(pool, process):
    process[1].close()
    with pytest.raises(ChildGone):
        ask(pool, process[0])


def test_a_server_that_cannot_start_says_what_it_printed(pool, tmp_path):
    """A missing package or a broken interpreter; the command ends with exit code 3."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho the words of the server\nexit 1\n")
    python.chmod(0o755)
    pool.python = str(python)
    with pytest.raises(ServerFailed, match="the words of the server") as caught:
        pool.prepare()
    assert caught.value.exit_code == 3
    assert pool.server_pid is None


def test_a_server_that_does_not_answer_is_gone(pool, monkeypatch):
    """Its silence is not the experiment's timeout."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pool._control = ours
    monkeypatch.setattr("runner.pool._EXIT_S", -1.0)
    with theirs, pytest.raises(ServerGone):
        pool._await_fork(1)


def test_the_pid_of_the_child_that_was_asked_for_is_taken(pool):
    import msgspec

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pool._control = ours
    with theirs:
        for message in (Forked(1, 100), Forked(2, 200)):
            theirs.send(msgspec.msgpack.encode(message))
        assert pool._await_fork(2) == 200


def test_no_server_is_started_where_each_process_is_an_interpreter(pool):
    pool.start = "interpreter"
    pool.prepare()
    assert pool.server_pid is None


def test_the_server_is_told_what_to_import_and_who_its_parent_is(pool):
    command = pool._command(7)
    assert command[:3] == [sys.executable, "-m", "runner.server"]
    assert command[3:] == ["--control", "7", "--parent", str(os.getpid()), "--preload", "one", "--preload", "two"]
    pool.probe = True
    assert pool._command(7)[-1] == "--probe"


def test_everything_below_carries_the_tag_of_the_run(pool, monkeypatch):
    """So that what is left can be found, whatever it has executed since."""
    monkeypatch.setenv("SOMETHING", "kept")
    found = pool._environment()
    assert (found["XLABENCH_RUN_ID"], found["SOMETHING"], found["TORCH_WARM_POOL"]) == (pool.run_id, "kept", "0")


def test_the_wait_status_of_an_interpreter_is_that_of_waitpid(pool, process):
    import subprocess

    for code, expected in (("import os; os._exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL)):
        ours = process[0]
        ours.popen = subprocess.Popen([sys.executable, "-c", code])
        assert os.waitstatus_to_exitcode(pool._wait(ours)) == expected


def test_the_tail_of_a_log_is_its_last_characters(tmp_path):
    assert tail(tmp_path / "none") == ""
    (tmp_path / "log").write_bytes(b"x" * 5000 + b"\xff the end\n")
    found = tail(tmp_path / "log", 20)
    assert found.endswith("the end")
    assert len(found) <= 20
