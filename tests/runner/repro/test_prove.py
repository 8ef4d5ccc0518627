"""What running a script once proves: its own words and its exit code together."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from runner.repro.bundle import bundle
from runner.repro.candidates import CandidateScript, prove
from tests import warm
from tests.tiers import first_of


def outcome(script, limit_s=60.0, **more):
    return prove(CandidateScript(what="a try", script=script, **more), sys.executable, limit_s)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("print('SHOWN: yes')", "shown"),
        ("print('NOT SHOWN: no'); raise SystemExit(1)", "not shown"),
        ("print('SHOWN: yes'); raise SystemExit(1)", "could not run"),
        ("print('NOT SHOWN: no')", "could not run"),
        ("print('SHOWN: before'); print('NOT SHOWN: after all'); raise SystemExit(1)", "not shown"),
        ("raise ValueError('SHOWN: in a traceback')", "could not run"),
        ("import no_such_package", "could not run"),
        ("raise SystemExit(0)", "could not run"),
        ("import os; print('SHOWN: yes', flush=True); os.abort()", "could not run"),
    ],
)
def test_only_a_word_and_its_exit_code_together_prove(script, expected):
    proof = outcome(script)
    assert proof.outcome == expected
    assert proof.script == script


def test_versions_and_output_are_kept():
    proof = outcome("print('VERSIONS: torch 9.9'); print('SHOWN: yes')")
    assert proof.versions == "torch 9.9"
    assert proof.output.endswith("SHOWN: yes\n")


def test_what_outlives_its_time_is_killed_with_all_it_started(tmp_path):
    child = tmp_path / "pid"
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\n"
        "print('SHOWN: too early', flush=True)\ntime.sleep(600)\n"
    )
    proof = outcome(script, limit_s=2.0)
    assert proof.outcome == "could not run"
    assert "not finished after 2 s" in proof.output
    _gone(int(child.read_text()))


def test_a_program_that_hangs_gets_its_time():
    proof = outcome("import time; time.sleep(0.4); print('SHOWN: still running')", limit_s=0.1, at_least_s=0.1)
    assert proof.outcome == "shown"


def test_a_script_that_stands_alone_sees_nothing_of_ours(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    script = "import os, sys; print(os.environ.get('PYTHONPATH')); print('SHOWN: yes')"
    assert outcome(script).output.startswith("None\n")
    assert str(Path.cwd()) in outcome(script, alone=False).output


ONE_WRONG_ROW = """
import torch


class OneWrongRow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, values):
        right = self.layer(values)
        wrong = torch.zeros_like(right)
        wrong[1234] = 0.3 * torch.compiler.is_compiling()
        return right + wrong


def build():
    torch.manual_seed(0)
    return OneWrongRow(), (torch.rand(4096, 4),), {}, lambda outputs: outputs.square().mean()


TEST = "train"
DYNAMO = "aot_eager"
SAMPLES = 4096
ROWS = 16
"""


@pytest.mark.parametrize(("predicts", "said", "code"), first_of([(True, "SHOWN", 0), (False, "NOT SHOWN", 1)]))
def test_a_row_that_the_loss_of_many_samples_hides_is_shown_in_what_the_model_predicts(predicts, said, code):
    script = bundle("wrong_answer", f"{ONE_WRONG_ROW}\nPREDICTS = {predicts}\n")
    done = warm.program(f"from __future__ import annotations\n{script}", imports="torch")
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{said}: ")
    assert ("first tensor that differs: prediction" in done.stdout) == predicts


def test_what_cannot_be_tried_says_why():
    proof = prove(CandidateScript(what="a try", impossible="the suite is not here"), sys.executable, 1.0)
    assert (proof.outcome, proof.output, proof.script) == ("could not run", "the suite is not here", "")


def _gone(pid):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    pytest.fail(f"{pid} is still there")
