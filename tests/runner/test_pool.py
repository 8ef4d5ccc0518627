"""Benchmark processes as the scheduler sees them, without torch."""

import os
import signal
import socket
import subprocess
import sys
import time
import types
import uuid

import psutil
import pytest
from runner_makers import loaded, report

from runner import processes
from runner.errors import ServerFailed
from runner.messages import Channel, Finish, Forked, MeasuredTimes, Progress
from runner.schedule.memory import MemoryExceeded
from runner.schedule.pool import Pool, Process, ServerGone, TimedOut, tail


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


def ask(pool, process, seconds=60.0):
    phases = []
    answer = pool.ask(process, Finish(), time.monotonic() + seconds, phases.append)
    return answer, phases


def test_phases_are_told_until_the_answer_comes(pool, process):
    ours, theirs = process
    for message in (Progress("load"), Progress("compile"), loaded()):
        theirs.send(message)
    assert ask(pool, ours) == (loaded(), ["load", "compile"])
    assert ours.phase == "compile"


def test_what_was_timed_is_kept_where_the_answer_never_comes(pool, process):
    ours, theirs = process
    theirs.send(MeasuredTimes(report()))
    with pytest.raises(TimedOut):
        ask(pool, ours, seconds=0.2)
    assert ours.measured == report()


def test_a_deadline_that_has_passed_is_a_timeout(pool, process):
    with pytest.raises(TimedOut):
        ask(pool, process[0], seconds=-1.0)


def test_the_deadline_holds_within_a_message(pool):
    """The rest of a message may never come: its process was stopped, or something else wrote the first bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\0\0\1\0and no more")
        with pytest.raises(TimedOut):
            ask(pool, Process(1, os.getpid(), Channel(ours), pool.log), seconds=0.2)


def test_a_server_that_cannot_start_says_what_it_printed(pool, tmp_path):
    """A missing package or a broken interpreter; the command ends with exit code 3."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho the words of the server\nexit 1\n")
    python.chmod(0o755)
    pool.python = str(python)
    with pytest.raises(ServerFailed, match="the words of the server") as caught:
        pool.prepare()
    assert caught.value.exit_code == 3
    assert pool.server is None


def test_a_server_that_does_not_answer_is_gone(pool, monkeypatch):
    """Its silence is not the experiment's timeout."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pool._control = ours
    monkeypatch.setattr("runner.schedule.pool._EXIT_S", -1.0)
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
    assert pool.server is None


def test_the_server_is_told_what_to_import_and_who_its_parent_is(pool):
    command = pool._command(7)
    assert command[:3] == [sys.executable, "-m", "runner.process.server"]
    assert command[3:] == ["--control", "7", "--parent", str(os.getpid()), "--preload", "one", "--preload", "two"]
    pool.probe = True
    assert pool._command(7)[-1] == "--probe"


def test_everything_below_carries_the_tag_of_the_run(pool, monkeypatch):
    """So that what is left can be found, whatever it has executed since."""
    monkeypatch.setenv("SOMETHING", "kept")
    found = pool._environment()
    assert (found["XLABENCH_RUN_ID"], found["SOMETHING"], found["TORCH_WARM_POOL"]) == (pool.run_id, "kept", "0")


def test_the_wait_status_of_an_interpreter_is_that_of_waitpid(pool, process):
    for code, expected in (("import os; os._exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL)):
        ours = process[0]
        ours.popen = subprocess.Popen([sys.executable, "-c", code])
        assert os.waitstatus_to_exitcode(pool._wait(ours)) == expected


def test_the_tail_of_a_log_is_its_last_characters(tmp_path):
    assert tail(tmp_path / "none") == ""
    (tmp_path / "log").write_bytes(b"x" * 5000 + b"\xff the end\n")
    found = tail(tmp_path / "log")
    assert found.endswith("the end")
    assert len(found) < 5000


def test_while_an_answer_is_due_somebody_watches(pool, process, monkeypatch):
    monkeypatch.setattr("runner.schedule.pool._WATCH_EVERY_S", 0.01)
    ours, theirs = process
    seen = []

    def watch():
        seen.append(time.monotonic())
        if len(seen) == 3:
            theirs.send(loaded())

    assert pool.ask(ours, Finish(), time.monotonic() + 60, lambda _: None, watch) == loaded()
    assert len(seen) == 3


def test_a_watch_ends_the_wait_by_raising(pool, process, monkeypatch):
    monkeypatch.setattr("runner.schedule.pool._WATCH_EVERY_S", 0.01)

    def watch():
        raise MemoryExceeded("too much")

    with pytest.raises(MemoryExceeded):
        pool.ask(process[0], Finish(), time.monotonic() + 60, lambda _: None, watch)


def test_a_watch_does_not_lengthen_the_deadline(pool, process, monkeypatch):
    """A process that is watched more seldom than its deadline is away times out before the first look."""
    monkeypatch.setattr("runner.schedule.pool._WATCH_EVERY_S", 1000.0)
    with pytest.raises(TimedOut):
        pool.ask(process[0], Finish(), time.monotonic() + 0.3, lambda _: None, pytest.fail)


def tagged(pool):
    """Start a process that carries the tag of the pool's run."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], env=pool._environment())


