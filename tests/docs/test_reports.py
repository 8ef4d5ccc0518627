"""The scripts of docs/faults show without xlabench what the reports beside them say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import need

need("torch_xla")
pytestmark = [pytest.mark.slow, pytest.mark.thorough]
ROOT = Path(__file__).parents[2]


def run(name, tmp_path, **variables):
    """Run a script in a process of its own; return the lines that it printed."""
    environment = os.environ | {"PJRT_DEVICE": "CPU"} | variables
    words = [sys.executable, str(ROOT / "docs" / "faults" / f"{name}.py")]
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_views_without_functionalization_are_wrong_or_raise(tmp_path):
    refused = "The operator aten::{} appears to be a view operator, but it has no implementation for the backend"
    assert run("views", tmp_path, XLA_DISABLE_FUNCTIONALIZATION="1") == [
        "split wrong",
        "as_strided wrong",
        "narrow right",
        f'unfold {refused.format("unfold")} "xla:0"',
        f'unsqueeze {refused.format("as_strided")} "xla:0"',
    ]
    functional = run("views", tmp_path, XLA_DISABLE_FUNCTIONALIZATION="0")
    assert {line.partition(" ")[2] for line in functional} == {"right"}


def test_a_tensor_and_its_copy_are_mixed_up_under_dynamo(tmp_path):
    found = run("tensor_and_copy", tmp_path)
    assert found == ["inductor (4, 64)", "aot_eager (4, 64)", "openxla (4, 128)"]


def test_sums_of_inductor_lose_digits(tmp_path):
    found = run("inductor_sums", tmp_path)
    errors = [float(line.rpartition(" ")[2]) for line in found]
    assert max(errors[::2]) < 1e-6
    assert max(errors[1::2]) > 1e-4
