"""The runner imports these parts of the store: they have to stay light."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PURE = (
    "store.record, store.identity, store.errors, store.writer, store.run_file, store.stats.median, "
    "store.stats.geomean, store.stats.effects, store.stats.verdicts"
)


def test_the_pure_part_imports_no_database_and_no_frames():
    script = f"import {PURE}, sys; print(*(set(sys.modules) & {{'duckdb', 'pandas', 'pyarrow', 'scipy', 'torch'}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
