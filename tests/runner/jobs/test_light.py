"""Pages and workers import the queue: it needs no torch, no database and no frames."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {"torch", "torch_xla", "duckdb", "pandas", "pyarrow", "streamlit", "scipy"}


def test_the_queue_imports_nothing_heavy():
    script = f"import runner.jobs.queue, sys; print(*(set(sys.modules) & {HEAVY}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
