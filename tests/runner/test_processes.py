"""No orphan: finding and killing what a run has started."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid

import psutil
import pytest

from runner import processes

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
SLEEPER_BELOW = """
import os, signal, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
child = subprocess.Popen(sleep, stdout=subprocess.DEVNULL, start_new_session="session" in sys.argv)
if "stop" in sys.argv:
    os.kill(child.pid, signal.SIGSTOP)
print(child.pid, flush=True)
time.sleep(60)
"""


PATIENCE_S = 30.0


def wait_for(condition):
    """Wait until the condition holds; say whether it does."""
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def gone(pid):
    """Say whether a process has ended; a zombie has."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


@pytest.fixture
def start():
    """Start a process; whatever the test leaves is killed."""
    started = []

    def begin(command=SLEEP, **options):
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options))
        return started[-1]

    yield begin
    for process in started:
        processes.kill_tree(process.pid)
        process.wait()
        process.stdout.close()


def family(start, *, stop=False, new_session=False, **options):
    """Start a process with a child; return both."""
    words = ["stop"] * stop + ["session"] * new_session
    parent = start([sys.executable, "-c", SLEEPER_BELOW, *words], **options)
    child = psutil.Process(int(parent.stdout.readline()))
    if stop:
        assert wait_for(lambda: child.status() == psutil.STATUS_STOPPED)
    return parent, child


def test_a_tree_holds_a_process_and_its_descendants(start):
    parent, child = family(start, new_session=True)
    assert {each.pid for each in processes.tree(parent.pid)} == {parent.pid, child.pid}


def test_a_tree_of_nobody_is_empty(start):
    process = start([sys.executable, "-c", ""])
    process.wait()
    assert processes.tree(process.pid) == []


@pytest.mark.parametrize("new_session", [False, True])
def test_killing_a_tree_ends_a_stopped_grandchild(start, new_session):
    """A stopped process does not hear SIGTERM, and outlives its killed parent."""
    parent, child = family(start, stop=True, new_session=new_session)
    processes.kill_tree(parent.pid)
    assert gone(child.pid)
    assert parent.wait(PATIENCE_S) == -signal.SIGKILL


def test_killing_a_tree_ends_a_stopped_root(start):
    process = start()
    os.kill(process.pid, signal.SIGSTOP)
    processes.kill_tree(process.pid)
    assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_killing_a_tree_finds_by_session_what_its_dead_parent_left(start):
    """An orphan is no descendant any more, but stays in the session."""
    parent, child = family(start, start_new_session=True)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(PATIENCE_S)
    assert not gone(child.pid)
    processes.kill_tree(parent.pid)
    assert wait_for(lambda: gone(child.pid))


def test_killing_a_tree_leaves_others_alone(start):
    other, victim = start(), start()
    processes.kill_tree(victim.pid)
    assert victim.poll() == -signal.SIGKILL
    assert other.poll() is None


def test_tagged_processes_are_found_by_their_environment(start):
    """Through any number of exec, in sessions of their own, stopped or not; those of other runs are not."""
    tag = str(uuid.uuid4())
    mine, child = family(start, stop=True, new_session=True, env={**os.environ, processes.TAG: tag})
    other = start(env={**os.environ, processes.TAG: tag + "x"})
    assert {each.pid for each in processes.tagged(tag)} == {mine.pid, child.pid}
    assert set(processes.kill_tagged(tag)) == {mine.pid, child.pid}
    assert wait_for(lambda: gone(mine.pid) and gone(child.pid))
    assert other.poll() is None


def test_kept_processes_are_not_killed(start):
    tag = str(uuid.uuid4())
    kept, other = (start(env={**os.environ, processes.TAG: tag}) for _ in range(2))
    assert processes.kill_tagged(tag, frozenset({kept.pid})) == [other.pid]
    assert kept.poll() is None


def test_without_a_tagged_process_nothing_is_killed():
    assert processes.kill_tagged(str(uuid.uuid4())) == []


def test_a_process_is_identified_by_pid_and_start(start):
    process = start()
    began = processes.start_time(process.pid)
    assert began == psutil.Process(process.pid)._proc.create_time(monotonic=True)
    assert 0 <= processes.age_s(began) < 60
    assert processes.is_process(process.pid, began)
    assert not processes.is_process(process.pid, began + 0.01)
    processes.kill_tree(process.pid)
    process.wait()
    assert processes.start_time(process.pid) is None


DIES = """
import os, sys, time
from runner import processes
parent = os.getpid()
pid = os.fork()
if pid == 0:
    if "late" in sys.argv:
        while os.getppid() == parent:
            time.sleep(0.001)
    processes.die_with_parent(parent)
    print(os.getpid(), flush=True)
    time.sleep(60)
if "late" in sys.argv:
    os._exit(0)
time.sleep(60)
"""


def test_a_child_dies_with_its_parent(start):
    """Even when the parent is killed, and cannot tell anyone."""
    parent = start([sys.executable, "-c", DIES])
    child = int(parent.stdout.readline())
    assert not gone(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(PATIENCE_S)
    assert wait_for(lambda: gone(child))


def test_a_child_whose_parent_is_dead_already_ends_at_once(start):
    """Death before the request would otherwise go unnoticed for ever; the pipe ends without a word."""
    parent = start([sys.executable, "-c", DIES, "late"])
    assert parent.stdout.read() == ""


ADOPTS = """
import os, subprocess, sys, time
from runner import processes
processes.become_subreaper()
code = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'pass']).pid, flush=True)"
pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
end = time.monotonic() + 30
while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
    assert f"PPid:\\t{os.getpid()}\\n" in open(f"/proc/{pid}/status").read()
    processes.reap_orphans()
    time.sleep(0.005)
print(os.path.exists(f"/proc/{pid}"))
"""


def test_orphans_are_adopted_and_collected(start):
    """No zombie stays of what a benchmark process has left behind."""
    assert start([sys.executable, "-c", ADOPTS]).stdout.read() == "False\n"


def stopped(*found):
    return [psutil.Process(each.pid).status() == psutil.STATUS_STOPPED for each in found]


def test_a_tree_is_stopped_and_goes_on_as_a_whole(start):
    """Its daemon too, which left the session but not the family."""
    parent, child = family(start, new_session=True, start_new_session=True)
    processes.stop_tree(parent.pid)
    assert all(stopped(parent, child))
    processes.continue_tree(parent.pid)
    assert wait_for(lambda: not any(stopped(parent, child)))


def test_a_child_that_is_born_meanwhile_is_stopped_too(start, monkeypatch):
    """The tree is looked at again until nobody new is found."""
    parent, child = family(start, start_new_session=True)
    whole, looks = processes.tree, []

    def tree(pid):
        looks.append(pid)
        return [each for each in whole(pid) if each.pid != child.pid or len(looks) > 1]

    monkeypatch.setattr(processes, "tree", tree)
    processes.stop_tree(parent.pid)
    assert all(stopped(child))
    assert len(looks) > 2


def test_stopping_what_is_gone_is_no_error(start):
    gone_one = start()
    gone_one.kill()
    gone_one.wait()
    processes.stop_tree(gone_one.pid)
    processes.continue_tree(gone_one.pid)
