"""The benchmarks under tests/performance start: each imports what it measures, which no static check sees."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PERFORMANCE = ROOT / "tests" / "performance"
_IMPORT = "import runpy, sys; sys.path.insert(0, {folder!r}); [runpy.run_path(each, run_name='imported') for each in {scripts!r}]"


@pytest.mark.slow
def test_every_benchmark_imports_what_it_measures() -> None:
    scripts = sorted(str(each) for each in PERFORMANCE.glob("*.py"))
    modules = sorted(str(each) for each in (PERFORMANCE / "trust_parts").glob("*.py") if each.stem != "work_suite")
    code = _IMPORT.format(folder=str(PERFORMANCE), scripts=[*scripts, *modules])
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(scripts) > 8
