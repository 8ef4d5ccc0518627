"""The runner imports these parts of the store: they have to stay light."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PURE = (
    "store.record, store.identity, store.errors, store.writer, store.run_file, store.stats.median, "
    "store.stats.geomean, store.stats.effects, store.stats.verdicts"
)


def test_the_pure_part_imports_no_database_and_no_frames():
    script = f"import {PURE}, sys; print(*(set(sys.modules) & {{'duckdb', 'pandas', 'pyarrow', 'scipy', 'torch'}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


@pytest.mark.thorough
def test_ingesting_and_reading_leave_nothing_on_the_terminal(demo):
    """The binding complains at exit about types that a module keeps; tests/test_interpreters.py is the short form."""
    script = f"""
from store import query
from store.ingest import ingest
report = ingest([{str(demo / "runs")!r}], {str(demo / "quiet")!r})
with query.connect(report.snapshot) as con:
    assert len(query.fetch(con, "FROM results")) == 96
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
