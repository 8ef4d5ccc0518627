"""PyTorch/XLA's own readers take records that carry a verification, timed or not."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import xlabench
from tests.store.aggregate import run_aggregate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eager and lazy XLA, timed and verified, then eager once more, verified only, in one file."""
    home = tmp_path_factory.mktemp("verified")
    words = (
        "run",
        "--suite-name",
        "dummy",
        "--filter",
        "^dummy$",
        "--dynamo",
        "None",
        "--test",
        "eval",
        "--repeat",
        "6",
    )
    text = ""
    for flags in (("--verify",), ("--verify-only", "--xla", "None")):
        folder = home / flags[0].strip("-")
        xlabench(*words, *flags, "--no-ingest", "--home", home, "--output-dirname", folder)
        text += (folder / "results.jsonl").read_text()
    file = home / "results.jsonl"
    file.write_text(text)
    return file


@pytest.mark.thorough
def test_one_record_carries_times_and_verdict(results: Path) -> None:
    """Or the verdict alone."""
    records = [json.loads(line) for line in results.read_text().splitlines()]
    assert [record["status"] for record in records] == ["ok", "ok", "verify_only"]
    assert {record["verification_code"] for record in records} == {"PASS"}
    assert {record["verification"]["control"] for record in records} == {"noticed"}
    assert ["total_time" in record["metrics"] for record in records] == [True, True, False]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_result_analyzer_gives_one_row_per_record(peer: Path, results: Path, tmp_path: Path, form: str) -> None:
    """Those without a time have no number there."""
    (tmp_path / "results.jsonl").write_bytes(results.read_bytes())
    words = [f"--output-dirname={tmp_path}", f"--database={tmp_path / 'database.csv'}", f"--output-format={form}"]
    command = [sys.executable, peer / "result_analyzer.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / f"metric_report.{form}").read_text().splitlines()
    rows = list(csv.DictReader(lines)) if form == "csv" else [json.loads(line) for line in lines]
    assert len(rows) == 3


def test_aggregate_leaves_out_what_was_not_timed(peer: Path, results: Path, tmp_path: Path) -> None:
    """It prints what it prints for the timed records alone."""
    timed = tmp_path / "timed.jsonl"
    timed.write_text("".join(results.read_text().splitlines(keepends=True)[:2]))
    words = ["--report=latest", "--test=inference", "--backends", "eager", "openxla+lazytensor"]
    with_both, alone = (
        run_aggregate(tmp_path / file.stem, [file], "Xeon|AMD|Intel|CPU|.", [words])[0] for file in (results, timed)
    )
    assert with_both == alone
    assert len(alone.splitlines()) > 1
