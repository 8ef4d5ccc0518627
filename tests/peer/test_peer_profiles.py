"""PyTorch/XLA's readers take records with profile metrics as they take their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import xlabench
from tests.store.aggregate import run_aggregate

pytestmark = pytest.mark.slow


def measured(home: Path, *flags: str) -> Path:
    words = ["--suite-name", "dummy", "--filter", "^dummy_nonzero$", "--test", "eval", "--accelerator", "cpu"]
    words += ["--repeat", "6", "--home", str(home), "--output-dirname", str(home / "run"), "--no-ingest"]
    xlabench("run", *words, *flags)
    return home / "run" / "results.jsonl"


def analyzed(peer: Path, results: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "results.jsonl").write_bytes(results.read_bytes())
    words = [f"--output-dirname={folder}", f"--database={folder / 'database.csv'}", "--output-format=jsonl"]
    command = [sys.executable, str(peer / "result_analyzer.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_analyzer_reads_profile_seconds(peer: Path, tmp_path: Path) -> None:
    results = measured(tmp_path, "--dynamo", "None", "--profile-cuda-cpu")
    done = analyzed(peer, results, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "metric_report.jsonl").read_text().splitlines()]
    assert all(line["metrics"]["median_per_iter_cpu_time_s"] > 0 for line in lines)


def test_per_op_metrics_are_dicts_as_theirs(peer: Path, tmp_path: Path) -> None:
    """Their aggregation takes them; their analyzer, which wants numbers, stops at them as at its own runner's."""
    results = measured(tmp_path, "--profile-cuda-cpu-individual-ops")
    words = ["--report=latest", "--test=inference", "--metric=exec", "--backends", "inductor", "openxla+lazytensor"]
    assert run_aggregate(tmp_path / "work", [results], ".", [words])[0]
    done = analyzed(peer, results, tmp_path)
    assert "not 'dict'" in done.stderr
