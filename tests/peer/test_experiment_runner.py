"""What PyTorch/XLA's `test/benchmarks/test_experiment_runner.py` expects of its runner holds for `python -m runner`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.command import ROOT

SHIM = Path(__file__).with_name("experiment_runner.py")
RUN_WITH = re.compile(r"Run with --model-config=(\{.*?\}) --experiment-config=(\{.*\})$", re.MULTILINE)


def dry_run(*words: str) -> subprocess.CompletedProcess[str]:
    return warm.run("runner", ["--suite-name=dummy", *words, "--dry-run"])


def config(accelerator: str, xla: str | None, dynamo: str | None, test: str, *, functional: bool = False) -> str:
    """Return a configuration as their lines spell it, keys in their order."""
    words = {"accelerator": accelerator, "xla": xla, "xla_flags": None, "dynamo": dynamo, "torch_xla2": None}
    return json.dumps({**words, "test": test, "enable_functionalization": functional})


BOTH = ("--xla=PJRT", "--xla=None")
TESTS = ("--test=eval", "--test=train")
DUMMY = ("--filter=^dummy$",)
EAGER, INDUCTOR = (None, None), (None, "inductor")
LAZY, OPENXLA = ("PJRT", None), ("PJRT", "openxla")


@pytest.mark.parametrize(
    ("words", "accelerator", "pairs", "functional"),
    [
        (["--dynamo=openxla", "--dynamo=inductor", *BOTH, *TESTS], "cpu", [OPENXLA, INDUCTOR], False),
        (["--dynamo=inductor", "--dynamo=openxla", *BOTH, *TESTS, *DUMMY], "cpu", [OPENXLA, INDUCTOR], False),
        (["--dynamo=inductor", *BOTH, *TESTS, *DUMMY], "cuda", [INDUCTOR], False),
        ([*BOTH, *DUMMY], "cpu", [LAZY, OPENXLA, EAGER, INDUCTOR], False),
        (["--dynamo=openxla", "--xla=PJRT", *TESTS, "--enable-functionalization"], "cpu", [OPENXLA], True),
    ],
)  # fmt: skip
def test_a_dry_run_lists_what_theirs_lists(
    words: list[str], accelerator: str, pairs: list[tuple[str | None, str | None]], *, functional: bool
) -> None:
    """Counts, models and configurations are theirs, to the character; accelerators not here are listed all the same."""
    done = dry_run(*words, f"--accelerator={accelerator}")
    expected = {
        ('{"model_name": "dummy"}', config(accelerator, xla, dynamo, test, functional=functional))
        for xla, dynamo in pairs
        for test in ("eval", "train")
    }
    assert f"Number of selected experiment configs: {len(expected)}\n" in done.stderr
    assert "Number of selected model configs: 1\n" in done.stderr
    assert set(RUN_WITH.findall(done.stderr)) == expected
    assert (done.returncode, done.stdout) == (0, "")


def test_a_dry_run_imports_no_torch() -> None:
    """So it answers at once."""
    command = [sys.executable, "-X", "importtime", "-m", "runner", "--suite-name=dummy", "--dry-run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Number of selected experiment configs" in done.stderr
    assert not re.search(r"\| +torch(_xla)?$", done.stderr, re.MULTILINE)


_EXPECTTEST = '''"""Stands in for the package of this name, of which their test takes the base class only."""
import unittest
TestCase = unittest.TestCase
'''


def test_their_own_test_passes_as_it_is(peer: Path, tmp_path: Path) -> None:
    """Their file, unchanged, with our module found under the name that it imports."""
    for package in ("absl", "torch_xla"):
        pytest.importorskip(package, reason=f"their test imports {package}")
    (tmp_path / "expecttest.py").write_text(_EXPECTTEST)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    modules = os.pathsep.join(map(str, (tmp_path, SHIM.parent, ROOT)))
    theirs = peer.parent / "test" / "benchmarks" / "test_experiment_runner.py"
    done = subprocess.run(
        [sys.executable, str(theirs), "-v"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": modules},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"Ran 5 tests", done.stderr)
