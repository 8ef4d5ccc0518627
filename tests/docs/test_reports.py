"""The scripts of docs/upstream-faults.md show without xlabench what its reports say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import need

need("torch_xla")
pytestmark = [pytest.mark.slow, pytest.mark.thorough]
ROOT = Path(__file__).parents[2]


def run(title, tmp_path, **variables):
    """Run the script below a heading in a process of its own; return the lines that it printed."""
    document = (ROOT / "docs" / "upstream-faults.md").read_text()
    script = document.split(f"## {title}\n")[1].split("```python\n")[1].split("```")[0]
    environment = os.environ | {"PJRT_DEVICE": "CPU"} | variables
    words = [sys.executable, "-c", script]
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_views_without_functionalization_are_wrong_or_raise(tmp_path):
    title = "PyTorch/XLA: views without functionalization"
    refused = "The operator aten::{} appears to be a view operator, but it has no implementation for the backend"
    assert run(title, tmp_path, XLA_DISABLE_FUNCTIONALIZATION="1") == [
        "split wrong",
        "as_strided wrong",
        "narrow right",
        f'unfold {refused.format("unfold")} "xla:0"',
        f'unsqueeze {refused.format("as_strided")} "xla:0"',
    ]
    functional = run(title, tmp_path, XLA_DISABLE_FUNCTIONALIZATION="0")
    assert {line.partition(" ")[2] for line in functional} == {"right"}


def test_a_tensor_and_its_copy_are_mixed_up_under_dynamo(tmp_path):
    found = run("PyTorch/XLA: a tensor and its copy under dynamo", tmp_path)
    assert found == ["inductor (4, 64)", "aot_eager (4, 64)", "openxla (4, 128)"]


def test_sums_of_inductor_lose_digits(tmp_path):
    found = run("PyTorch: inductor's sums on the CPU lose digits", tmp_path)
    errors = [float(line.rpartition(" ")[2]) for line in found]
    assert max(errors[::2]) < 1e-6
    assert max(errors[1::2]) > 1e-4
