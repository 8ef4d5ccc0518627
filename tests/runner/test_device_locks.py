"""Two measurements never share a device: who comes second waits and is told for whom, or is refused."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runner.errors import DeviceBusy
from runner.schedule import devices
from tests.command import xlabench

HOLD = """
import sys
from runner.schedule import devices
with devices.held(["cpu"], "another run", wait=True, say=print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    return tmp_path / "locks"


@pytest.fixture
def other():
    """Another process that measures on the CPU."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as popen:
        assert popen.stdout.readline() == "held\n"
        yield popen
        popen.kill()


def test_names_are_one_per_device(monkeypatch):
    assert devices.names(["cuda", "cpu"]) == ("cpu", "cuda:0")
    assert devices.names(["cuda", "tpu"], 1) == ("cuda:1", "tpu")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6, 3")
    assert devices.names(["cuda"], 1) == ("cuda:3",)


def test_a_gpu_has_one_lock_by_whatever_name_a_run_sees_it(monkeypatch, tmp_path):
    """Index, UUID or the beginning of a UUID; a part of a GPU in MIG mode has a lock of its own."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nprintf 'GPU-1f3a-4, Example GPU\\nGPU-9c2b-5, Example GPU\\n'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for visible, lock in (("1", "cuda:1"), ("GPU-9c2b-5", "cuda:1"), ("GPU-9c", "cuda:1"), ("MIG-77", "cuda:MIG-77")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert devices.names(["cuda"]) == (lock,)


def test_the_second_is_refused_with_who_holds_it(other):
    told = rf"cpu is in use by benchmark process {other.pid} since .* \(another run\)"
    with pytest.raises(DeviceBusy, match=told), devices.held(["cpu"], "mine", wait=False, say=print):
        pass
    assert f"process {other.pid}" in devices.take(["cpu", "cuda:0"], "mine")


def test_the_second_waits_and_is_told_for_whom(other):
    said: list[str] = []
    threading.Timer(0.3, other.kill).start()
    with devices.held(["cpu"], "mine", wait=True, say=said.append):
        assert devices.owner("cpu").pid == os.getpid()
    assert len(said) == 1
    assert said[0].startswith(f"Waiting: cpu is in use by benchmark process {other.pid}")


def test_a_run_is_refused_before_it_measures_and_can_be_resumed(other, tmp_path):
    """`run --no-wait` says who holds the device; the same command measures once it is free."""
    words = ("run", "--suite-name", "dummy", "--only", "dummy_nonzero", "--accelerator", "cpu", "--test", "eval")
    words += ("--xla", "None", "--dynamo", "None", "--repeat", "4", "--home", tmp_path, "--no-ingest", "--no-wait")
    assert f"cpu is in use by benchmark process {other.pid}" in xlabench(*words, code=2).stderr
    other.kill()
    assert "Measured 1 experiment " in xlabench(*words).stdout


def test_other_devices_are_free(other):
    with devices.held(["cuda:0"], "mine", wait=False, say=print):
        pass


def test_what_is_not_had_whole_is_given_back(other):
    """Nobody holds one device while it waits for another."""
    assert isinstance(devices.take(["aaa", "cpu"], "mine"), str)
    with devices.held(["aaa"], "mine", wait=False, say=print):
        pass


def test_a_killed_owner_leaves_no_lock_and_no_name(other):
    other.kill()
    other.wait()
    assert devices.owner("cpu") is None
    handles = devices.take(["cpu"], "mine")
    assert set(handles) == {"cpu"}
    devices.release(handles)


def test_an_inherited_device_is_held_already_and_survives_who_gave_it():
    """A job holds what the worker took for it, also when the worker is gone."""
    taken = devices.take(["cpu"], "job 1")
    environment = {**os.environ, devices.HELD_VARIABLE: json.dumps(taken)}
    script = HOLD.replace("wait=True", "wait=False")
    popen = subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment,
        pass_fds=tuple(taken.values()),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with popen:
        assert popen.stdout.readline() == "held\n"
        devices.release(taken)
        assert isinstance(devices.take(["cpu"], "mine"), str)
        popen.kill()
    devices.release(devices.take(["cpu"], "mine"))


def test_the_variable_alone_is_no_lock(monkeypatch, other):
    """A process further down has the variable and another file under its number."""
    with Path(os.devnull).open() as file:
        monkeypatch.setenv(devices.HELD_VARIABLE, json.dumps({"cpu": file.fileno(), "cuda:0": 9999}))
        assert devices.inherited() == frozenset()


def test_the_folder_is_for_all_users_and_never_a_link(locks, tmp_path):
    devices.release(devices.take(["cpu"], "mine"))
    assert locks.stat().st_mode & 0o7777 == 0o1777
    assert (locks / "cpu.lock").stat().st_mode & 0o777 == 0o666
    (locks / "tpu.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        devices.take(["tpu"], "mine")
