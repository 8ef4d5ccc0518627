"""Threads that spin are bound to cores of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, threading, time
from runner.process.own_process import spread
cores = sorted(os.sched_getaffinity(0))
stop = time.monotonic() + 300
def spin():
    while time.monotonic() < stop:
        sum(range(1000))
thread = threading.Thread(target=spin)
thread.start()
while time.thread_time() < 0.3:
    sum(range(1000))
calls = []
real = os.sched_setaffinity
os.sched_setaffinity = lambda pid, mask: (calls.append((pid, sorted(mask))), real(pid, mask))
spread(2, cores)
print(len({pid for pid, _ in calls}), [mask for _, mask in calls[:2]] == [[cores[0]], [cores[1]]])
print({*os.sched_getaffinity(0), *os.sched_getaffinity(thread.native_id)} == set(cores[:2]))
stop = 0
calls.clear()
spread(len(cores) + 1, cores)
spread(1, cores)
print(calls)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_the_busiest_threads_get_a_core_each():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["2 True", "True", "[]"]