def test_sweeping_up_spares_the_servers_of_the_other_environments(pool):
    server, left = tagged(pool), tagged(pool)
    pool.servers.add(server.pid)
    try:
        pool.stop()
        left.wait(30)
        assert server.poll() is None
    finally:
        server.kill()
        server.wait()


BELOW = """
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True).pid, flush=True)
time.sleep(1000)
"""


def test_sweeping_up_spares_the_living_processes_of_all_pools_and_all_below_them(pool, tmp_path):
    """One that is stopped for its turn must not die because another one has ended."""
    living = subprocess.Popen([sys.executable, "-c", BELOW], env=pool._environment(), stdout=subprocess.PIPE, text=True)
    below = int(living.stdout.readline())
    left = tagged(pool)
    pool.live.add(living.pid)
    ended = ours(pool, tmp_path)
    try:
        pool.end(ended)
        left.wait(30)
        assert living.poll() is None
        os.kill(below, 0)
    finally:
        pool.live.clear()
        pool._sweep()
        assert wait_for_end(living)
        living.stdout.close()


def wait_for_end(popen):
    """Say whether it ends; the sweep itself may have collected its status."""
    popen.wait(30)
    return popen.poll() is not None


def ours(pool, tmp_path, command="pass"):
    """Return a process of the pool that is an interpreter running a command."""
    one, other = socket.socketpair()
    other.close()
    popen = subprocess.Popen([sys.executable, "-c", command], env=pool._environment(), start_new_session=True)
    return Process(99, popen.pid, Channel(one), tmp_path / "log", popen, born=processes.start_time(popen.pid))


def test_stopping_a_pool_forgets_its_own_processes_only(pool):
    pool.live |= {1 << 30, 1 << 29}
    pool._own.add(1 << 30)
    pool.stop()
    assert pool.live == {1 << 29}


def test_a_process_is_stopped_and_goes_on(pool, tmp_path):
    process = ours(pool, tmp_path, "import time; time.sleep(1000)")
    pool.pause(process)
    assert psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    assert pool.held_bytes(process) > 0
    pool.resume(process)
    assert psutil.Process(process.pid).status() != psutil.STATUS_STOPPED
    pool.kill(process)
    pool.end(process)
    assert pool.held_bytes(process) == 0


def test_another_process_of_the_same_pid_is_left_alone(pool, tmp_path):
    """Its own has ended while it was stopped, and the kernel has given the number away."""
    process = ours(pool, tmp_path, "import time; time.sleep(1000)")
    process.born -= 100
    pool.pause(process)
    assert psutil.Process(process.pid).status() != psutil.STATUS_STOPPED
    pool.kill(process)
    pool.end(process)


class Dead:
    """A server that has ended."""

    pid = 1 << 30

    def poll(self):
        return 1


def test_the_death_of_its_own_server_is_told_whichever_server_there_is_now(pool, process, monkeypatch):
    """A sibling has started a new one meanwhile."""
    ours, theirs = process
    ours.server = Dead()
    pool.server = types.SimpleNamespace(poll=lambda: None)
    theirs.close()
    try:
        with pytest.raises(ServerGone):
            ask(pool, ours)
        pool.lost(ours)
        assert pool.server is not None, "the new server is not to blame"
        monkeypatch.setattr(pool, "_server_answer", pytest.fail)  # nobody will tell how it ended
        assert pool._wait(ours) is None
    finally:
        pool.server = None


def test_the_variables_of_the_environment_reach_its_processes(pool):
    """But the tag of the run is never lost to them."""
    pool.variables = {"PYTHONPATH": "/ours", "XLABENCH_RUN_ID": "other"}
    found = pool._environment()
    assert (found["PYTHONPATH"], found["XLABENCH_RUN_ID"]) == ("/ours", pool.run_id)


def test_one_process_may_be_an_interpreter_of_its_own(pool, tmp_path):
    """As for a retry; no server is asked."""
    pool.prepare("interpreter")
    pool.python = str(tmp_path / "python")
    (tmp_path / "python").write_text('#!/bin/sh\necho started as "$@"\n')
    (tmp_path / "python").chmod(0o755)
    process = pool.spawn({}, tmp_path / "a.log", "interpreter")
    assert pool.end(process) == 0
    assert "--single" in (tmp_path / "a.log").read_text()
    assert pool.server is None
