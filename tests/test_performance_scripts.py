"""The benchmarks under tests/performance start: each imports what it measures, which no static check sees."""

from pathlib import Path

import pytest

from tests import warm

PERFORMANCE = Path(__file__).parent / "performance"
_IMPORT = """
import runpy, sys
sys.path.insert(0, {folder!r})
for each in {scripts!r}:
    runpy.run_path(each, run_name="imported")
"""


@pytest.mark.slow
def test_every_benchmark_imports_what_it_measures() -> None:
    scripts = sorted(str(each) for each in PERFORMANCE.glob("*.py"))
    modules = sorted(str(each) for each in (PERFORMANCE / "trust_parts").glob("*.py") if each.stem != "work_suite")
    code = _IMPORT.format(folder=str(PERFORMANCE), scripts=[*scripts, *modules])
    done = warm.program(code, imports="torch")
    assert done.returncode == 0, done.stderr
    assert len(scripts) > 8
