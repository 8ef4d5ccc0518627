"""A fork server that is forked is seen, ended and told apart as one that was started."""

import os
import subprocess
import sys

import pytest

from runner.processes import TAG
from tests import warm_server
from tests.command import ROOT

RUN = "11111111-2222-3333-4444-555555555555"
COMMAND = [sys.executable, *warm_server.SERVER, "--control", "9", "--parent", "1", "--preload", "torch"]
CALLS = [sys.executable, *warm_server.CALLS, "call.json"]
TRIAL = [sys.executable, *warm_server.TRIAL, "{}", "told.json"]
FORKS = f"""
import os, subprocess, sys, time
from runner import processes
from tests import warm_server
warm_server.runpy.run_module = lambda *_, **__: time.sleep(600)
start = warm_server._Starts(dict(os.environ))
how = dict(pass_fds=(), stdin=subprocess.DEVNULL, stdout=sys.stdout, stderr=sys.stderr, start_new_session=True)
popen = start({COMMAND!r}, env={{**os.environ, processes.TAG: {RUN!r}}}, **how)
while not (found := processes.tagged({RUN!r})):
    time.sleep(0.01)
leads = os.getsid(popen.pid) == popen.pid
print(type(popen).__name__, [each.pid for each in found] == [popen.pid], popen.poll(), leads)
popen.kill()
print(popen.wait())
"""


def test_it_carries_the_tag_of_its_run_where_others_look_for_it_and_is_a_child():
    """Else a sweep would miss it, and a test that nothing is left would pass whatever is left."""
    env = {**os.environ, **warm_server.environment(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", FORKS], cwd=ROOT, env=env, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.stdout.splitlines() == ["_Forked True None True", "-9"], done.stderr


@pytest.fixture
def starts(monkeypatch):
    """What starts servers in a process of one thread that has torch without torch_xla."""
    monkeypatch.setattr(warm_server, "_threads_n", lambda: 1)
    monkeypatch.delitem(sys.modules, "torch_xla", raising=False)
    return warm_server._Starts({"HOME": "/root"})


@pytest.mark.parametrize(
    ("command", "variables", "alike"),
    [
        (COMMAND, {"HOME": "/root", TAG: RUN, "XLABENCH_SUITES": "a:B", "PYTHONPATH": "/b"}, True),
        (COMMAND, {"HOME": "/root", "OMP_NUM_THREADS": "1"}, False),
        (COMMAND, {}, False),
        (["python", *COMMAND[1:]], {"HOME": "/root"}, False),
        ([*COMMAND, "--single", "4"], {"HOME": "/root"}, False),
        ([*COMMAND, "--preload", "torch_xla"], {"HOME": "/root"}, False),
        (TRIAL, {"HOME": "/root", "COLUMNS": "200"}, True),
        (TRIAL, {"HOME": "/root", "OMP_NUM_THREADS": "1"}, False),
        (CALLS, {"HOME": "/root", "XLA_FLAGS": ""}, True),
        (CALLS, {"HOME": "/nowhere", "XLA_FLAGS": ""}, False),
    ],
)
def test_what_torch_might_read_or_import_otherwise_is_started(starts, command, variables, alike):
    assert starts._is_alike(command, variables) is alike


def test_a_process_of_several_threads_forks_none(starts, monkeypatch):
    monkeypatch.setattr(warm_server, "_threads_n", lambda: 2)
    assert not starts._is_alike(COMMAND, {"HOME": "/root"})


@pytest.mark.parametrize(
    ("words", "imports"),
    [
        (["report"], None),
        (["compare", "a", "b"], None),
        (["compare", "a", "b", "--confirm"], "torch"),
        (["run", "--xla", "None"], "torch"),
        (["calibrate", "--xla", "None"], "torch"),
        (["run", "--xla", "None", "--xla", "PJRT"], "torch_xla"),
        (["run", "--backend", "eager", "--backend", "inductor"], "torch"),
        (["run", "--backend", "eager", "--backend", "openxla+dynamo"], "torch_xla"),
        (["run"], "torch_xla"),
    ],
)
def test_only_what_measures_imports_torch_and_only_what_needs_it_torch_xla(monkeypatch, words, imports):
    monkeypatch.setattr(warm_server.importlib.util, "find_spec", lambda _: object())
    assert warm_server.imports_of(words) == imports
