"""Threads that compute are bound to cores of their own."""

import os
import subprocess
import sys

import pytest

CODE = """
import os, threading, time
from runner.process.cores import CoreBinding
cores = sorted(os.sched_getaffinity(0))
binding = CoreBinding(cores)
stop = threading.Event()
def spin(until):
    while not until.is_set():
        sum(range(1000))
def spinning(until):
    thread = threading.Thread(target=spin, args=[until])
    thread.start()
    return thread
# The main thread has computed most so far, as one that has built a model; from here on two others do.
while time.thread_time() < 0.5:
    sum(range(1000))
binding.begin()
first, second = spinning(stop), spinning(stop)
time.sleep(0.5)
binding.bind(2)
def bound(*threads):
    return [sorted(os.sched_getaffinity(thread)) for thread in threads]
apart = sorted(bound(first.native_id, second.native_id)) == [[cores[0]], [cores[1]]]
print(apart, bound(0) == [cores], binding.holds())
# Now the main thread is one of the two: the one that rests is released.
resting = threading.Event()
third = spinning(resting)
stop.set()
first.join(), second.join()
binding.begin()
began = time.thread_time()
while time.thread_time() - began < 0.3:
    sum(range(1000))
held = binding.holds()
binding.bind(2)
own = binding.of_this_thread() == os.sched_getaffinity(0)
print(sorted(bound(0, third.native_id)) == [[cores[0]], [cores[1]]], own, held, binding.holds())
resting.set()
third.join()
binding.begin()
binding.bind(len(cores) + 1)
binding.bind(1)
print(len(bound(0)[0]))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_the_threads_that_compute_in_a_turn_get_a_core_each():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["True True True", "True True False True", "1"]
