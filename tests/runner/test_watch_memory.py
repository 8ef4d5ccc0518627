"""What a process tree may hold."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.schedule.memory import (
    LEAST_AVAILABLE,
    MemoryExceeded,
    check_memory,
    machine_memory,
    readable_bytes,
    tree,
    tree_bytes,
)

HELD = 60 << 20
HOLD = f"held = b'x' * {HELD}; print('ready', flush=True); import time; time.sleep(1000)"
PARENT = "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', sys.argv[1]]); time.sleep(1000)"


@pytest.fixture
def parent():
    """A process that holds little, and its child that holds much."""
    process = subprocess.Popen([sys.executable, "-c", PARENT, HOLD], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    yield process.pid
    os.killpg(process.pid, 9)
    process.wait()


def test_a_tree_counts_what_its_descendants_hold(parent):
    own, child = tree(parent)
    assert own == parent
    assert tree_bytes(child) >= HELD
    assert tree_bytes(parent) > tree_bytes(child)


def test_above_the_limit_the_figures_are_said(parent):
    with pytest.raises(
        MemoryExceeded,
        match=r"its processes held \d+\.?\d* MiB of memory, more than --memory-limit 50 MiB; raise the limit",
    ):
        check_memory(parent, 50 << 20)


@pytest.mark.parametrize("limit", [None, 1 << 30])
def test_below_it_nothing_happens(parent, limit):
    check_memory(parent, limit)


def test_pages_shared_with_others_count_once():
    """A forked process does not hold what its server holds: the sum of resident sizes would be wrong."""
    held = bytearray(HELD)
    held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
        os._exit(0)
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        assert resident > HELD
        assert tree_bytes(pid) < 0.75 * resident
        check_memory(pid, int(0.75 * resident))
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_a_machine_that_runs_out_of_memory_ends_the_measured_process_first(parent):
    """The kernel might kill the scheduler or somebody else."""
    with pytest.raises(
        MemoryExceeded,
        match=r"its processes held .* when only .* of the machine's .* of memory were left; use a smaller batch",
    ):
        check_memory(parent, None, least_available=1.0, least_held=0.0)


def test_a_process_that_holds_little_is_not_blamed_for_what_others_hold(parent):
    """A model of 150 MiB was recorded as out of memory, because other programs had filled 24 GiB."""
    check_memory(parent, None, least_available=1.0)


def test_the_machines_memory_is_known():
    available, total = machine_memory()
    assert 0 < available < total
    assert available > LEAST_AVAILABLE * total


def test_a_process_that_is_gone_holds_nothing():
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert tree_bytes(done.pid) == 0
    check_memory(done.pid, 1)


@pytest.mark.parametrize(
    ("number", "words"),
    [(500 << 20, "500 MiB"), (3 << 29, "1.5 GiB"), (1 << 10, "1 KiB"), (7, "7 bytes"), (1023 << 20, "1023 MiB")],
)
def test_bytes_as_people_say_them(number, words):
    assert readable_bytes(number) == words
