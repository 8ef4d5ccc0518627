"""What a process does before it is stopped."""

import fcntl
import gc
import subprocess
import sys
import threading
import types

import pytest

from runner.environments.machine import detect
from runner.process import own_process
from tests import warm


@pytest.fixture(autouse=True)
def _only_locks_of_the_test(monkeypatch):
    """What the session of the tests holds anyway is not this module's matter."""
    count, before = own_process.locks_held, own_process.locks_held()
    monkeypatch.setattr(own_process, "locks_held", lambda pid=None: max(0, count(pid) - (before if pid is None else 0)))


@pytest.fixture
def lock(tmp_path):
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def test_held_locks_are_counted_and_not_those_of_others(lock):
    if not own_process._LOCKS.exists():
        pytest.skip("this kernel does not list locks")
    assert own_process.locks_held() == 1
    assert own_process.locks_held(pid=1 << 30) == 0
    fcntl.flock(lock, fcntl.LOCK_UN)
    assert own_process.locks_held() == 0


def test_who_waits_for_a_lock_holds_none(tmp_path, monkeypatch):
    (tmp_path / "locks").write_text(
        "1: FLOCK  ADVISORY  WRITE 7 00:1:2 0 EOF\n1: -> FLOCK ADVISORY WRITE 8 00:1:2 0 EOF\n"
    )
    monkeypatch.setattr(own_process, "_LOCKS", tmp_path / "locks")
    assert [own_process.locks_held(pid) for pid in (7, 8)] == [1, 0]


def test_a_kernel_that_lists_none_holds_nothing_up(tmp_path, monkeypatch):
    monkeypatch.setattr(own_process, "_LOCKS", tmp_path / "none")
    assert own_process.settle() == 0


def test_it_waits_for_a_lock_that_is_about_to_go(lock, monkeypatch):
    monkeypatch.setattr(own_process, "_PATIENCE_S", 60.0)
    timer = threading.Timer(0.1, fcntl.flock, (lock, fcntl.LOCK_UN))
    timer.start()
    assert own_process.settle() == 0
    timer.join()


def test_it_waits_for_no_lock_for_ever(lock, monkeypatch):
    """That it returns at all, though the lock is held, is what is shown."""
    monkeypatch.setattr(own_process, "_PATIENCE_S", 0.1)
    assert own_process.settle() == (1 if own_process._LOCKS.exists() else 0)


def test_garbage_is_collected():
    class Loop:
        alive = 0

        def __init__(self):
            self.me = self
            Loop.alive += 1

        def __del__(self):
            Loop.alive -= 1

    gc.disable()
    try:
        Loop()
        own_process.settle()
        assert Loop.alive == 0
    finally:
        gc.enable()


def test_inductors_helpers_are_ended_where_it_is_in_use(monkeypatch):
    ended = []
    module = types.SimpleNamespace(shutdown_compile_workers=lambda: ended.append(1))
    monkeypatch.setitem(sys.modules, "torch._inductor.async_compile", module)
    own_process.settle()
    assert ended == [1]


def test_nothing_is_imported_for_it():
    """Eager has no helpers, and must not import inductor to find out."""
    code = "import sys; from runner.process import own_process; own_process.settle(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.skipif("torch" not in detect().packages, reason="torch is needed")
def test_the_helpers_function_is_where_it_is_looked_for():
    """In a process of its own: inductor in this one would weigh on the tests that measure its memory."""
    code = "import torch._inductor.async_compile as it; print(callable(it.shutdown_compile_workers))"
    assert warm.program(code, imports="torch").stdout == "True\n"
